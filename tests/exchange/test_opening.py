"""Several paths as one dataset."""

from __future__ import annotations

from pathlib import Path

from corporeal.episode.recording import Dataset, Defect, Recording
from corporeal.exchange.opening import join_datasets


def _dataset(name: str, numbers: tuple[int, ...], defects: tuple[Defect, ...] = ()) -> Dataset:
    def open_one(number: int) -> Recording:
        return Recording(f"{name}{number}", Path(name), number, {})

    return Dataset(Path(name), name, numbers, open_one, defects=defects)


def test_episodes_are_numbered_through_and_open_as_before() -> None:
    whole = join_datasets([_dataset("a", (0, 1)), _dataset("b", (5, 9))])
    assert whole.episodes == (0, 1, 2, 3)
    opened = [whole.open(number) for number in whole.episodes]
    assert [each.id for each in opened] == ["a0", "a1", "b5", "b9"]
    assert [each.index for each in opened] == [0, 1, 2, 3]
    assert whole.format == "mixed"


def test_defects_keep_pointing_at_their_episodes() -> None:
    defects = (
        Defect("index_wrong", "one", episode=9),
        Defect("index_wrong", "two", episodes=(5, 9, 77)),
        Defect("metadata_wrong", "all"),
    )
    whole = join_datasets([_dataset("a", (0, 1)), _dataset("b", (5, 9), defects)])
    assert [(each.episode, each.episodes) for each in whole.defects] == [
        (3, ()),
        (None, (2, 3)),
        (None, ()),
    ]
