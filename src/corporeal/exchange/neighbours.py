"""A file of a set: opened as the episode that it is, with the episodes that lie beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path

from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError, EpisodeError
from corporeal.words import counted

MOST_SIBLINGS = 200
"""Files on either side, by their names, that are looked at."""
MOST_SEARCHED = 2000
"""Episodes of a dataset among which those of one of its files are searched."""
Open = Callable[[Path], Dataset]


def with_siblings(
    dataset: Dataset, path: Path, is_alike: Callable[[Path], bool], open_: Open
) -> Dataset:
    """The dataset of one file with the files of its folder that are like it as neighbours.

    `is_alike` says which are, `open_` opens one. A dataset of several episodes is company enough
    for itself and stays as it is. Nobody looks into the folder before neighbours are asked for.
    """
    if dataset.episodes != (0,) or not path.is_file():
        return dataset
    siblings = _Siblings(dataset, path, is_alike, open_)
    return replace(dataset, open=siblings.open, find_neighbours=siblings.numbers)


def take_part(dataset: Dataset, path: Path) -> Dataset:
    """The episodes of a dataset that lie in one of its files; all others are their neighbours.

    What the dataset states of the whole does not hold for the part and is left out.
    """
    if len(dataset.episodes) > MOST_SEARCHED:
        raise EpisodeError(
            f"{path}: lies in a dataset of {len(dataset.episodes)} episodes; expected one of at "
            f"most {MOST_SEARCHED} to find a file in. Give the dataset: {dataset.source}."
        )
    own = tuple(number for number in dataset.episodes if _lies_in(dataset, number, path))
    if not own:
        raise EpisodeError(
            f"{path}: lies in the dataset {dataset.source}, but is the table of none of its "
            f"{counted(len(dataset.episodes), 'episode')}. Give the dataset."
        )
    others = sorted(set(dataset.episodes) - set(own), key=lambda each: abs(each - own[0]))
    about = tuple(
        each
        for each in dataset.defects
        if each.episode in own
        or (each.episode is None and not each.episodes)
        or not set(own).isdisjoint(each.episodes)
    )
    return replace(
        dataset, source=path, episodes=own, statistics={}, facts={}, defects=about,
        find_neighbours=lambda: tuple(others),
    )  # fmt: skip


def _lies_in(dataset: Dataset, number: int, path: Path) -> bool:
    try:
        return dataset.open(number).source.resolve() == path.resolve()
    except CorporealError:
        return False


@dataclass(frozen=True)
class _Siblings:
    """Files before the own one have numbers below its 0, those after it numbers above."""

    own: Dataset
    path: Path
    is_alike: Callable[[Path], bool]
    open_file: Open

    def numbers(self) -> tuple[int, ...]:
        return tuple(self.files)

    def open(self, number: int) -> Recording:
        if number in self.own.episodes or number not in self.files:
            return self.own.open(number)
        dataset = self.open_file(self.files[number])
        if len(dataset.episodes) != 1:
            raise EpisodeError(f"{self.files[number]}: holds {len(dataset.episodes)} episodes.")
        return replace(dataset.open(dataset.episodes[0]), index=number)

    @cached_property
    def files(self) -> Mapping[int, Path]:
        """The nearest by name first; a second link to the same file is no sibling."""
        own = self.path.stat()
        seen = {(own.st_dev, own.st_ino)}
        there = []
        for each in sorted(self.path.parent.glob(f"*{self.path.suffix}")):
            status = each.stat() if each.is_file() else None
            if status is not None and (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                there.append(each)
        before = [each for each in there if each.name < self.path.name][::-1][:MOST_SIBLINGS]
        after = [each for each in there if each.name > self.path.name][:MOST_SIBLINGS]
        pairs = zip_longest(
            [(-number, each) for number, each in enumerate(before, 1)],
            list(enumerate(after, 1)),
        )
        near = (each for each in chain.from_iterable(pairs) if each is not None)
        return {number: each for number, each in near if self.is_alike(each)}
