"""When a curve of motion begins to rise, between its samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.capture.motion_energy import Energy
from corporeal.capture.motion_fit import LagFit, spread_of
from corporeal.capture.motion_reference import MotionReference
from corporeal.geometry import Array

# How far from the event the rise is looked for, and within what time it must reach its height.
SEARCH_S, RISE_S = 0.3, 0.12
# The two points of the rise, as shares of that height.
LOW, HIGH = 0.05, 0.15
_TINY = 1e-12


@dataclass(frozen=True)
class Onset:
    """When a curve begins to rise, with one deviation, and how high it rises over its noise."""

    time_s: float
    deviation_s: float
    snr: float


def fit_onsets(energy: Energy, reference: MotionReference, events_s: list[float]) -> LagFit | None:
    """The median lag of a stream's onsets behind the robot's own; None when none was found."""
    lags, deviations, heights = [], [], []
    for at_s in events_s:
        own = find_onset(reference.speed, at_s, search_s=0.05)
        seen = find_onset(energy, at_s)
        if own is None or seen is None:
            continue
        lags.append(seen.time_s - own.time_s)
        deviations.append(float(np.hypot(seen.deviation_s, own.deviation_s)))
        heights.append(seen.snr)
    if 2 * len(lags) < len(events_s) or not lags:
        return None
    fitted = float(np.median(deviations)) / float(np.sqrt(len(lags)))
    return LagFit(
        lag_s=float(np.median(lags)),
        deviation_s=max(fitted, spread_of(lags)),
        snr=float(np.median(heights)),
        share=len(lags) / len(events_s),
        events=len(lags),
    )


def find_onset(energy: Energy, at_s: float, *, search_s: float = SEARCH_S) -> Onset | None:
    """The onset after stillness about `at_s`; None when nothing stands out.

    The line through a low and a higher point of the rise is followed back to the level of rest:
    all curves begin at the same instant, but some as a step and some as a slope.
    """
    time_s = energy.time_s - at_s
    still = energy.value[(time_s > -0.55) & (time_s < min(-0.15, -search_s + 0.05))]
    inside = np.flatnonzero((time_s > -search_s) & (time_s < search_s))
    if len(still) < 3 or len(inside) < 4:
        return None
    moment, height = energy.time_s[inside], energy.value[inside] - float(np.median(still))
    noise = max(float(np.std(still)), 1e-3 * float(height.max()), _TINY)
    first = _first_above(height, max(5 * noise, 0.15 * float(height.max())))
    if first is None:
        return None
    peak = float(height[moment <= moment[first] + RISE_S].max())
    low = max(3 * noise, LOW * peak)
    high = max(2 * low, HIGH * peak)
    low_s, high_s = (_crossing(moment, height, first, level) for level in (low, high))
    period_s = float(np.median(np.diff(moment)))
    slope = (high - low) / max(high_s - low_s, period_s / 10)
    begin_s = low_s - min(low / slope, 3 * period_s)
    # Between two samples a step may be anywhere: a third of the period, and the noise besides.
    deviation = float(np.hypot(noise / slope, period_s / np.sqrt(12)))
    return Onset(begin_s, deviation, float(height.max()) / noise)


def _first_above(height: Array, level: float) -> int | None:
    """The first of two samples in a row above a level."""
    above = height > level
    pairs = np.flatnonzero(above[:-1] & above[1:])
    return int(pairs[0]) if len(pairs) else None


def _crossing(time_s: Array, height: Array, place: int, level: float) -> float:
    """When the curve rises through a level: the last time before `place`, else the first after."""
    if height[place] >= level:
        below = np.flatnonzero(height[: place + 1] < level)
        k = int(below[-1]) if len(below) else 0
    else:
        above = np.flatnonzero(height[place:] >= level)
        k = place + max(0, int(above[0]) - 1) if len(above) else len(height) - 2
    rise = height[k + 1] - height[k]
    part = float(np.clip((level - height[k]) / rise, 0.0, 1.0)) if rise > 0 else 1.0
    return float(time_s[k] + part * (time_s[k + 1] - time_s[k]))
