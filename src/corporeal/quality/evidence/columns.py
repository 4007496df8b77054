"""Columns of numbers: holes bridged, words for their names, noise and exact repeats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from corporeal.quality.finding import MAX_EVIDENCE
from corporeal.quality.track import Array, Track

# Columns that hold less than this many samples say nothing about their noise.
FEW = 8


def bridged(values: Array) -> Array:
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


def runs(values: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Longest run of exactly equal samples in each column: its start and its length in samples."""
    width = values.shape[1]
    if len(values) < 2:
        return np.zeros(width, np.int64), np.full(width, len(values), np.int64)
    same = values[1:] == values[:-1]
    # Position of the last change before each sample, hence the length of the run that ends there.
    steps = np.arange(1, len(values))[:, None]
    changed = np.maximum.accumulate(np.where(same, 0, steps), axis=0)
    length = np.where(same, steps - changed + 1, 1)
    stop = length.argmax(axis=0)
    longest = length[stop, np.arange(width)]
    return stop + 2 - longest, longest


def thinned(track: Track, first: int, stop: int, columns: Sequence[int]) -> dict[str, Array]:
    """Evidence to draw: the columns between two samples, with the time, at most 400 values each."""
    step = max(1, -(-(stop - first) // (MAX_EVIDENCE // 2)))
    window = slice(first, stop, step)
    curves = {track.names[column]: track.values[window, column] for column in columns}
    return {"time_s": track.seconds[window], **curves}


def around(track: Track, first: int, stop: int, *, margin: int = 60) -> tuple[int, int]:
    """The samples from somewhat before to somewhat after, for a drawing."""
    return max(0, first - margin), min(len(track), stop + margin)
