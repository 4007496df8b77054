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

Array = NDArray[np.float64]
Kind = Literal["value", "rate", "count"]
"""A mean or the like; a share of so many episodes; so many per episode."""

# A batch this many robust deviations off is not taken as usual.
_OUTLIER = 3.5
# A spread below this share of the target is too small to be known.
_LEAST_SPREAD = 0.02
_LEAST_EPISODES = 30
# Found with bench.control_charts: a short reference then gives about as many false alarms as a
# target and a spread that are known; it costs delay.
WIDENING = 5.0
_FARTHEST = 12.0


@dataclass(frozen=True)
class Baseline:
    """The target, and the spread about it.

    For a `value` the spread is in its unit. For a `rate` or a `count` it says how many times wider
    the batches scatter than chance alone makes them (1 or more).
    """

    kind: Kind
    target: float
    spread: float
    batches: int
    left_out: int

    def standardise(self, values: Array, sizes: Array) -> Array:
        """Each batch as standard deviations from the target."""
        if self.kind == "value":
            z = (values - self.target) / self.spread
        else:
            z = _scores(np.rint(values * sizes), sizes, self.target, self.kind) / self.spread
        return np.clip(z, -_FARTHEST, _FARTHEST)

    def limits(self, sigmas: float, sizes: Array) -> tuple[Array, Array]:
        """The lowest and the highest value within so many deviations, for each batch's size."""
        reach = sigmas * self.spread
        if self.kind == "value":
            flat = np.ones(len(sizes))
            return (self.target - reach) * flat, (self.target + reach) * flat
        low = _bound(-reach, sizes, self.target, self.kind)
        high = _bound(reach, sizes, self.target, self.kind)
        top = 1.0 if self.kind == "rate" else np.inf
        return np.clip(low / sizes, 0, top), np.clip(high / sizes, 0, top)


def estimate_baseline(values: Array, kind: Kind, sizes: Array) -> Baseline | str:
    """Target and spread of the batches, those far off left out; or why they cannot be had."""
    if kind == "value":
        kept = np.abs(values - np.median(values)) <= _OUTLIER * _robust_spread(values)
        target = float(np.mean(values[kept]))
        spread = _widened(values[kept])
        spread = max(spread, _LEAST_SPREAD * abs(target), 1e-9)
        return Baseline(kind, target, spread, int(kept.sum()), int((~kept).sum()))
    if sizes.sum() < _LEAST_EPISODES:
        return f"{sizes.sum():.0f} episodes to compare with; expected {_LEAST_EPISODES}"
    counts = np.rint(values * sizes)
    kept = np.ones(len(values), bool)
    for _ in range(3):
        target = _share(counts[kept], sizes[kept], kind)
        z = _scores(counts, sizes, target, kind)
        kept = np.abs(z - np.median(z)) <= _OUTLIER * max(1.0, _robust_spread(z))
    target = _share(counts[kept], sizes[kept], kind)
    spread = max(1.0, _widened(_scores(counts[kept], sizes[kept], target, kind)))
    return Baseline(kind, target, spread, int(kept.sum()), int((~kept).sum()))


def _robust_spread(values: Array) -> float:
    """The standard deviation from the median absolute deviation, with a floor."""
    middle = float(np.median(values))
    return max(1.4826 * float(np.median(np.abs(values - middle))), 1e-9 + 1e-9 * abs(middle))


def _widened(values: Array) -> float:
    """The standard deviation, made larger for being known from few batches only."""
    return float(np.std(values, ddof=1)) * (1 + WIDENING / len(values)) if len(values) > 1 else 0.0


def _share(counts: Array, sizes: Array, kind: Kind) -> float:
    """The rate of all batches together, kept off 0 and 1 by half an event."""
    total = float(sizes.sum())
    return (float(counts.sum()) + 0.5) / (total + (1.0 if kind == "rate" else 0.0))


def _tails(counts: Array, sizes: Array, target: float, kind: Kind) -> tuple[Array, Array]:
    """The chance of at most so many events, and of more."""
    from scipy import special

    if kind == "count":
        least = np.maximum(counts, 0)
        below, above = special.pdtr(least, sizes * target), special.pdtrc(least, sizes * target)
    else:
        total = np.rint(sizes).astype(np.int64)
        inside = np.clip(counts, 0, total)
        below, above = special.bdtr(inside, total, target), special.bdtrc(inside, total, target)
        below, above = np.where(counts >= total, 1, below), np.where(counts >= total, 0, above)
    return np.where(counts < 0, 0.0, below), np.where(counts < 0, 1.0, above)


def _scores(counts: Array, sizes: Array, target: float, kind: Kind) -> Array:
    """Normal scores of counts by their exact distribution; a tie is split in the middle.

    A normal approximation is wrong by far where few events are expected, which is the rule in
    small batches with a high acceptance rate.
    """
    from scipy import special

    to, beyond = _tails(counts, sizes, target, kind)
    before, since = _tails(counts - 1, sizes, target, kind)
    below, above = (to + before) / 2, (beyond + since) / 2
    # Of two tails the smaller one is known exactly.
    z = np.where(below < above, special.ndtri(below), -special.ndtri(above))
    return np.asarray(np.clip(z, -_FARTHEST, _FARTHEST), np.float64)


def _bound(reach: float, sizes: Array, target: float, kind: Kind) -> Array:
    """The count, to a half, that lies just inside so many deviations."""
    from scipy import stats

    share = stats.norm.cdf(reach)
    if kind == "rate":
        near = stats.binom.ppf(share, np.rint(sizes), target)
    else:
        near = stats.poisson.ppf(share, sizes * target)
    outward = -1.0 if reach < 0 else 1.0
    steps = near[None] + outward * np.arange(-2, 4)[:, None]
    inside = np.stack(
        [
            outward * _scores(np.clip(row, 0, None), sizes, target, kind) <= abs(reach)
            for row in steps
        ]
    )
    last = inside.cumprod(axis=0).sum(axis=0) - 1
    return np.asarray(near + outward * (last - 2 + 0.5), np.float64)


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
