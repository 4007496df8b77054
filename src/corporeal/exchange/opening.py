"""Opens one path or several as one dataset, whatever their formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corporeal.embodiment import Embodiment
from corporeal.episode.label_track import united
from corporeal.episode.recording import Dataset, Defect, Ledger, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.format import formats
from corporeal.exchange.sidecar import describe_rows, restore_episodes


def open_dataset(
    source: Path | str | Sequence[Path | str],
    *,
    robot: Embodiment | None = None,
    restore: bool = True,
    rate_hz: float | None = None,
) -> Dataset:
    """The dataset at a path, whatever its format; several become one with new episode numbers.

    `robot` takes the place of the one it names. A dataset that Corporeal wrote is put together
    again with what lies beside it, unless `restore` is False. `rate_hz` is that of files which do
    not state one.
    """
    paths = [source] if isinstance(source, Path | str) else source
    parts = [_open_path(Path(path), robot, restore, rate_hz) for path in paths]
    return parts[0] if len(parts) == 1 else join_datasets(parts)


def _open_path(
    path: Path, robot: Embodiment | None, restore: bool, rate_hz: float | None = None
) -> Dataset:
    if not path.exists():
        raise EpisodeError(f"{path}: does not exist. Give the path of a dataset.")
    readers = {name: format_ for name, format_ in formats().items() if format_.read is not None}
    for format_ in readers.values():
        if format_.read is not None and format_.recognises(path):
            if rate_hz is not None and not format_.takes_rate:
                raise EpisodeError(
                    f"{path}: {format_.title} states its own rate, got {rate_hz:g} Hz beside it. "
                    "Leave --source-rate out."
                )
            stated = {} if rate_hz is None else {"rate_hz": rate_hz}
            dataset = format_.read(path, robot=robot, **stated)
            return restore_episodes(dataset, path, robot=robot) if restore else dataset
    known = ", ".join(f"{name} ({format_.title})" for name, format_ in readers.items())
    raise EpisodeError(f"{path}: not a dataset of a known format; expected one of: {known}.")


def open_rows(
    source: Path | str | Sequence[Path | str], *, robot: Embodiment | None = None
) -> Dataset:
    """The same row by row as it stands: what merge, split, delete and select work on."""
    paths = [source] if isinstance(source, Path | str) else source
    parts = [describe_rows(_open_path(Path(path), robot, False), Path(path), robot=robot)
             for path in paths]  # fmt: skip
    return parts[0] if len(parts) == 1 else join_datasets(parts)


def join_datasets(parts: Sequence[Dataset]) -> Dataset:
    """Datasets one after the other. Their own statistics no longer hold and are left out."""
    numbered = [(part, number) for part in parts for number in part.episodes]
    renumbered = {(id(part), number): new for new, (part, number) in enumerate(numbered)}

    def open_numbered(number: int) -> Recording:
        part, own = numbered[number]
        return replace(part.open(own), index=number)

    def moved(part: Dataset, defect: Defect) -> Defect:
        named = tuple(renumbered[id(part), each] for each in defect.episodes
                      if (id(part), each) in renumbered)  # fmt: skip
        alone = None if defect.episode is None else renumbered.get((id(part), defect.episode))
        return replace(defect, episode=alone, episodes=named)

    names = {part.format for part in parts}
    return Dataset(
        source=parts[0].source.parent,
        format=names.pop() if len(names) == 1 else "mixed",
        episodes=tuple(range(len(numbered))),
        open=open_numbered,
        defects=tuple(moved(part, defect) for part in parts for defect in part.defects),
        lanes=lambda: united(part.lanes() for part in parts),
        ledger=sum((part.ledger for part in parts), Ledger()),
    )
