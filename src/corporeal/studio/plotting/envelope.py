"""What a plot shows of more samples than it has places for: their extremes, holes left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
