"""Writes a dataset in any format: episodes in parallel, interrupted and resumed, bounded memory."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from corporeal.episode.label_track import united
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError, EpisodeError, WriteError
from corporeal.exchange.beside.writing import held, write_companion, write_side
from corporeal.exchange.format import Head, Piece, Writer, writer_of
from corporeal.exchange.layout import layout_of
from corporeal.exchange.plan import Plan
from corporeal.exchange.table import Table, loose_table, table_of
from corporeal.exchange.training.normalisation import Normalisation, fit
from corporeal.files import publish_folder
from corporeal.runner import run, runner_of

Opener = Callable[[], Dataset]

_PLAN, _FACTS, _PIECES, _RESULT = "plan.json", "facts.json", "pieces", "result"


@dataclass(frozen=True)
class Order:
    """An export that was asked for: what a process needs to write any of its episodes."""

    opener: Opener
    format: str
    head: Head
    normalisation: Normalisation | None
    episodes: tuple[int, ...]
    work: Path


@dataclass(frozen=True)
class Exported:
    """What an export has made."""

    out: Path
    head: Head
    order: Order
    pieces: tuple[Piece, ...]
    resumed: int
    """Episodes that an earlier, interrupted run had written."""


def export(
    opener: Opener,
    out: Path,
    format_name: str,
    plan: Plan,
    *,
    episodes: Sequence[int] | None = None,
    weights: Mapping[str, float] | None = None,
    kept: Normalisation | None = None,
    on: str = "processes",
    jobs: int = 1,
    on_start: Callable[[int], None] = lambda _: None,
    on_episode: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> Exported:
    """Write the episodes of a dataset, or those with the given numbers, into a new folder.

    Until the end everything is in `<out>.partial`; the same call after an interruption goes on
    from there. `weights` by episode id are kept beside the dataset, and so is `kept`, by which
    the values are normalised already. `on` names the runner, whose workers must all see `out`.
    """
    writer = writer_of(format_name)
    runner_of(on)
    dataset = opener()
    order = _order(opener, dataset, out, format_name, plan, episodes)
    _claim(order, plan, out, dataset)
    on_start(len(order.episodes))
    done = {number: facts for number in range(len(order.episodes))
            if (facts := _facts(order, number)) is not None}  # fmt: skip
    resumed = len(done)
    for facts in done.values():
        on_episode(facts)
    missing = [number for number in range(len(order.episodes)) if number not in done]
    with closing(_pieces(order, dataset, missing, on, jobs)) as written:
        for facts in written:
            on_episode(facts)
    pieces = tuple(
        Piece(_folder(order, number) / "data", _facts(order, number) or {})
        for number in range(len(order.episodes))
    )
    _assemble(order, writer, pieces, weights or {}, kept or order.normalisation)
    _publish(order, out)
    return Exported(out, order.head, order, pieces, resumed)


def _order(
    opener: Opener,
    dataset: Dataset,
    out: Path,
    format_name: str,
    plan: Plan,
    episodes: Sequence[int] | None,
) -> Order:
    wanted = tuple(dataset.episodes if episodes is None else episodes)
    strange = sorted(set(wanted) - set(dataset.episodes))
    if strange:
        raise CorporealError(
            f"{dataset.source} has no episode {', '.join(map(str, strange[:8]))}; "
            f"it has {len(dataset.episodes)}, numbered {_span(dataset.episodes)}."
        )
    if not wanted:
        raise EpisodeError(f"{dataset.source}: no episode to export; expected at least one.")
    first = dataset.open(wanted[0])
    if writer_of(format_name).many_rates:
        layout = loose_table(first, plan, number=0).layout
    else:
        layout = layout_of(first, plan)
        layout = replace(layout, lanes=united([dataset.lanes(), layout.lanes]))
    head = Head(name=out.name, plan=plan, layout=layout, robot=first.embodiment)
    work = out.with_name(f"{out.name}.partial")
    order = Order(opener, format_name, head, None, wanted, work)
    if plan.normalise == "none":
        return order
    recordings = (dataset.open(number) for number in wanted)
    return replace(order, normalisation=fit(recordings, layout, plan.normalise, head.robot))


def _span(numbers: Sequence[int]) -> str:
    return f"{min(numbers)} to {max(numbers)}" if numbers else "nothing"


def _claim(order: Order, plan: Plan, out: Path, dataset: Dataset) -> None:
    """Take the working folder, or go on in the one that the same export has left."""
    if os.path.lexists(out):
        raise WriteError(f"{out} already exists, and an export never changes one. Name another.")
    said = json.dumps(
        {
            "format": order.format,
            "plan": plan.to_json(),
            "source": str(dataset.source.resolve()),
            "episodes": list(order.episodes),
        },
        indent=1,
    )
    path = order.work / _PLAN
    if path.is_file() and path.read_text("utf-8") != said:
        raise WriteError(
            f"{order.work} is left from another export into {out}. Give the same options to go on "
            "with that one, or remove the folder."
        )
    try:
        (order.work / _PIECES).mkdir(parents=True, exist_ok=True)
        path.write_text(said, "utf-8")
    except OSError as error:
        raise WriteError(f"{out}: cannot be written: {error.strerror}.") from None


def _folder(order: Order, number: int) -> Path:
    return order.work / _PIECES / f"{number:06d}"


def _facts(order: Order, number: int) -> dict[str, Any] | None:
    """What is known of an episode that is written; None while it is not."""
    path = _folder(order, number) / _FACTS
    if not path.is_file():
        return None
    facts: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return facts


def write_piece(order: Order, dataset: Dataset, number: int) -> dict[str, Any]:
    """Write one episode; its folder gets its name when everything in it is there."""
    recording = dataset.open(order.episodes[number])
    head = order.head
    writer = writer_of(order.format)
    if writer.many_rates:
        table = loose_table(recording, head.plan, number=number)
    else:
        table = table_of(recording, head.layout, number=number, normaliser=order.normalisation)
    folder = _folder(order, number)
    draft = folder.with_name(f".{folder.name}")
    shutil.rmtree(draft, ignore_errors=True)
    (draft / "data").mkdir(parents=True)
    try:
        own = writer.piece(table, draft / "data", head)
        side = (
            head.plan.sides
            and not writer.many_rates
            and write_side(table, draft / "side.h5", held=held(head.layout, writer))
        )
    except (OSError, WriteError) as error:
        raise _explained(error, folder) from error
    facts: dict[str, Any] = {
        "id": recording.id,
        "number": number,
        "index": recording.index,
        "source": _source(recording),
        "length": len(table),
        "instructions": list(table.instructions),
        "success": table.success,
        "filled": table.filled(),
        "side": side,
        **own,
    }
    (draft / _FACTS).write_text(json.dumps(facts), "utf-8")
    # Synced with the whole dataset, once, when that gets its name.
    draft.rename(folder)
    return facts


def _explained(error: OSError | WriteError, folder: Path) -> WriteError:
    """A full disk in one sentence, whoever met it; what does not fit stays as it was said."""
    cause = error.__cause__ if isinstance(error, WriteError) else error
    if not isinstance(cause, OSError):
        return error if isinstance(error, WriteError) else WriteError(str(error))
    told = str(cause.strerror or cause)
    # HDF5 tells a story of several lines where the system has three words.
    reason = os.strerror(cause.errno) if cause.errno and "\n" in told else told
    return WriteError(
        f"{folder}: cannot be written: {reason}. Free some space and give the same command again: "
        "it goes on from here."
    )


def _source(recording: Recording) -> str:
    return recording.source.name


def _opened(order: Order) -> tuple[Order, Dataset]:
    return order, order.opener()


def _in_worker(state: tuple[Order, Dataset], number: int) -> dict[str, Any]:
    """A piece, unless a worker was lost between writing it and saying so."""
    return _facts(state[0], number) or write_piece(*state, number)


def _pieces(
    order: Order, dataset: Dataset, missing: Sequence[int], on: str, jobs: int
) -> Generator[dict[str, Any], None, None]:
    alone = on == "serial" or (on == "processes" and min(jobs, len(missing)) <= 1)
    # The dataset is open here already; other processes open it for themselves.
    prepare = (lambda: (order, dataset)) if alone else partial(_opened, order)
    with closing(run(_in_worker, missing, on=on, jobs=jobs, prepare=prepare)) as results:
        for done in results:
            if done.error is not None:
                raise done.error
            if done.value is not None:
                yield done.value


def _assemble(
    order: Order,
    writer: Writer,
    pieces: Sequence[Piece],
    weights: Mapping[str, float],
    normalisation: Normalisation | None,
) -> None:
    result = order.work / _RESULT
    shutil.rmtree(result, ignore_errors=True)
    result.mkdir()
    try:
        writer.assemble(pieces, result, order.head)
        if not writer.many_rates:
            write_companion(pieces, result, order.head, normalisation, weights, writer.label)
    except OSError as error:
        raise WriteError(f"{result}: cannot be written: {error.strerror}.") from error


def _publish(order: Order, out: Path) -> None:
    """Give the dataset its name only when all of it is there, and only if nobody took it."""
    if os.path.lexists(out):
        raise WriteError(f"{out} appeared meanwhile; the dataset is in {order.work / _RESULT}.")
    publish_folder(order.work / _RESULT, out)
    shutil.rmtree(order.work)


def table_at(exported: Exported, source: Dataset, number: int) -> Table:
    """The rows that an episode of the dataset must have."""
    order = exported.order
    recording = source.open(order.episodes[number])
    return table_of(recording, order.head.layout, number=number, normaliser=order.normalisation)
