"""Clips on disk: which are meant by some paths, their episodes found again and written whole."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corporeal.episode import Episode
from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.episode.file import journal_path, open_journal, remove_drafts
from corporeal.errors import CorporealError, EpisodeError, WriteError
from corporeal.files import atomic_file
from corporeal.retargeting.measure.metrics import Metrics
from corporeal.retargeting.motion import MotionError
from corporeal.retargeting.reader import readers
from corporeal.retargeting.result import Retargeted
from corporeal.retargeting.robot_episode import write_episode
from corporeal.retargeting.settings import InfeasiblePolicy


@dataclass(frozen=True)
class ClipFile:
    """A clip, and the name without suffix of what is made from it, below the folder for that."""

    path: Path
    name: Path


def find_clips(paths: Sequence[Path], *, kind: str | None = None) -> list[ClipFile]:
    """The files that are named, and those in folders that some reader, or that of `kind`, knows.

    What is made from a folder's clips is laid out as the folder is; clips that differ only in
    their suffix have it in their names.
    """
    if not paths:
        raise MotionError("no clip; name a file of human motion, or a folder of them.")
    names: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise MotionError(f"{path}: does not exist; expected a file of human motion.")
        if not path.is_dir():
            names.setdefault(path, Path(path.name))
            continue
        inside = [each for each in sorted(path.rglob("*")) if each.is_file() and _known(each, kind)]
        if not inside:
            raise MotionError(f"{path}: holds no file of human motion that is known here.")
        for each in inside:
            names.setdefault(each, each.relative_to(path))
    shared = Counter(name.with_suffix("") for name in names.values())
    clips = [
        ClipFile(path, _stem(name, alone=shared[name.with_suffix("")] == 1))
        for path, name in names.items()
    ]
    _check_names(clips)
    return clips


def check_target(path: Path, what: str) -> None:
    """Raise WriteError where a file of this name could not be made; looks only, makes nothing."""
    if path.is_dir():
        raise WriteError(f"{path}: is a folder; expected the name of {what}.")
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise WriteError(f"{path}: {folder} is a file; expected a folder for {what}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise WriteError(f"{path}: {folder} cannot be written to. Name another place for {what}.")


def _known(path: Path, kind: str | None) -> bool:
    chosen = [each for name, each in readers().items() if kind in (None, name)]
    try:
        return any(reader.recognises(path) for reader in chosen)
    except OSError as error:
        raise MotionError(f"{path}: cannot be read: {error.strerror}.") from None


def _stem(name: Path, *, alone: bool) -> Path:
    return name.with_suffix("") if alone else name.with_name(name.name.replace(".", "_"))


def _check_names(clips: Sequence[ClipFile]) -> None:
    owners: dict[Path, Path] = {}
    for clip in clips:
        first = owners.setdefault(clip.name, clip.path)
        if first != clip.path:
            raise CorporealError(
                f"{first} and {clip.path} would both become {clip.name}. Give them one by one, "
                "or the folder that holds both."
            )


@dataclass(frozen=True)
class Finished:
    """Episodes that an earlier run made of the same clip in the same way, and their metadata."""

    episodes: tuple[Path, ...]
    metadata: tuple[Mapping[str, Any], ...]


def piece_path(episode: Path, number: int, count: int) -> Path:
    """Where piece `number`, from 1, of a clip goes: the episode itself where there is only one."""
    if count == 1:
        return episode
    return episode.with_name(f"{episode.stem}_{number}{episode.suffix}")


def find_finished(episode: Path, mark: str) -> Finished | None:
    """What is there of the episode, or None where some or all of it is still to be made.

    What a run left beside it that was killed after the last sample is removed. Raises WriteError
    where another file has its place.
    """
    if os.path.lexists(episode):
        finished = Finished((episode,), (_read_marked(episode, mark),))
        _clear_finished(finished)
        return finished
    first = piece_path(episode, 1, 2)
    if not os.path.lexists(first):
        return None
    count = int(_read_marked(first, mark)["retargeting"]["settings"].get("pieces", 1))
    paths = tuple(piece_path(episode, number + 1, count) for number in range(count))
    if count < 2 or not all(path.exists() for path in paths):
        return None
    finished = Finished(paths, tuple(_read_marked(path, mark) for path in paths))
    _clear_finished(finished)
    return finished


def write_piece(
    result: Retargeted,
    path: Path,
    *,
    metrics: Metrics,
    facts: Mapping[str, Any],
    settings: Mapping[str, Any],
    source_sha256: str,
) -> Path:
    """Write one episode, or nothing; one with the same fingerprint that is there already stays."""
    if os.path.lexists(path):
        _read_marked(path, str(settings["fingerprint"]))
        return path
    _clear_leftover(path)
    try:
        return write_episode(
            result, path, metrics=metrics, facts=facts, settings=settings,
            source_sha256=source_sha256,
        )  # fmt: skip
    except WriteError as error:
        if error.__cause__ is None:
            raise
        # The clip is still there, so that nothing is lost with the samples.
        journal_path(path).unlink(missing_ok=True)
        why = str(error.__cause__.__cause__ or error.__cause__).splitlines()[0]
        raise WriteError(
            f"{path}: cannot be written: {why}. Make room, and run it again."
        ) from None


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside, and give it its name when it is whole."""
    make_folder(path)
    try:
        with atomic_file(path) as draft:
            write(draft)
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written: {error.strerror or error}. Make room, or name another "
            "place."
        ) from None


