"""Which segment of one person is which of the other: in order, by how far they overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Segments that share less than this of their union are two things.
LEAST_OVERLAP = 0.1


@dataclass(frozen=True)
class FrameSpan:
    """A segment in frames: from `start` to before `end`, with its place in its lane."""

    label: str
    start: int
    end: int
    place: int = 0


Pair = tuple[FrameSpan | None, FrameSpan | None]


def overlap(one: FrameSpan, two: FrameSpan) -> float:
    """Shared frames over all frames; moments overlap as far as they are near each other."""
    if one.start == one.end or two.start == two.end:
        apart = abs((one.start + one.end) - (two.start + two.end)) / 2
        return 1.0 / (1.0 + apart)
    shared = min(one.end, two.end) - max(one.start, two.start)
    union = max(one.end, two.end) - min(one.start, two.start)
    return max(shared, 0) / union


def pair_up(
    first: Sequence[FrameSpan], second: Sequence[FrameSpan], *, least: float = LEAST_OVERLAP
) -> list[Pair]:
    """Pairs in order of time that overlap most in all; None stands where one has no partner."""
    worth = np.array([[overlap(one, two) for two in second] for one in first], np.float64)
    worth = np.where(worth >= least, worth, 0.0).reshape(len(first), len(second))
    best = _table(worth)
    pairs: list[Pair] = []
    row, column = len(first), len(second)
    while row or column:
        if row and column and _is_pair(best, worth, row, column):
            row, column = row - 1, column - 1
            pairs.append((first[row], second[column]))
        elif row and (not column or best[row, column] == best[row - 1, column]):
            row -= 1
            pairs.append((first[row], None))
        else:
            column -= 1
            pairs.append((None, second[column]))
    pairs.reverse()
    return pairs


def _table(worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most overlap that the first so many of both can have in all."""
    rows, columns = worth.shape
    best = np.zeros((rows + 1, columns + 1))
    for row in range(1, rows + 1):
        for column in range(1, columns + 1):
            best[row, column] = max(
                best[row - 1, column],
                best[row, column - 1],
                best[row - 1, column - 1] + worth[row - 1, column - 1],
            )
    return best


def _is_pair(best: NDArray[np.float64], worth: NDArray[np.float64], row: int, column: int) -> bool:
    gain = worth[row - 1, column - 1]
    return bool(gain > 0 and best[row, column] == best[row - 1, column - 1] + gain)
