"""Agreement on the order of labels, whatever their boundaries."""

from __future__ import annotations

from collections.abc import Sequence


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """The fewest labels to add, remove or exchange to make one sequence the other."""
    row = list(range(len(second) + 1))
    for place, label in enumerate(first, start=1):
        before, row[0] = row[0], place
        for other, wanted in enumerate(second, start=1):
            kept = before + (label != wanted)
            before = row[other]
            row[other] = min(kept, row[other] + 1, row[other - 1] + 1)
    return row[-1]


def edit_score(first: Sequence[str], second: Sequence[str]) -> float:
    """1 for the same sequence, 0 when nothing is shared; two empty sequences are the same."""
    longest = max(len(first), len(second))
    return 1.0 if longest == 0 else 1.0 - edit_distance(first, second) / longest
