"""Agreement on where boundaries lie: which belong together, how far apart, in which direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import betaincinv

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Hits:
    """Boundaries of two people that lie within a window of each other, one to one."""

    matched: int
    first: int
    second: int

    @property
    def precision(self) -> float:
        """The share of the second's boundaries that the first has too."""
        return self.matched / self.second if self.second else float(self.first == 0)

    @property
    def recall(self) -> float:
        """The share of the first's boundaries that the second has too."""
        return self.matched / self.first if self.first else float(self.second == 0)

    @property
    def f_measure(self) -> float:
        """The harmonic mean of the two, the same whoever comes first."""
        total = self.first + self.second
        return 2 * self.matched / total if total else 1.0


def matched(
    first: ArrayLike, second: ArrayLike, window: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of boundaries that belong together: as many as can be, and then the nearest.

    Each boundary has one partner at most, no further away than `window` (in their own unit).
    """
    one, two = (np.asarray(each, np.float64) for each in (first, second))
    if not one.size or not two.size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    apart = np.abs(one[:, None] - two[None, :])
    # A pair that is allowed is worth more than all distances together.
    reward = (window + 1.0) * (min(one.size, two.size) + 1)
    cost = np.where(apart <= window, apart - reward, 0.0)
    rows, columns = linear_sum_assignment(cost)
    kept = apart[rows, columns] <= window
    return rows[kept].astype(np.int64), columns[kept].astype(np.int64)


def hits(first: ArrayLike, second: ArrayLike, window: float) -> Hits:
    """How many boundaries agree within a window."""
    rows, _ = matched(first, second, window)
    return Hits(len(rows), np.size(first), np.size(second))


def deviations(first: ArrayLike, second: ArrayLike) -> tuple[float, float]:
    """The median distance from each of the first's to the nearest of the second's; and back."""
    one, two = (np.asarray(each, np.float64) for each in (first, second))
    if not one.size or not two.size:
        return float("nan"), float("nan")
    apart = np.abs(one[:, None] - two[None, :])
    return float(np.median(apart.min(axis=1))), float(np.median(apart.min(axis=0)))


def share_bounds(count: int, total: int, *, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Exact (Clopper-Pearson) bounds of a share, so that three of three do not prove 100 %."""
    if total == 0:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    lower = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    upper = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return lower, upper
