"""Writes a dataset in any format: episodes in parallel, interrupted and resumed, bounded memory."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from corporeal.episode.label_track import united
from corporeal.episode.recording import Dataset, Ledger, Recording
from corporeal.errors import CorporealError, EpisodeError, WriteError
from corporeal.exchange.format import (
    CUT,
    LEDGER,
    ExportContext,
    RecordingWriter,
    TableWriter,
    WrittenEpisode,
    account_written,
    writer_of,
)
from corporeal.exchange.layout import TableLayout, layout_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.seen_stretches import open_seen
from corporeal.exchange.sidecar import held_streams, write_side, write_sidecar
from corporeal.exchange.table import EpisodeTable, instructions_of, table_of
from corporeal.exchange.training.normalisation import Normalisation, fit
from corporeal.files import atomic_write, publish_folder, take_lock
from corporeal.runner import run, runner_of

Opener = Callable[[], Dataset]
Source = Path | str | Sequence[Path | str] | Opener
"""One path or several of any format, or a function that opens them, which workers call too."""

_OPTIONS, _FACTS, _EPISODES, _RESULT = "plan.json", "facts.json", "pieces", "result"
_LOCK = "lock"


@dataclass(frozen=True)
class ExportJob:
    """An export that was asked for: what a process needs to write any of its episodes.

    `context` is None for a format that keeps every stream at its own rate.
    """

    opener: Opener
    format: str
    options: ExportOptions
    episodes: tuple[int, ...]
    work: Path
    context: ExportContext | None = None
    normalisation: Normalisation | None = None

    def folder(self, number: int) -> Path:
        """Where an episode is written."""
        return self.work / _EPISODES / f"{number:06d}"

    def written(self, number: int) -> WrittenEpisode | None:
        """What is known of an episode that is written; None while it is not."""
        folder = self.folder(number)
        path = folder / _FACTS
        if not path.is_file():
            return None
        return WrittenEpisode.from_json(folder / "data", json.loads(path.read_text("utf-8")))


@dataclass(frozen=True)
class ExportResult:
    """What an export has made."""

    out: Path
    job: ExportJob
    episodes: tuple[WrittenEpisode, ...]
    resumed: int
    """Episodes that an earlier, interrupted run had written."""
    ledger: Ledger = field(default_factory=Ledger)
    """Every item of the source, and what of it is in the dataset."""

    @property
    def assumed(self) -> dict[str, str]:
        """What no source says of its episodes, and why it was assumed, by field."""
        return {of: text for episode in self.episodes for of, text in episode.assumed.items()}

    @property
    def layout(self) -> TableLayout | None:
        """The columns of its tables; None where every stream has its own rate."""
        return self.job.context.layout if self.job.context is not None else None


def export(
    source: Source,
    out: Path,
    format_name: str,
    options: ExportOptions | None = None,
    *,
    normalisation: Normalisation | None = None,
    on_start: Callable[[int], None] = lambda _: None,
    on_episode: Callable[[WrittenEpisode], None] = lambda _: None,
) -> ExportResult:
    """Write the episodes of a dataset into a new folder.

    Until the end everything is in `<out>.partial`; the same call after an interruption goes on
    from there, one with other options starts anew, and one beside a live writer is refused.
    `normalisation` is that of values which are normalised already, to be kept.
    """
    options = options or ExportOptions()
    opener = source if callable(source) else partial(open_dataset, source)
    if isinstance(writer_of(format_name), RecordingWriter) and options.seen_only:
        raise CorporealError(
            f"format {format_name}, got stretches that were seen; expected a format with rows, "
            "such as lerobot. Its episodes say in their segments what was not seen."
        )
    if options.seen_only:
        opener = partial(open_seen, opener, options.episodes)
        options = replace(options, episodes=None)
    runner_of(options.on)
    dataset = opener()
    job = _plan(opener, dataset, out, format_name, options)
    lock = _claim(job, out, dataset)
    try:
        written, resumed = _write_missing(job, dataset, on_start, on_episode)
        _assemble(job, written, normalisation or job.normalisation)
        _publish(job, out)
    finally:
        lock.close()
    counted = list(written)
    if options.seen_only:
        # What its stretches have in common is in the source once.
        counted = list({(each.source, each.origin): each for each in written}.values())
    ledger = sum((episode.ledger for episode in counted), dataset.ledger)
    return ExportResult(out, job, written, resumed, ledger)


def _write_missing(
    job: ExportJob,
    dataset: Dataset,
    on_start: Callable[[int], None],
    on_episode: Callable[[WrittenEpisode], None],
) -> tuple[tuple[WrittenEpisode, ...], int]:
    """All episodes, and how many of them an earlier run had written."""
    numbers = range(len(job.episodes))
    on_start(len(numbers))
    done = {number: episode for number in numbers if (episode := job.written(number)) is not None}
    resumed = len(done)
    for episode in done.values():
        on_episode(episode)
    missing = [number for number in numbers if number not in done]
    with closing(_write_all(job, dataset, missing)) as episodes:
        for episode in episodes:
            done[episode.number] = episode
            on_episode(episode)
    return tuple(done[number] for number in numbers), resumed


def _plan(
    opener: Opener, dataset: Dataset, out: Path, format_name: str, options: ExportOptions
) -> ExportJob:
    writer = writer_of(format_name)
    wanted = tuple(dataset.episodes if options.episodes is None else options.episodes)
    strange = sorted(set(wanted) - set(dataset.episodes))
    if strange:
        known = dataset.episodes
        numbered = f"{min(known)} to {max(known)}" if known else "nothing"
        raise CorporealError(
            f"{dataset.source} has no episode {', '.join(map(str, strange[:8]))}; "
            f"it has {len(known)}, numbered {numbered}."
        )
    if not wanted:
        raise EpisodeError(f"{dataset.source}: no episode to export; expected at least one.")
    work = out.with_name(f"{out.name}.partial")
    job = ExportJob(opener, format_name, options, wanted, work)
    if isinstance(writer, RecordingWriter):
        return job
    first = dataset.open(wanted[0])
    layout = layout_of(first, options, needs_action=True)
    layout = replace(layout, lanes=united([dataset.lanes(), layout.lanes]))
    context = ExportContext(out.name, options, layout, first.embodiment)
    job = replace(job, context=context)
    if options.normalise == "none":
        return job
    recordings = (dataset.open(number) for number in wanted)
    scale = fit(recordings, layout, options.normalise, context.robot)
    return replace(job, normalisation=scale)


def _claim(job: ExportJob, out: Path, dataset: Dataset) -> BinaryIO:
    """Take the working folder, or go on in the one that the same export has left.

    What a run with other options has left can be made again, and is removed; what another process
    is writing into, or we have not made, is refused.
    """
    if os.path.lexists(out):
        raise WriteError(f"{out} already exists, and an export never changes one. Name another.")
    stated = json.dumps(
        {
            "format": job.format,
            "plan": job.options.to_json(),
            "source": str(dataset.source.resolve()),
            "episodes": list(job.episodes),
        },
        indent=1,
    )
    path, pieces = job.work / _OPTIONS, job.work / _EPISODES
    if job.work.is_dir() and not path.is_file() and any(map(_is_strange, job.work.iterdir())):
        raise WriteError(
            f"{job.work} is in the way, and no export has made it. Move it, or name another --out."
        )
    try:
        job.work.mkdir(parents=True, exist_ok=True)
        lock = (job.work / _LOCK).open("ab")
    except OSError as error:
        raise WriteError(f"{out}: cannot be written: {error.strerror}.") from None
    if not take_lock(lock):
        lock.close()
        raise WriteError(
            f"{job.work} is in use by another export. Wait for it, or choose another name."
        )
    try:
        if path.is_file() and path.read_text("utf-8") != stated:
            shutil.rmtree(pieces, ignore_errors=True)
        atomic_write(path, stated)
        pieces.mkdir(exist_ok=True)
    except OSError as error:
        lock.close()
        raise WriteError(f"{out}: cannot be written: {error.strerror}.") from None
    return lock


def _is_strange(path: Path) -> bool:
    """Whether an export that was killed while it took its folder cannot have left this."""
    return path.name != _LOCK and not path.name.startswith(".")


def write_episode(job: ExportJob, dataset: Dataset, number: int) -> WrittenEpisode:
    """Write one episode; its folder gets its name when everything in it is there."""
    recording = dataset.open(job.episodes[number])
    folder = job.folder(number)
    draft = folder.with_name(f".{folder.name}")
    shutil.rmtree(draft, ignore_errors=True)
    (draft / "data").mkdir(parents=True)
    writer = writer_of(job.format)
    try:
        if isinstance(writer, RecordingWriter):
            details = writer.write(recording, number, draft / "data", job.options)
            facts: dict[str, Any] = {"details": details, "instructions": instructions_of(recording)}
        else:
            facts = _write_table(writer, _table(job, recording, number), draft, job)
    except (OSError, WriteError) as error:
        raise _explain(error, folder) from error
    episode = WrittenEpisode(
        folder=folder / "data",
        id=recording.id,
        number=number,
        source=recording.source.name,
        index=recording.index,
        success=recording.facts.outcome.success,
        ledger=account_written(
            recording,
            writer,
            job.context.layout if job.context is not None else None,
            exclude=job.options.exclude,
            side=facts.get("side", False),
        ),
        assumed={each.of: each.text for each in recording.facts.assumed},
        **facts,
    )
    stated = episode.to_json() | {LEDGER: episode.ledger.to_json()}
    (draft / _FACTS).write_text(json.dumps(stated), "utf-8")
    draft.rename(folder)
    return episode


def _write_table(
    writer: TableWriter, table: EpisodeTable, draft: Path, job: ExportJob
) -> dict[str, Any]:
    assert job.context is not None
    details = dict(writer.write(table, draft / "data", job.context))
    if CUT in table.recording.facts.other:
        details[CUT] = table.recording.facts.other[CUT]
    side = job.options.sides and write_side(
        table, draft / "side.h5", held=held_streams(job.context.layout, writer)
    )
    return {
        "details": details,
        "length": len(table),
        "instructions": table.instructions,
        "filled": table.filled(),
        "side": side,
    }


def table_at(exported: ExportResult, source: Dataset, number: int) -> EpisodeTable:
    """The rows that an episode of the dataset must have."""
    return _table(exported.job, source.open(exported.job.episodes[number]), number)


def _table(job: ExportJob, recording: Recording, number: int) -> EpisodeTable:
    assert job.context is not None, "the format has no rows"
    return table_of(recording, job.context.layout, number=number, normaliser=job.normalisation)


def _explain(error: OSError | WriteError, folder: Path) -> WriteError:
    """A full disk in one sentence, whoever met it; what does not fit stays as it was said."""
    cause = error.__cause__ if isinstance(error, WriteError) else error
    if not isinstance(cause, OSError):
        return error if isinstance(error, WriteError) else WriteError(str(error))
    text = str(cause.strerror or cause)
    # HDF5 tells a story of several lines where the system has three words.
    reason = os.strerror(cause.errno) if cause.errno and "\n" in text else text
    return WriteError(
        f"{folder}: cannot be written: {reason}. Free some space and give the same command again: "
        "it goes on from here."
    )


def _open_job(job: ExportJob) -> tuple[ExportJob, Dataset]:
    return job, job.opener()


def _in_worker(state: tuple[ExportJob, Dataset], number: int) -> WrittenEpisode:
    """An episode, unless a worker was lost between writing it and saying so."""
    return state[0].written(number) or write_episode(*state, number)


def _write_all(
    job: ExportJob, dataset: Dataset, missing: Sequence[int]
) -> Generator[WrittenEpisode, None, None]:
    on, jobs = job.options.on, job.options.jobs
    alone = on == "serial" or (on == "processes" and min(jobs, len(missing)) <= 1)
    # The dataset is open here already; other processes open it for themselves.
    prepare = (lambda: (job, dataset)) if alone else partial(_open_job, job)
    with closing(run(_in_worker, missing, on=on, jobs=jobs, prepare=prepare)) as results:
        for done in results:
            if done.error is not None:
                raise done.error
            if done.value is not None:
                yield done.value


def _assemble(
    job: ExportJob, episodes: Sequence[WrittenEpisode], normalisation: Normalisation | None
) -> None:
    result = job.work / _RESULT
    shutil.rmtree(result, ignore_errors=True)
    result.mkdir()
    writer = writer_of(job.format)
    try:
        if isinstance(writer, RecordingWriter):
            writer.assemble(episodes, result)
        else:
            assert job.context is not None
            writer.assemble(episodes, result, job.context)
            write_sidecar(episodes, result, job.context, normalisation, writer)
    except OSError as error:
        raise WriteError(f"{result}: cannot be written: {error.strerror}.") from error


def _publish(job: ExportJob, out: Path) -> None:
    """Give the dataset its name only when all of it is there, and only if nobody took it."""
    if os.path.lexists(out):
        raise WriteError(f"{out} appeared meanwhile; the dataset is in {job.work / _RESULT}.")
    publish_folder(job.work / _RESULT, out)
    shutil.rmtree(job.work)
