"""Exact statistics of columns and pictures, from one pass over the data."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError

QUANTILES = (0.01, 0.10, 0.50, 0.90, 0.99)
NAMES = ("min", "max", "mean", "std", *(f"q{round(100 * share):02d}" for share in QUANTILES))
_LEVELS = 256
# Values that are put aside together when a column is too long for memory.
_SPILL_VALUES = 1 << 20

Values = NDArray[Any]
Floats = NDArray[np.float64]
Summary = dict[str, Floats]
"""What a column is like, by NAMES: each statistic has the shape of one row.

`std` is that of the population. An entry that is nowhere a number has NaN throughout.
"""


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """What merges from blocks without the values: each array has the shape of one row.

    `count` says how many values are numbers; `squares` is the sum of squared distances from `mean`.
    """

    count: NDArray[np.int64]
    mean: Floats
    squares: Floats
    min: Floats
    max: Floats

    @staticmethod
    def of(values: Values) -> ColumnMoments:
        """Of one block (T, ...); NaN is left out."""
        numbers = np.asarray(values, np.float64)
        known = ~np.isnan(numbers)
        count = known.sum(axis=0, dtype=np.int64)
        filled = np.where(known, numbers, 0.0)
        # Infinite values have an infinite mean, and no spread.
        with np.errstate(invalid="ignore"):
            mean = filled.sum(axis=0) / np.maximum(count, 1)
            apart = np.where(known, numbers - mean, 0.0)
            # What rounding left in the mean is taken out again.
            slip = apart.sum(axis=0) / np.maximum(count, 1)
            squares = np.square(apart - np.where(known, slip, 0.0)).sum(axis=0)
        low = np.where(known, numbers, np.inf).min(axis=0, initial=np.inf)
        high = np.where(known, numbers, -np.inf).max(axis=0, initial=-np.inf)
        return ColumnMoments(count, np.asarray(mean + slip), np.asarray(squares), low, high)

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        with np.errstate(invalid="ignore"):
            apart = other.mean - self.mean
            mean = self.mean + apart * share
            squares = self.squares + other.squares + np.square(apart) * self.count * share
        low, high = np.minimum(self.min, other.min), np.maximum(self.max, other.max)
        return ColumnMoments(count, mean, squares, low, high)

    @property
    def std(self) -> Floats:
        """The deviation of the population."""
        return np.asarray(np.sqrt(self.squares / np.maximum(self.count, 1)), np.float64)

    def summary(self, quantiles: Sequence[Floats]) -> Summary:
        """Together with what cannot be merged: the quantiles."""
        merged = (self.min, self.max, self.mean, self.std)
        known = (np.where(self.count == 0, np.nan, values) for values in merged)
        return dict(zip(NAMES, (*known, *quantiles), strict=True))


def merge_moments(blocks: Iterable[Mapping[str, Values]]) -> dict[str, ColumnMoments]:
    """The moments of columns by key, of which each block holds some rows."""
    moments: dict[str, ColumnMoments] = {}
    for block in blocks:
        for key, values in block.items():
            part = ColumnMoments.of(values)
            moments[key] = moments[key] + part if key in moments else part
    return moments


def summarise(values: Values) -> Summary:
    """All statistics of a column (T, ...); NaN is left out."""
    numbers = np.asarray(values, np.float64)
    if not len(numbers):
        raise EpisodeError("a column has no rows, so it has no statistics; expected at least one.")
    return ColumnMoments.of(numbers).summary(_quantiles(numbers))


def summarise_blocks(blocks: Iterable[Values], shape: Sequence[int]) -> Summary:
    """All statistics of a column that comes in blocks (rows, *shape), exact whatever its length."""
    with tempfile.TemporaryFile() as file:
        summary = BlockSummary(file, shape)
        for block in blocks:
            summary.add(block)
        return summary.result()


class BlockSummary:
    """The statistics of a column that comes in blocks (rows, *shape), exact whatever its length.

    Long columns go through the file, many rows at a time and turned, so that an entry lies
    in few pieces; memory holds one entry's values at a time.
    """

    def __init__(self, file: IO[bytes], shape: Sequence[int]) -> None:
        self._file, self._shape, self._width = file, tuple(shape), math.prod(shape)
        self._moments: ColumnMoments | None = None
        self._waiting: list[Floats] = []
        self._stored: list[int] = []

    def add(self, block: Values) -> None:
        """Take some rows."""
        if not len(block):
            return
        moments = ColumnMoments.of(block)
        self._moments = moments if self._moments is None else self._moments + moments
        self._waiting.append(np.asarray(block, np.float64).reshape(len(block), -1))
        rows = sum(map(len, self._waiting))
        if rows * self._width >= _SPILL_VALUES:
            self._file.write(np.ascontiguousarray(np.concatenate(self._waiting).T).tobytes())
            self._stored.append(rows)
            self._waiting = []

    def result(self) -> Summary:
        """The statistics of all rows; raises EpisodeError when there were none."""
        if self._moments is None:
            raise EpisodeError("a column has no rows, so it has no statistics; expected some.")
        entries = [_quantiles(self._entry(number)) for number in range(self._width)]
        quantiles = np.array(entries, np.float64).reshape(*self._shape, len(QUANTILES))
        return self._moments.summary(list(np.moveaxis(quantiles, -1, 0)))

    def _entry(self, number: int) -> Floats:
        parts = [part[:, number] for part in self._waiting]
        begin = 0
        for rows in self._stored:
            self._file.seek(8 * (begin * self._width + number * rows))
            parts.append(np.frombuffer(self._file.read(8 * rows), np.float64))
            begin += rows
        return np.concatenate(parts)


def _quantiles(values: Floats) -> Sequence[Floats]:
    """Those of every entry of (T, ...), between the two values nearest as numpy has it."""
    # Infinite neighbours have nothing between them.
    with np.errstate(invalid="ignore"):
        if not np.isnan(values).any():
            return list(np.quantile(values, QUANTILES, axis=0))
        flat = values.reshape(len(values), -1)
        quantiles = np.full((len(QUANTILES), flat.shape[1]), np.nan)
        for number, column in enumerate(flat.T):
            numbers = column[~np.isnan(column)]
            if len(numbers):
                quantiles[:, number] = np.quantile(numbers, QUANTILES)
    return list(quantiles.reshape(len(QUANTILES), *values.shape[1:]))


def summarise_histogram(counts: NDArray[np.int64]) -> Summary:
    """Of all pixels of some pictures, by channel (3, 1, 1): levels between 0 and 1.

    `counts` (3, 256) says how often each channel has each level.
    """
    if counts.shape != (3, _LEVELS) or (counts < 0).any() or not counts.sum(axis=1).all():
        raise EpisodeError(
            f"counts of levels have shape {counts.shape} and {int(counts.sum())} pixels; expected "
            f"three channels of {_LEVELS} levels with at least one pixel."
        )
    channels = np.array([_channel(channel.tolist()) for channel in counts])
    return dict(zip(NAMES, channels.T.reshape(-1, 3, 1, 1) / (_LEVELS - 1), strict=True))


def _channel(counts: list[int]) -> list[float]:
    """Lowest, highest, mean, deviation and quantiles of levels; Python's integers are exact."""
    total = sum(counts)
    first = sum(level * often for level, often in enumerate(counts))
    second = sum(level * level * often for level, often in enumerate(counts))
    present = [level for level, often in enumerate(counts) if often]
    spread = (total * second - first * first) / (total * total)
    ends = np.cumsum(counts)
    quantiles = []
    for share in QUANTILES:
        position = share * (total - 1)
        before, after = np.searchsorted(
            ends, [int(position), min(int(position) + 1, total - 1)], side="right"
        ).tolist()
        quantiles.append(before + (after - before) * (position - int(position)))
    return [present[0], present[-1], first / total, spread**0.5, *quantiles]
