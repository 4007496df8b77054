"""A signal as numbers: values of one stream over its own time, with names for its columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.episode.recording import Signal
from corporeal.errors import NotAssessed
from corporeal.schema import Stream
from corporeal.units import SECOND_NS

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Track:
    """One stream as float64 (T, D); values that the stream lacks are NaN.

    `label` is what the source calls it, and what findings name.
    """

    label: str
    spec: Stream
    time_ns: NDArray[np.int64]
    values: Array
    columns: tuple[str, ...] = ()
    """Names of the columns where they are not those of the stream."""

    def __len__(self) -> int:
        return len(self.time_ns)

    @cached_property
    def seconds(self) -> Array:
        """Time of every sample in seconds from the episode's epoch."""
        return self.time_ns / SECOND_NS

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for every column."""
        named = self.columns or self.spec.components
        width = self.values.shape[1]
        if isinstance(named, tuple) and len(named) == width:
            return named
        return tuple(f"{number}" for number in range(width))

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The unit of every column."""
        unit = self.spec.unit
        return unit if isinstance(unit, tuple) else (unit,) * self.values.shape[1]

    @cached_property
    def period_s(self) -> float:
        """The median step between samples."""
        if len(self) < 2:
            raise NotAssessed(f"{self.label} has {len(self)} samples")
        steps = np.diff(self.seconds)
        return float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0

    @cached_property
    def rate(self) -> Array:
        """Rate of change (T, D) by central differences, per second; zero where time stands."""
        if len(self) < 3:
            raise NotAssessed(f"{self.label} has {len(self)} samples")
        step = np.diff(self.seconds)
        step = np.where(step > 0, step, np.inf)
        slope = np.diff(self.values, axis=0) / step[:, None]
        middle = (slope[1:] + slope[:-1]) / 2
        return np.concatenate((slope[:1], middle, slope[-1:]))

    def at(self, time_ns: NDArray[np.int64]) -> Array:
        """Values (N, D) at other times, by linear interpolation; the ends are held."""
        if not len(self):
            raise NotAssessed(f"{self.label} has no samples")
        when = time_ns / SECOND_NS
        order = np.argsort(self.seconds, kind="stable")
        known = self.seconds[order]
        right = np.clip(np.searchsorted(known, when), 1, max(1, len(known) - 1))
        left = right - 1
        right = np.minimum(right, len(known) - 1)
        width = known[right] - known[left]
        share = np.clip((when - known[left]) / np.where(width > 0, width, 1.0), 0.0, 1.0)
        values = self.values[order]
        with np.errstate(invalid="ignore"):  # Between two infinities there is no number.
            between: Array = values[left] + share[:, None] * (values[right] - values[left])
        return between

    def select(self, columns: Sequence[int]) -> Track:
        """These columns of it, under their names."""
        names = tuple(self.names[column] for column in columns)
        return replace(self, values=self.values[:, list(columns)], columns=names)

    def smooth(self, seconds: float) -> Track:
        """The same with a Gaussian of this width over it, which moves no edge."""
        width = seconds / max(self.period_s, 1e-6)
        return replace(self, values=scipy.ndimage.gaussian_filter1d(self.values, width, axis=0))

    def speed(self, seconds: float) -> Array:
        """How fast all columns change together (T,), smoothed before it is taken."""
        smooth = self.smooth(seconds).values
        speed: Array = np.linalg.norm(np.gradient(smooth, self.seconds, axis=0), axis=1)
        return speed


def track_of(label: str, signal: Signal) -> Track:
    """The whole signal as numbers; a sample with several axes is laid flat."""
    values = np.asarray(signal[:], np.float64)
    stamps = np.asarray(signal.time_ns)
    width = math.prod(values.shape[1:])
    return Track(label, signal.spec, stamps, values.reshape(len(stamps), width))
