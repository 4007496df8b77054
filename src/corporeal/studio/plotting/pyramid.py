"""The extremes of a long stream at several widths, so that any part of it is drawn at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.studio.plotting.envelope import Blocks, from_samples, join, merge
from corporeal.studio.plotting.stamps import SampleStamps

MOST_BYTES = 1 << 27
"""Of the finest level; longer streams have wider blocks."""
_FINEST = 64
_STEP = 16
_TOP = 4096

ReadRows = Callable[[int, int], NDArray[np.floating[Any]]]
"""Samples `first` to `stop` as (n, columns)."""


@dataclass(frozen=True)
class Pyramid:
    """Levels from fine to coarse; `block` is how many samples a run of the finest holds."""

    block: int
    levels: tuple[Blocks, ...]

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(level.nbytes for level in self.levels)

    def level(self, start_ns: int, end_ns: int, points: int) -> tuple[Blocks, int, int]:
        """The coarsest level that still has `points` runs in a span, and which they are."""
        chosen = self.levels[0]
        first, stop = chosen.between(start_ns, end_ns)
        for level in self.levels[1:]:
            begin, end = level.between(start_ns, end_ns)
            if end - begin < points:
                break
            chosen, first, stop = level, begin, end
        return chosen, first, stop


def block_size(samples: int, columns: int, itemsize: int) -> int:
    """Samples in a run, such that the finest level keeps within `MOST_BYTES`."""
    block = _FINEST
    # Twice as many runs when there are as many gaps; low, high and a flag for each value.
    while 2 * (samples // block + 1) * (columns * (2 * itemsize + 1) + 24) > MOST_BYTES:
        block *= 2
    return block


def build(
    stamps: SampleStamps, read: ReadRows, *, columns: int, itemsize: int, rows: int
) -> Pyramid:
    """Read a stream once, about `rows` samples at a time."""
    block = block_size(len(stamps), columns, itemsize)
    levels = [read_blocks(stamps, read, (0, len(stamps)), per=block, rows=rows)]
    while len(levels[-1]) > _TOP:
        finer = levels[-1]
        levels.append(merge(finer, _STEP, most_breaks=len(finer) // _STEP))
    return Pyramid(block, tuple(levels))


def read_blocks(
    stamps: SampleStamps, read: ReadRows, span: tuple[int, int], *, per: int, rows: int
) -> Blocks:
    """The samples of a span, `per` in a run, with no more than about `rows` in memory."""
    first, stop = span
    piece = max(per, rows // per * per)
    parts = []
    for begin in range(first, max(stop, first + 1), piece):
        end = min(begin + piece, stop)
        samples = from_samples(stamps.time_ns[begin:end], read(begin, end), stamps.gaps(begin, end))
        parts.append(merge(samples, per, most_breaks=max(1, (end - begin) // per)))
    return join(parts)


_PLACES = 512
_RUN = 32


def glimpse(stamps: SampleStamps, read: ReadRows, span: tuple[int, int]) -> Blocks:
    """The extremes of `_RUN` samples at each of `_PLACES` places of a span of samples.

    What lies between the places is not looked at: a peak there is missing, a long gap is not.
    """
    first, stop = span
    last = max(stop - _RUN, first)
    places = np.unique(np.linspace(first, last, _PLACES).astype(np.int64))
    parts = [read(int(place), int(min(place + _RUN, stop))) for place in places]
    return Blocks(
        start_ns=stamps.time_ns[places],
        end_ns=stamps.time_ns[np.minimum(places + _RUN, stop) - 1],
        gap_ns=_gaps(stamps, places),
        low=np.stack([np.fmin.reduce(part, axis=0) for part in parts]),
        high=np.stack([np.fmax.reduce(part, axis=0) for part in parts]),
        has_nan=np.stack([np.isnan(part).any(axis=0) for part in parts]),
    )


def _gaps(stamps: SampleStamps, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The time before each place where it is longer than its samples take, by a gap or more."""
    found = np.zeros(len(places), np.int64)
    if stamps.gap_ns and len(places) > 1:
        waits, samples = np.diff(stamps.time_ns[places]), np.diff(places)
        usual = np.median(waits / samples)
        found[1:] = np.where(waits - samples * usual > stamps.gap_ns, waits, 0)
    return found
