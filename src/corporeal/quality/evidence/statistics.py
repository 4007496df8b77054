"""Statistics that a source claims, held against what its numbers come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Statistics
from corporeal.quality.batch import Moments
from corporeal.quality.check import Finding, Findings
from corporeal.signal.track import Array
from corporeal.words import listed

Flags = NDArray[np.bool_]

# Sums in single precision lose this much of a value's size.
SINGLE = 2.0**-23
# A variance that was computed as mean of squares minus square of mean loses hundreds of those.
_CANCELLED = 400 * SINGLE

# A quantile near either end may miss its rank by this part of what lies beyond it.
TAIL = 0.6


@dataclass(frozen=True)
class StatisticsTolerance:
    """How far a claim may be off: of the value itself, of the spread, and of a rank."""

    mean: float = 2e-4
    std: float = 5e-3
    rank: float = 0.015
    quantile: float = 0.01

    def rank_at(self, share: float, count: int) -> float:
        """The rank that a quantile may miss: less at either end, where all of it is beyond."""
        # An interpolated quantile lies between two values, so it may miss by one of them as well.
        return min(self.rank, TAIL * min(share, 1 - share)) + 1 / max(1, count)


@dataclass(frozen=True)
class Disagreement:
    """One statistic of one stream that its data contradicts, at its worst column."""

    statistic: str
    column: int
    claimed: float
    actual: float
    columns: int
    """How many columns disagree."""


def disagreements(
    claimed: Statistics,
    actual: Moments,
    tolerance: StatisticsTolerance,
    quantile_fits: Callable[[float, Array, Array], Flags],
) -> Iterator[Disagreement]:
    """Every statistic that is off. Claims of another width than the data are one of them.

    `quantile_fits(share, values, slack)` tells which columns could have these values as a quantile.
    """
    width = len(actual.lowest)
    count = claimed.get("count")
    if count is not None and count.size and int(count.flat[0]) != actual.count:
        yield Disagreement("count", 0, float(count.flat[0]), float(actual.count), 1)
        return
    truth = _truth(actual)
    spread = np.maximum(actual.highest - actual.lowest, 0.0)
    for name, values in claimed.items():
        if name != "count" and values.size != width:
            yield Disagreement(f"width of {name}", 0, float(values.size), float(width), width)
            return
    for name, expected in truth.items():
        if name in claimed:
            said = claimed[name].ravel()
            allowed = _allowed(name, said, expected, actual, tolerance)
            yield from _worst(name, said, expected, np.abs(said - expected) > allowed)
    for name, values in claimed.items():
        share = _share(name)
        if share is None:
            continue
        said = values.ravel()
        slack = tolerance.quantile * spread + 1e-5 * np.abs(said) + 1e-6
        known = actual.quantiles.get(name, np.full(width, np.nan))
        yield from _worst(name, said, known, ~quantile_fits(share, said, slack))


def _truth(actual: Moments) -> dict[str, Array]:
    variance = actual.squares / max(1, actual.count)
    return {
        "mean": actual.mean,
        "std": np.sqrt(variance),
        "min": actual.lowest,
        "max": actual.highest,
    }


def _allowed(
    name: str, said: Array, expected: Array, actual: Moments, tolerance: StatisticsTolerance
) -> Array:
    deviation = np.sqrt(actual.squares / max(1, actual.count))
    size = np.abs(actual.mean) + deviation
    if name == "mean":
        return tolerance.mean * np.abs(actual.mean) + 0.5 * tolerance.mean * deviation + 1e-6
    if name == "std":
        # Divided by n or by n - 1, and with what single precision takes from the variance.
        lost = np.sqrt(expected**2 + _CANCELLED * size**2) - expected
        return (tolerance.std + 0.6 / max(1, actual.count)) * expected + lost + 1e-6
    return 1e-5 * np.maximum(np.abs(said), np.abs(expected)) + 1e-6


def _share(name: str) -> float | None:
    return int(name[1:]) / 100 if name[:1] == "q" and name[1:].isdigit() else None


def _worst(name: str, said: Array, expected: Array, bad: Flags) -> Iterator[Disagreement]:
    # A column with a NaN has no truth to compare with; another check names it.
    bad = bad & np.isfinite(said) & (np.isfinite(expected) | (name[:1] == "q"))
    if not bad.any():
        return
    gap = np.where(bad, np.abs(said - np.nan_to_num(expected)), -1.0)
    column = int(gap.argmax())
    yield Disagreement(name, column, float(said[column]), float(expected[column]), int(bad.sum()))


def refuted(
    label: str, names: tuple[str, ...], wrong: Iterable[Disagreement], whose: str
) -> Findings:
    """What is wrong with the statistics of one stream, in one finding: nobody made them anew."""
    disagreeing = list(wrong)
    if not disagreeing:
        return
    first, *others = disagreeing
    also = list(dict.fromkeys(each.statistic for each in others))
    more = f"; {listed(also)} {'is' if len(also) == 1 else 'are'} wrong as well" if also else ""
    message = _sentence(label, names, first, whose) + more
    yield Finding(message, stream=label, value=first.claimed, limit=first.actual)


def _sentence(label: str, names: tuple[str, ...], found: Disagreement, whose: str) -> str:
    if found.statistic == "count" or found.statistic.startswith("width"):
        return (
            f"{whose} statistics of {label} state a {found.statistic} of {found.claimed:g}; "
            f"the data has {found.actual:g}"
        )
    name = names[found.column] if found.column < len(names) else str(found.column)
    more = f" ({found.columns} columns are wrong)" if found.columns > 1 else ""
    truth = "" if np.isnan(found.actual) else f"; the data gives {found.actual:.6g}"
    return (
        f"{whose} statistics of {label} state {found.statistic} {found.claimed:.6g} "
        f"for {name}{truth}{more}"
    )
