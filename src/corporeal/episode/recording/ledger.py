"""What a reader says of its source: every item and what became of it, and what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

DefectCheck = Literal["index_wrong", "metadata_wrong", "footage_incomplete", "stream_missing"]

INDEX_WRONG: Final = "index_wrong"
"""Rows, numbers and files do not lead to the samples that they should."""
METADATA_WRONG: Final = "metadata_wrong"
"""What the dataset states of itself is not so."""
FOOTAGE_INCOMPLETE: Final = "footage_incomplete"
"""A movie has not the pictures that its stamps promise."""
STREAM_MISSING: Final = "stream_missing"
"""A stream that the dataset lists is not there."""


@dataclass(frozen=True)
class Defect:
    """Something wrong in a dataset's own bookkeeping, as its reader met it.

    `check` names the check that reports it. `episodes` are the numbers of all episodes that it
    concerns, where they are more than one.
    """

    check: DefectCheck
    message: str
    episode: int | None = None
    stream: str | None = None
    value: float | None = None
    limit: float | None = None
    episodes: tuple[int, ...] = ()


SOURCE_LEDGER: Final = "source_ledger"
"""The field of an episode's metadata that holds the ledger of what it was recorded from."""

ItemKind = Literal["topic", "column", "array", "camera", "document"]


@dataclass(frozen=True)
class SourceItem:
    """One thing that a source has or names, and what became of it.

    `taken_as` are the streams, and the fields of metadata, that hold it; `reason` says why it was
    not taken, from `lacking` of the `episodes` that have or name it. It is `lost` when there is
    nothing else that says the same. `samples` is None where nobody can count them.
    """

    name: str
    kind: ItemKind
    samples: int | None = None
    taken_as: tuple[str, ...] = ()
    reason: str | None = None
    lost: bool = False
    episodes: int = 1
    lacking: int = 0

    def __add__(self, other: SourceItem) -> SourceItem:
        """The same item of further episodes."""
        counts = [item.samples for item in (self, other) if item.samples is not None]
        return replace(
            self,
            samples=sum(counts) if counts else None,
            taken_as=tuple(dict.fromkeys((*self.taken_as, *other.taken_as))),
            reason=self.reason or other.reason,
            lost=self.lost or other.lost,
            episodes=self.episodes + other.episodes,
            lacking=self.lacking + other.lacking,
        )


def left_out(
    name: str, kind: ItemKind, reason: str, *, samples: int | None = None, lost: bool = False
) -> SourceItem:
    """An item of one episode, or of the dataset as a whole, that is not taken."""
    return SourceItem(name, kind, samples, reason=reason, lost=lost, lacking=1)


@dataclass(frozen=True)
class Ledger:
    """Every topic, column, array, camera and document of a source, and what became of each."""

    items: tuple[SourceItem, ...] = ()

    @property
    def not_taken(self) -> tuple[SourceItem, ...]:
        """What is missing from some episodes or from all."""
        return tuple(item for item in self.items if item.lacking)

    @property
    def lost_whole(self) -> tuple[SourceItem, ...]:
        """What the source has or names, and no episode holds."""
        return tuple(item for item in self.items if item.lost and not item.taken_as)

    def __add__(self, other: Ledger) -> Ledger:
        """The items of both, each once."""
        summed: dict[tuple[str, str], SourceItem] = {}
        for item in (*self.items, *other.items):
            known = summed.get((item.name, item.kind))
            summed[item.name, item.kind] = item if known is None else known + item
        return Ledger(tuple(summed.values()))

    def to_json(self) -> list[dict[str, Any]]:
        """One object per item."""
        return [asdict(item) for item in self.items]

    @classmethod
    def from_json(cls, values: Sequence[Mapping[str, Any]]) -> Ledger:
        """What `to_json` gave."""
        return cls(
            tuple(SourceItem(**{**item, "taken_as": tuple(item["taken_as"])}) for item in values)
        )
