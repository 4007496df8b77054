"""Control charts: has a figure left the range that it had in its reference period?

Every batch is first turned into a number of standard deviations from the target, `z`, which allows
for its size; the three charts then look at `z`: Shewhart at each batch alone, EWMA and CUSUM at
what small departures add up to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.catalog.database import CatalogError
from corporeal.operations.monitoring.baseline import Baseline, Kind, estimate_baseline

Array = NDArray[np.float64]
Marks = NDArray[np.int8]
ChartName = Literal["shewhart", "ewma", "cusum"]
MOST_IN_SUMS = 3.0
"""A batch counts for so many standard deviations at most in the EWMA and the CUSUM."""


@dataclass(frozen=True)
class ChartRules:
    """When a chart calls a departure; all three together are wrong once in some 290 batches.

    `cusum_slack` (k) and `cusum_limit` (h) are in standard deviations, as are the limits (L) of the
    others. `first` batches are the reference unless a period is declared; fewer than `least` are
    none.
    """

    shewhart_limit: float = 3.5
    ewma_weight: float = 0.2
    ewma_limit: float = 2.86
    cusum_slack: float = 0.5
    cusum_limit: float = 5.0
    first: int = 20
    least: int = 8

    def __post_init__(self) -> None:
        limits = (self.shewhart_limit, self.ewma_limit, self.cusum_limit)
        if not 0 < self.ewma_weight <= 1 or min(limits) <= 0 or self.cusum_slack < 0:
            raise CatalogError(
                f"rules of a control chart, got {self}; expected limits above 0, a slack of 0 or "
                "more and a weight above 0 and at most 1."
            )
        if not 2 <= self.least <= self.first:
            raise CatalogError(
                f"reference of a control chart, got first {self.first} and least {self.least}; "
                "expected 2 <= least <= first."
            )


@dataclass(frozen=True)
class Unjudged:
    """A series that cannot be judged yet, and why."""

    values: Array
    reason: str


@dataclass(frozen=True)
class ControlChart:
    """A series on all three charts; arrays have one value for each batch.

    `lower` and `upper` are Shewhart's limits in the unit of the values. `ewma`, `high` and `low`
    are in standard deviations and NaN up to the end of the reference. `out` has for each chart +1
    where a figure is too high, -1 where it is too low, else 0.
    """

    values: Array
    reference: Baseline
    rules: ChartRules
    begin: int
    z: Array
    lower: Array
    upper: Array
    ewma: Array
    ewma_limit: Array
    high: Array
    low: Array
    out: Mapping[ChartName, Marks]

    @property
    def signal(self) -> Marks:
        """+1 or -1 where any chart calls a departure; most of them decide which, or the batch."""
        total = np.sum(list(self.out.values()), axis=0)
        called = np.any(list(self.out.values()), axis=0)
        side = np.where(total != 0, np.sign(total), np.where(self.z < 0, -1, 1))
        return np.where(called, side, 0).astype(np.int8)

    def change_point(self, at: int) -> int:
        """Where the departure called at batch `at` began: after its sum was last nought."""
        sums = self.high if self.signal[at] > 0 else self.low
        nought = np.flatnonzero(~(np.abs(sums[: at + 1]) > 0))
        return min(int(nought[-1]) + 1 if len(nought) else 0, at)


def chart(
    values: Sequence[float] | Array,
    *,
    kind: Kind = "value",
    sizes: Sequence[float] | Array | None = None,
    reference: Sequence[bool] | NDArray[np.bool_] | None = None,
    rules: ChartRules | None = None,
) -> ControlChart | Unjudged:
    """Judge a series; `reference` marks the batches of a declared period, else the first ones are.

    A `rate` is a share of `sizes` episodes, a `count` is per one of `sizes` episodes; a `value`
    needs no sizes. Batches up to the end of the reference are not judged.
    """
    rules = rules or ChartRules()
    data, count = _checked(values, kind, sizes)
    inside = _period(len(data), reference, rules)
    if int(inside.sum()) < rules.least:
        few = f"{int(inside.sum())} batches to compare with; expected {rules.least}"
        return Unjudged(data, f"cannot tell: {few}")
    known = estimate_baseline(data[inside], kind, count[inside])
    if isinstance(known, str):
        return Unjudged(data, f"cannot tell: {known}")
    begin = int(np.flatnonzero(inside)[-1]) + 1
    return _judged(data, count, known, rules, begin)


def _judged(
    data: Array, count: Array, known: Baseline, rules: ChartRules, begin: int
) -> ControlChart:
    z = known.standardise(data, count)
    later = z[begin:]
    # One batch far off is Shewhart's to call; in the sums it would linger for many batches.
    tamed = np.clip(later, -MOST_IN_SUMS, MOST_IN_SUMS)
    smooth = ewma(tamed, rules.ewma_weight)
    spread = ewma_spread(len(later), rules.ewma_weight) * rules.ewma_limit
    high, low = cusum(tamed, rules.cusum_slack, rules.cusum_limit)
    lower, upper = known.limits(rules.shewhart_limit, count)
    return ControlChart(
        values=data,
        reference=known,
        rules=rules,
        begin=begin,
        z=z,
        lower=lower,
        upper=upper,
        ewma=_after(smooth, begin),
        ewma_limit=_after(spread, begin),
        high=_after(high, begin),
        low=_after(low, begin),
        out={
            "shewhart": _marks(later, rules.shewhart_limit, begin),
            "ewma": _marks(smooth, spread, begin),
            "cusum": _marks(np.where(high >= -low, high, low), rules.cusum_limit, begin),
        },
    )


def ewma(z: Array, weight: float) -> Array:
    """The exponentially weighted moving average from 0 on; time is axis 0."""
    result = np.empty_like(z)
    state = np.zeros(z.shape[1:])
    for at in range(len(z)):
        state = weight * z[at] + (1 - weight) * state
        result[at] = state
    return result


def ewma_spread(count: int, weight: float) -> Array:
    """The standard deviation of the average after 1, 2, ... batches, for z of deviation 1."""
    steps = np.arange(1, count + 1)
    return np.asarray(np.sqrt(weight / (2 - weight) * (1 - (1 - weight) ** (2 * steps))))


def cusum(z: Array, slack: float, limit: float) -> tuple[Array, Array]:
    """The two tabular sums, upwards (>= 0) and downwards (<= 0); time is axis 0.

    They are held at one above the limit, so that a long departure is soon forgotten once it is
    over; until the first call that changes nothing.
    """
    high, low = np.empty_like(z), np.empty_like(z)
    up = down = np.zeros(z.shape[1:])
    for at in range(len(z)):
        up = np.clip(up + z[at] - slack, 0, limit + 1)
        down = np.clip(down + z[at] + slack, -limit - 1, 0)
        high[at], low[at] = up, down
    return high, low


def _checked(
    values: Sequence[float] | Array, kind: Kind, sizes: Sequence[float] | Array | None
) -> tuple[Array, Array]:
    data = np.asarray(values, np.float64)
    if data.ndim != 1 or not np.isfinite(data).all():
        raise CatalogError("values of a control chart; expected one finite number for each batch.")
    if sizes is None:
        if kind != "value":
            raise CatalogError(f"a chart of a {kind}, got no sizes; expected those of the batches.")
        return data, np.ones(len(data))
    count = np.asarray(sizes, np.float64)
    if count.shape != data.shape:
        raise CatalogError(f"sizes, got {count.shape}; expected {data.shape}, one for each batch.")
    if kind != "value" and not (count > 0).all():
        raise CatalogError(f"sizes of a {kind}; expected every batch to have episodes.")
    if (kind == "rate" and (data > 1).any()) or (kind != "value" and (data < 0).any()):
        raise CatalogError(f"values of a {kind}, got {data.min():g} to {data.max():g}; expected "
                           f"0 to {'1' if kind == 'rate' else 'any'}.")  # fmt: skip
    return data, count


def _period(
    count: int, declared: Sequence[bool] | NDArray[np.bool_] | None, rules: ChartRules
) -> NDArray[np.bool_]:
    if declared is None:
        return np.arange(count) < rules.first
    inside = np.asarray(declared, bool)
    if inside.shape != (count,):
        raise CatalogError(f"reference, got {inside.shape}; expected ({count},), yes or no each.")
    return inside


def _marks(statistic: Array, limit: float | Array, begin: int) -> Marks:
    marks = np.sign(statistic) * (np.abs(statistic) > limit)
    return np.concatenate([np.zeros(begin), marks]).astype(np.int8)


def _after(values: Array, begin: int) -> Array:
    return np.concatenate([np.full(begin, np.nan), values])
