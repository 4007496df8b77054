"""Signals as detectors see them: values over seconds, found by role and side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d, median_filter

from corporeal.episode.recording import Recording, Signal
from corporeal.units import SECOND_NS

Array = NDArray[np.float64]
SIDES = ("left", "right")
_LEAST = 8
_ALIVE, _MOST = 0.5, 1e12


@dataclass(frozen=True, eq=False)
class Track:
    """One or more values over time: `time_s` rises, `values` is (T, columns)."""

    path: str
    time_s: Array
    values: Array
    columns: tuple[str, ...] = ()

    @property
    def step_s(self) -> float:
        """The usual time between two samples."""
        return float(np.median(np.diff(self.time_s)))

    def smooth(self, seconds: float) -> Track:
        """The same with a Gaussian of this width over it, which moves no edge."""
        width = seconds / max(self.step_s, 1e-6)
        return Track(self.path, self.time_s, gaussian_filter1d(self.values, width, axis=0))

    def speed(self, seconds: float) -> Array:
        """How fast all columns change together (T,), smoothed before it is taken."""
        smooth = self.smooth(seconds).values
        speed: Array = np.linalg.norm(np.gradient(smooth, self.time_s, axis=0), axis=1)
        return speed


def track(recording: Recording, *names: str) -> Track | None:
    """The first of these roles that the recording has; None when there is none to use.

    Samples whose stamps do not rise and values that are no numbers are left out.
    """
    for name in names:
        label = recording.named(name)
        if label is not None and (found := _track(label, recording.signals[label])) is not None:
            return found
    return None


def sided(recording: Recording, *names: str) -> Iterator[tuple[str, Track]]:
    """The track of each side: names have {side} where left or right stands."""
    for side in SIDES:
        found = track(recording, *(name.format(side=side) for name in names))
        if found is not None:
            yield side, found


def _track(path: str, signal: Signal) -> Track | None:
    if signal.spec.kind != "array" or len(signal) < _LEAST:
        return None
    values = np.asarray(signal[:], np.float64).reshape(len(signal), -1)
    finite = np.isfinite(values)
    # A dead taxel must not silence the whole pad.
    alive = finite.mean(axis=0) >= _ALIVE
    good = _rising(signal.time_ns) & finite[:, alive].all(axis=1)
    if not alive.any() or good.sum() < _LEAST:
        return None
    components = signal.spec.components
    columns = components if isinstance(components, tuple) else ()
    columns = tuple(np.array(columns)[alive].tolist()) if len(columns) == len(alive) else ()
    kept = np.clip(values[np.ix_(good, alive)], -_MOST, _MOST)
    return Track(path, signal.time_ns[good] / SECOND_NS, kept, columns)


def _rising(stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which stamps to keep so that they rise: the fewest are given up, before or after a leap."""
    forth = np.concatenate([[True], stamps[1:] > np.maximum.accumulate(stamps)[:-1]])
    ahead = np.minimum.accumulate(stamps[::-1])[::-1]
    back = np.concatenate([stamps[:-1] < ahead[1:], [True]])
    kept: NDArray[np.bool_] = forth if forth.sum() >= back.sum() else back
    return kept


def despiked(values: Array, samples: int = 5) -> Array:
    """Values (T,) without outliers that last less than half of `samples`."""
    return np.asarray(median_filter(values, samples), np.float64)


def noise_of(values: Array) -> float:
    """The spread of noise in values (T,), from how neighbours differ; never quite zero."""
    return max(1.0484 * float(np.median(np.abs(np.diff(values)))), 1e-12)


def runs(flags: NDArray[np.bool_], least: int, *, join: int = 0) -> list[tuple[int, int]]:
    """Half-open ranges where a flag is on for `least` samples; it may go off for up to `join`."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    found: list[tuple[int, int]] = []
    for first, stop in edges.reshape(-1, 2).tolist():
        if found and first - found[-1][1] <= join:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((first, stop))
    return [(first, stop) for first, stop in found if stop - first >= least]


def crossing_s(time_s: Array, values: Array, place: int, level: float) -> float:
    """When values cross a level between samples `place` - 1 and `place`, on a straight line."""
    if place <= 0:
        return float(time_s[0])
    if place >= len(values):
        return float(time_s[-1])
    before, after = values[place - 1], values[place]
    if before == after:
        return float(time_s[place])
    share = float(np.clip((level - before) / (after - before), 0.0, 1.0))
    return float(time_s[place - 1] + share * (time_s[place] - time_s[place - 1]))


def at_ns(time_s: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(time_s * SECOND_NS)
