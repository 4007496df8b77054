"""The extremes of a long stream at several widths, so that any part of it is drawn at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.studio.signal.envelope import Blocks, from_samples, join, merge
from corporeal.studio.signal.stamps import Stamps

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


def build(stamps: Stamps, read: ReadRows, *, columns: int, itemsize: int, rows: int) -> Pyramid:
    """Read a stream once, about `rows` samples at a time."""
    block = block_size(len(stamps), columns, itemsize)
    levels = [read_blocks(stamps, read, (0, len(stamps)), per=block, rows=rows)]
    while len(levels[-1]) > _TOP:
        finer = levels[-1]
        levels.append(merge(finer, _STEP, most_breaks=len(finer) // _STEP))
    return Pyramid(block, tuple(levels))


def read_blocks(
    stamps: Stamps, read: ReadRows, span: tuple[int, int], *, per: int, rows: int
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
