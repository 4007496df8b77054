"""Opens several paths as one dataset, whatever their formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corporeal.embodiment import Embodiment
from corporeal.episode.defect import Defect
from corporeal.episode.label_track import united
from corporeal.episode.recording import Dataset, Recording
from corporeal.exchange.format import open_dataset


def open_all(paths: Sequence[Path], *, robot: Embodiment | None = None) -> Dataset:
    """The dataset at the path, or all of several as one with its episodes numbered anew."""
    parts = [open_dataset(path, robot=robot) for path in paths]
    return parts[0] if len(parts) == 1 else joined(parts)


def joined(parts: Sequence[Dataset]) -> Dataset:
    """Datasets one after the other. Their own statistics no longer hold and are left out."""
    places = [(part, number) for part in parts for number in part.episodes]
    renumbered = {(id(part), number): new for new, (part, number) in enumerate(places)}

    def open_numbered(number: int) -> Recording:
        part, own = places[number]
        return replace(part.open(own), index=number)

    def moved(part: Dataset, defect: Defect) -> Defect:
        named = tuple(renumbered[id(part), each] for each in defect.episodes
                      if (id(part), each) in renumbered)  # fmt: skip
        alone = None if defect.episode is None else renumbered.get((id(part), defect.episode))
        return replace(defect, episode=alone, episodes=named)

    formats = {part.format for part in parts}
    return Dataset(
        source=parts[0].source.parent,
        format=formats.pop() if len(formats) == 1 else "mixed",
        episodes=tuple(range(len(places))),
        open=open_numbered,
        defects=tuple(moved(part, defect) for part in parts for defect in part.defects),
        lanes=lambda: united(part.lanes() for part in parts),
    )
