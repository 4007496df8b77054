"""Has a series changed, and since when? A permutation test that needs no reference period.

The sum of differences from the mean is compared with that of the same values in any other order.
It says what it needs: with too few values not even a perfect step could be told from chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CERTAIN = 0.01
"""The chance at which a change is said, over all the series that are looked at together."""
_LEAST_PART = 3
"""A value or two are an outlier, and no new level."""
_ORDERS = 9999
_MOST_VALUES = 400
_LOT = 250


@dataclass(frozen=True)
class LevelChange:
    """From the value at `at` on (a place in the series) the mean is `after`; before it `before`."""

    at: int
    before: float
    after: float
    chance: float


@dataclass(frozen=True)
class NoChange:
    """Nothing that chance does not explain; `chance` is of the strongest step that there is."""

    chance: float


@dataclass(frozen=True)
class TooFew:
    """So many values more, and a perfect step could be told from chance."""

    missing: int


def find_change(values: Array, *, series: int = 1) -> LevelChange | NoChange | TooFew:
    """The strongest step of a series in order of time, among `series` that are looked at.

    Of a long series the latest values count. Orders are drawn with a fixed seed: the same values
    have the same answer.
    """
    first = max(0, len(values) - _MOST_VALUES)
    data = np.asarray(values[first:], np.float64)
    missing = least_values(series) - len(data)
    if missing > 0:
        return TooFew(missing)
    steps = _steps(data[None])[0]
    if not steps.max() > 0:
        return NoChange(1.0)
    chance = min(1.0, series * _chance(data, float(steps.max()), series))
    if chance >= CERTAIN:
        return NoChange(chance)
    at = _LEAST_PART + int(steps.argmax())
    return LevelChange(first + at, float(data[:at].mean()), float(data[at:].mean()), chance)


def least_values(series: int = 1) -> int:
    """How many values a step needs to be told from chance at all: ten for a series alone.

    Of all ways to choose half of the values two are as extreme as a perfect step in the middle.
    """
    count = 2 * _LEAST_PART
    while 2 * series / comb(count, count // 2) >= CERTAIN:
        count += 1
    return count


def _chance(data: Array, step: float, series: int) -> float:
    """How often an order of these values shows such a step, at most.

    Looked at no longer than the answer is open: where a bound says enough no order is drawn, and
    where too many orders have shown it the others cannot make it a change any more.
    """
    bound = _bound(data, step)
    if series * bound < CERTAIN / 10:
        return bound
    orders = _ORDERS * max(1, series)
    enough = CERTAIN * (1 + orders) / series
    random = np.random.default_rng(0)
    beyond = drawn = 0
    while drawn < orders and 1 + beyond < enough:
        lot = np.broadcast_to(data, (min(_LOT, orders - drawn), len(data)))
        strengths = _steps(random.permuted(lot, axis=1)).max(axis=1)
        beyond += int((strengths >= step * (1 - 1e-9)).sum())
        drawn += len(lot)
    return (1 + beyond) / (1 + drawn)


def _bound(data: Array, step: float) -> float:
    """No chance is larger than this: inequalities for sums of values drawn without replacement.

    Serfling's, by the range, or Bernstein's, by the variance; of each place in turn, from the end
    that is nearer, and summed over all of them. A sum that no draw can reach counts as none.
    """
    count = len(data)
    places = np.arange(_LEAST_PART, count - _LEAST_PART + 1)
    nearer = np.minimum(places, count - places)
    sums = step * np.sqrt(places * (count - places) / count)
    most = float(np.abs(data - data.mean()).max())
    left = 1 - (nearer - 1) / count
    by_range = 2 * sums**2 / (nearer * left * float(np.ptp(data)) ** 2)
    by_variance = sums**2 / (2 * nearer * float(data.var()) + 2 / 3 * most * sums)
    chances = 2 * np.exp(-np.maximum(by_range, by_variance))
    return min(1.0, float(chances[sums <= nearer * most].sum()))


def _steps(rows: Array) -> Array:
    """How strong a step at each place is, as rows (N, places): sums scaled to equal variance."""
    count = rows.shape[1]
    places = np.arange(_LEAST_PART, count - _LEAST_PART + 1)
    sums = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, places - 1]
    strength: Array = np.abs(sums) / np.sqrt(places * (count - places) / count)
    return strength
