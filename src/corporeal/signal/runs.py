"""Runs of samples: where a flag is on, where a value repeats, when a level is crossed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def runs(flags: ArrayLike, *, gap: int = 0, least: int = 1) -> tuple[tuple[int, int], ...]:
    """Half-open ranges of at least `least` samples where a flag is on.

    Ranges with at most `gap` samples between them count as one.
    """
    mask = np.asarray(flags, bool)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    ranges: list[tuple[int, int]] = []
    for first, stop in edges.reshape(-1, 2).tolist():
        if ranges and first - ranges[-1][1] <= gap:
            ranges[-1] = (ranges[-1][0], stop)
        else:
            ranges.append((first, stop))
    return tuple((first, stop) for first, stop in ranges if stop - first >= least)


def lasting_runs(
    flags: ArrayLike, seconds: Array, least_s: float, *, gap: int = 0, edge_s: float = 0.0
) -> tuple[tuple[int, int], ...]:
    """Those ranges that last `least_s`, of which `edge_s` may lie beyond their first and last."""
    return tuple(
        (first, stop)
        for first, stop in runs(flags, gap=gap)
        if seconds[stop - 1] - seconds[first] + edge_s >= least_s
    )


def flags_of(ranges: Iterable[tuple[int, int]], count: int) -> Flags:
    """Flags (count,) that are on within the ranges."""
    flags = np.zeros(count, bool)
    for first, stop in ranges:
        flags[first:stop] = True
    return flags


def keep_lasting(flags: Flags, least: int) -> Flags:
    """The flags with every run of fewer than `least` samples switched off."""
    return flags_of(runs(flags, least=least), len(flags))


def longest_repeats(values: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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


def crossing_s(time_s: Array, values: Array, sample: int, level: float) -> float:
    """When values cross a level between `sample` - 1 and `sample`, on a straight line."""
    if sample <= 0:
        return float(time_s[0])
    if sample >= len(values):
        return float(time_s[-1])
    before, after = values[sample - 1], values[sample]
    if before == after:
        return float(time_s[sample])
    share = float(np.clip((level - before) / (after - before), 0.0, 1.0))
    return float(time_s[sample - 1] + share * (time_s[sample] - time_s[sample - 1]))