def make_folder(path: Path) -> None:
    """Make the folder that a file is to be in; raises WriteError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"{path}: cannot be written: {error.strerror}.") from None


def _read_marked(path: Path, mark: str) -> Mapping[str, Any]:
    """The metadata of an episode that bears this fingerprint; raises WriteError for others."""
    try:
        with Episode.open(path) as episode:
            metadata = episode.metadata
    except EpisodeError:
        metadata = {}
    section = metadata.get("retargeting")
    settings = section.get("settings") if isinstance(section, Mapping) else None
    if not isinstance(settings, Mapping) or settings.get("fingerprint") != mark:
        raise WriteError(
            f"{path}: is there already, and is not this clip with these settings. Name another "
            "--out, or move it away."
        )
    return metadata


def _clear_leftover(path: Path) -> None:
    """Remove what a run that was killed left of this episode; that of others stays."""
    with suppress(FileNotFoundError), open_journal(journal_path(path)) as journal:
        if journal.header.get("metadata", {}).get("mode") == RETARGETED_MOCAP:
            remove_drafts(journal.path)
            journal.path.unlink()


def _clear_finished(finished: Finished) -> None:
    """Remove what a run left that was killed after an episode got its name."""
    for path in finished.episodes:
        # A writer that is alive removes it by itself.
        with suppress(WriteError):
            _clear_leftover(path)


@dataclass(frozen=True)
class ClipOutcome:
    """What became of a clip: episodes that were written, or were there already."""

    clip: Path
    episodes: tuple[Path, ...]
    policy: InfeasiblePolicy
    was_there: bool = False
    frames: int = 0
    infeasible: int = 0
    converged: bool = True
    cpu_s: float = 0.0
    metrics: Mapping[str, Any] | None = None
    table: tuple[tuple[str, str], ...] = ()
    tracked: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether there is an episode, and nothing to be said against how it came to be."""
        return bool(self.episodes) and self.converged

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        fields = asdict(self)
        fields.pop("table")
        fields["good"] = self.good
        fields["clip"] = str(self.clip)
        fields["episodes"] = [str(path) for path in self.episodes]
        return fields


def read_outcome(clip: Path, policy: InfeasiblePolicy, finished: Finished) -> ClipOutcome:
    """The outcome of an earlier run, as its episodes tell it."""
    sections = [metadata["retargeting"] for metadata in finished.metadata]
    measured = [each.get("metrics") or {} for each in sections]
    return ClipOutcome(
        clip,
        finished.episodes,
        policy,
        was_there=True,
        frames=sum(int(each.get("frames", 0)) for each in measured),
        infeasible=sum(stop - first for each in sections for first, stop in each["infeasible"]),
        converged=all(each["converged"] for each in sections),
        metrics=measured[0] if len(measured) == 1 else None,
        tracked=finished.metadata[0].get("trackability"),
        notes=tuple(sections[0].get("notes", ())) if len(sections) == 1 else (),
    )
