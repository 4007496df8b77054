"""The extremes of a long stream at several widths, so that any part of it is drawn at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.studio.plotting.samples import SampleStamps


@dataclass(frozen=True)
class Blocks:
    """Runs of samples in order of time, (n,) and (n, columns); a single sample is a run too.

    `gap_ns` is the time since the sample before where that is too long for one period, else 0.
    `low` and `high` pass over NaN: they are NaN where a run holds nothing else.
    """

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    gap_ns: NDArray[np.int64]
    low: NDArray[np.floating[Any]]
    high: NDArray[np.floating[Any]]
    has_nan: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        stamps = self.start_ns.nbytes + self.end_ns.nbytes + self.gap_ns.nbytes
        return stamps + self.low.nbytes + self.high.nbytes + self.has_nan.nbytes

    def part(self, first: int, stop: int, columns: Sequence[int] | None = None) -> Blocks:
        """Some of the runs, and of the columns."""
        rows = slice(first, stop)
        low, high, has_nan = self.low[rows], self.high[rows], self.has_nan[rows]
        if columns is not None:
            chosen = list(columns)
            low, high, has_nan = low[:, chosen], high[:, chosen], has_nan[:, chosen]
        return Blocks(self.start_ns[rows], self.end_ns[rows], self.gap_ns[rows], low, high, has_nan)

    def between(self, start_ns: int, end_ns: int) -> tuple[int, int]:
        """The runs that touch a span, and one on either side, so that lines leave the picture."""
        first = int(np.searchsorted(self.end_ns, start_ns, side="left")) - 1
        stop = int(np.searchsorted(self.start_ns, end_ns, side="right")) + 1
        first = max(first, 0)
        return first, max(first, min(stop, len(self)))


def from_samples(
    time_ns: NDArray[np.int64], values: NDArray[np.floating[Any]], gap_ns: NDArray[np.int64]
) -> Blocks:
    """Samples (n, columns), each a run of its own."""
    return Blocks(time_ns, time_ns, gap_ns, values, values, np.isnan(values))


def join(parts: Sequence[Blocks]) -> Blocks:
    """Runs one after the other."""
    names = ("start_ns", "end_ns", "gap_ns", "low", "high", "has_nan")
    return Blocks(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def merge(blocks: Blocks, per: int, *, most_breaks: int) -> Blocks:
    """`per` runs made one, beginning anew after each of the `most_breaks` longest gaps."""
    if per <= 1 or not len(blocks):
        return blocks
    edges = _edges(blocks.gap_ns, per, most_breaks)
    stops = np.append(edges[1:], len(blocks))
    return Blocks(
        start_ns=blocks.start_ns[edges],
        end_ns=blocks.end_ns[stops - 1],
        gap_ns=blocks.gap_ns[edges],
        low=_reduced(np.fmin, blocks.low, edges, stops, per),
        high=_reduced(np.fmax, blocks.high, edges, stops, per),
        has_nan=_reduced(np.logical_or, blocks.has_nan, edges, stops, per),
    )


def _edges(gap_ns: NDArray[np.int64], per: int, most: int) -> NDArray[np.int64]:
    """Where the new runs begin: at every `per`-th run, and after gaps."""
    regular = np.arange(0, len(gap_ns), per)
    breaks = np.flatnonzero(gap_ns)
    if len(breaks) > most:
        longest = np.argpartition(gap_ns[breaks], len(breaks) - most)[len(breaks) - most :]
        breaks = breaks[longest]
    return np.union1d(regular, breaks).astype(np.int64)


def _reduced(
    reduce: np.ufunc,
    values: NDArray[Any],
    edges: NDArray[np.int64],
    stops: NDArray[np.int64],
    per: int,
) -> NDArray[Any]:
    """One row for each of [edge, stop); all of full length at once, the others one by one."""
    found = np.empty((len(edges), *values.shape[1:]), values.dtype)
    if values.dtype == np.bool_ and not values.any():
        found[:] = False
        return found
    full = len(values) // per
    whole = stops - edges == per
    if full:
        regular = _folded(reduce, values[: full * per].reshape(full, per, *values.shape[1:]))
        found[whole] = regular[edges[whole] // per]
    for place in np.flatnonzero(~whole).tolist():
        found[place] = reduce.reduce(values[edges[place] : stops[place]], axis=0)
    return found


def _folded(reduce: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
    """Axis 1 reduced by halves laid on each other: long rows, four times as fast as `reduce`."""
    while values.shape[1] > 1:
        half = values.shape[1] // 2
        folded = reduce(values[:, :half], values[:, half : 2 * half])
        if values.shape[1] % 2:
            folded[:, 0] = reduce(folded[:, 0], values[:, -1])
        values = folded
    found: NDArray[Any] = values[:, 0]
    return found


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
