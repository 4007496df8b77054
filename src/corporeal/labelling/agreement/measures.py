"""Measures of agreement: on where boundaries lie, on what something is, on the order of labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

CONFIDENCE = 0.95
MOST_FRAMES = 3.0
FEWEST_BOUNDARIES = 5
"""Boundaries below which nothing is said of a person or a rule: chance would speak."""


@dataclass(frozen=True)
class BoundaryFigures:
    """How boundaries of one kind differ, in frames; `spread` is a standard deviation."""

    boundaries: int
    mean_frames: float
    bias_frames: float
    spread_frames: float
    hit_rate: float
    hit_rate_bounds: tuple[float, float]

    @property
    def is_ambiguous(self) -> bool:
        """Whether people differ more than the gate allows, and often enough to say so."""
        is_wide = max(self.spread_frames, self.mean_frames) > MOST_FRAMES
        return is_wide and self.boundaries >= FEWEST_BOUNDARIES


def boundary_figures(steps: Sequence[int], tolerance_frames: int) -> BoundaryFigures:
    """The figures of differences in frames; those of no boundary are nan."""
    if not steps:
        return BoundaryFigures(0, math.nan, math.nan, math.nan, math.nan, share_bounds(0, 0))
    given = np.asarray(steps, np.float64)
    near = int((np.abs(given) <= tolerance_frames).sum())
    return BoundaryFigures(
        boundaries=len(steps),
        mean_frames=float(np.abs(given).mean()),
        bias_frames=float(given.mean()),
        spread_frames=float(given.std()),
        hit_rate=near / len(steps),
        hit_rate_bounds=share_bounds(near, len(steps)),
    )


def share_bounds(count: int, total: int, *, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Exact (Clopper-Pearson) bounds of a share, so that three of three do not prove 100 %."""
    if total == 0:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    lower = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    upper = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return lower, upper


def cohen_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float:
    """Cohen's kappa of two people's labels of the same things; nan for nothing to compare.

    Where both only ever use one and the same label, there is no chance to correct for: 1.
    """
    given = list(pairs)
    if not given:
        return float("nan")
    total = len(given)
    observed = sum(one == two for one, two in given) / total
    first = Counter(one for one, _ in given)
    second = Counter(two for _, two in given)
    expected = sum(first[label] * second[label] for label in first) / total**2
    return 1.0 if expected == 1.0 else (observed - expected) / (1.0 - expected)


def krippendorff_alpha(units: Iterable[Sequence[Hashable | None]]) -> float:
    """Krippendorff's alpha for names: each unit has the values that any number of people gave.

    None is a value that is missing. nan when no unit has two values.
    """
    totals: dict[tuple[Hashable, Hashable], float] = {}
    for unit in units:
        values = [value for value in unit if value is not None]
        if len(values) < 2:
            continue
        for place, one in enumerate(values):
            for other, two in enumerate(values):
                if place != other:
                    totals[one, two] = totals.get((one, two), 0.0) + 1 / (len(values) - 1)
    if not totals:
        return float("nan")
    margin: dict[Hashable, float] = {}
    for (one, _), weight in totals.items():
        margin[one] = margin.get(one, 0.0) + weight
    count = sum(margin.values())
    differing = sum(weight for (one, two), weight in totals.items() if one != two)
    chance = (count**2 - sum(weight**2 for weight in margin.values())) / (count - 1)
    return 1.0 if chance == 0 else 1.0 - differing / chance


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


# Segments that share less than this of their union are two things.
LEAST_OVERLAP = 0.1


@dataclass(frozen=True)
class FrameSpan:
    """A segment in frames: from `start` to before `end`, with its number in its lane."""

    label: str
    start: int
    end: int
    index: int = 0


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
