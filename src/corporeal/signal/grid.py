"""Even stamps, and values at other times than their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.units import SECOND_NS

Array = NDArray[np.float64]
MOST_STEPS = 4_000_000
"""Eleven hours at 100 Hz, the longest that is put on an even grid at once."""


def even_stamps(count: int, rate_hz: float) -> NDArray[np.int64]:
    """Stamps (count,) at an even rate, from zero."""
    return np.round(np.arange(count) * (SECOND_NS / rate_hz)).astype(np.int64)


def even_times(begin: float, end: float, step: float) -> Array:
    """Times from `begin` to before `end`, `step` apart, in the unit of the three.

    Raises NotAssessed where that is more than a recording can have samples.
    """
    if (end - begin) / step > MOST_STEPS:
        raise NotAssessed(f"the stamps reach too far for steps of {step:g}: a clock jumps")
    return np.arange(begin, end, step)


def interpolate(at_s: Array, time_s: Array, values: Array) -> Array:
    """Values (N, D) at other times, on straight lines column by column; the ends are held.

    `time_s` must rise.
    """
    return np.stack([np.interp(at_s, time_s, column) for column in values.T], axis=1)


def bridge_gaps(values: Array) -> Array:
    """The values (T, D) with what is not finite replaced along straight lines; zero where all is.

    Returns the array itself when nothing has to be done.
    """
    good = np.isfinite(values)
    if good.all():
        return values
    whole = np.array(values)
    numbers = np.arange(len(values))
    for column in np.flatnonzero(~good.all(axis=0)):
        known = good[:, column]
        whole[:, column] = (
            np.interp(numbers, numbers[known], values[known, column]) if known.any() else 0.0
        )
    return whole


def finite_and_rising(time_s: Array, values: Array) -> tuple[Array, Array]:
    """Times and rows (T, D) that are finite and later than all before."""
    good = np.isfinite(values).all(axis=1)
    time_s, values = time_s[good], values[good]
    forward = np.ones(len(time_s), bool)
    if len(time_s):
        forward[1:] = time_s[1:] > np.maximum.accumulate(time_s)[:-1]
    return time_s[forward], values[forward]


def resample(at_s: Array, time_s: Array, values: Array, *, rate_hz: float) -> Array:
    """Values (N, D) at other times, averaged first where they come faster than `rate_hz`."""
    period = float(np.median(np.diff(time_s)))
    width = max(1, round(0.5 / rate_hz / period) * 2 + 1)
    if width > 1:
        kernel = np.ones(width) / width
        ends = np.pad(values, ((width // 2, width // 2), (0, 0)), mode="edge")
        values = np.stack([np.convolve(column, kernel, "valid") for column in ends.T], axis=1)
    return interpolate(at_s, time_s, values)
