"""Filters that move no edge: low-pass, moving mean, outliers taken out; and what noise is left."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]


def low_pass(values: Array, rate_hz: float, cutoff_hz: float) -> Array:
    """Values (T, D) without what is faster than the cut-off, forward and back: no delay."""
    sections = scipy.signal.butter(2, cutoff_hz, fs=rate_hz, output="sos")
    room = min(len(values) - 1, int(rate_hz))
    return np.asarray(scipy.signal.sosfiltfilt(sections, values, axis=0, padlen=room), np.float64)


def moving_mean(values: Array, samples: int) -> Array:
    """Values (T,) each as the mean of `samples` around it; the ends are held."""
    ends = np.pad(values, (samples // 2, samples - 1 - samples // 2), mode="edge")
    return np.convolve(ends, np.ones(samples) / samples, "valid")


def despike(values: Array, samples: int = 5) -> Array:
    """Values (T,) without outliers that last less than half of `samples`."""
    return np.asarray(scipy.ndimage.median_filter(values, samples), np.float64)


def estimate_noise(values: Array) -> float:
    """The spread of noise in values (T,), from how neighbours differ; never quite zero."""
    return max(1.0484 * float(np.median(np.abs(np.diff(values)))), 1e-12)
