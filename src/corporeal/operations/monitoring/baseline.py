"""What is usual: target and spread of a figure, from batches that were in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
