"""Two selections side by side: what one takes that the other leaves."""

from __future__ import annotations

from dataclasses import dataclass

from corporeal.curation.selection import CurationSelection


@dataclass(frozen=True)
class SelectionDifference:
    """Ids by what became of them from one selection to the other."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    both: tuple[str, ...]
    reweighted: tuple[str, ...]
    unknown: tuple[str, ...]
    """Those that only one of them was made of."""

    @property
    def likeness(self) -> float:
        """The share of all that either keeps which both keep (Jaccard)."""
        every = len(self.added) + len(self.removed) + len(self.both)
        return len(self.both) / every if every else 1.0

    def __str__(self) -> str:
        return (
            f"{len(self.both)} in both, {len(self.added)} added, {len(self.removed)} removed, "
            f"{len(self.reweighted)} with another weight"
        )


def compare_selections(before: CurationSelection, after: CurationSelection) -> SelectionDifference:
    """What changed from one to the other."""
    old, new = set(before.kept), set(after.kept)
    both = sorted(old & new)
    return SelectionDifference(
        added=tuple(sorted(new - old)),
        removed=tuple(sorted(old - new)),
        both=tuple(both),
        reweighted=tuple(
            name for name in both
            if abs(before.episodes[name].weight - after.episodes[name].weight) > 1e-6
        ),
        unknown=tuple(sorted(before.episodes.keys() ^ after.episodes.keys())),
    )  # fmt: skip
