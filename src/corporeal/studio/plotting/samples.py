"""A stream as plots and the robot read it: the lines it has, when its samples are, some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file import StreamReader
from corporeal.errors import CorporealError
from corporeal.schema import Stream
from corporeal.units import SECOND_NS

MOST_LINES = 256
"""Entries of a sample that are shown one by one."""
_MOST_OF_MAP = 64
_MOST_SAMPLE_BYTES = 1 << 26
_EXACT_IN_FLOAT32 = ("float32", "int16", "int8", "uint16", "uint8", "bool")


@dataclass(frozen=True)
class PlotColumn:
    """One line of a plot."""

    name: str
    unit: str


def is_summed(spec: Stream) -> bool:
    """Whether a sample is a map (a tactile sensor) or too wide to be shown entry by entry."""
    return spec.width > MOST_LINES or (len(spec.shape) > 1 and spec.width > _MOST_OF_MAP)


def columns_of(spec: Stream) -> tuple[PlotColumn, ...]:
    """The lines that a stream offers."""
    if is_summed(spec):
        unit = spec.unit if isinstance(spec.unit, str) else "1"
        return PlotColumn("sum", unit), PlotColumn("max", unit)
    if not spec.shape:
        return (PlotColumn(spec.name, spec.units[0]),)
    last = spec.names or tuple(map(str, range(spec.sizes[-1])))
    return tuple(
        PlotColumn(",".join([*map(str, index[:-1]), last[index[-1]]]), spec.units[index[-1]])
        for index in np.ndindex(*spec.sizes)
    )


def rows_within(spec: Stream, nbytes: int) -> int:
    """Samples that take `nbytes` at most, in whole numbers from 1 on."""
    row = max(spec.width * np.dtype(spec.dtype).itemsize, 1)
    if row > _MOST_SAMPLE_BYTES:
        raise CorporealError(
            f"{spec.path}: one sample takes {row / 1e6:.0f} MB; "
            f"expected at most {_MOST_SAMPLE_BYTES / 1e6:.0f} MB to be plotted."
        )
    return max(1, nbytes // row)


def value_type(spec: Stream) -> type[np.floating[Any]]:
    """The float that holds every value of a stream exactly, or as nearly as a page can."""
    exact = spec.dtype in _EXACT_IN_FLOAT32 and not is_summed(spec)
    return np.float32 if exact else np.float64


def read_columns(reader: StreamReader, first: int, stop: int) -> NDArray[np.floating[Any]]:
    """Samples as (n, columns); the caller keeps n within bounds."""
    spec = reader.spec
    values = np.asarray(reader[first:stop])
    rows = values.reshape(len(values), spec.width)
    if not is_summed(spec):
        return rows.astype(value_type(spec))
    with np.errstate(all="ignore"):
        found = np.empty((len(rows), 2), np.float64)
        found[:, 0] = rows.sum(axis=1, dtype=np.float64)
        found[:, 1] = rows.max(axis=1)
    return found


GAP_PERIODS = 1.5
"""A longer wait than this is drawn as a hole."""
_PIECE = 1 << 20
_MOST_LOOKED_AT = 1 << 16


@dataclass(frozen=True)
class SampleStamps:
    """Stamps that never fall: one that went backwards stands at the latest before it.

    So samples keep the order in which they were recorded, and a search finds them; `backward`
    and `repeated` count the stamps that broke the rule. `gap_ns` is the longest wait that is no
    gap, 0 for a stream without a rate.
    """

    time_ns: NDArray[np.int64]
    backward: int
    repeated: int
    gap_ns: int

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.time_ns.nbytes

    def __len__(self) -> int:
        return len(self.time_ns)

    def last_before(self, time_ns: int) -> int:
        """The number of the last sample that is not after this time; -1 before the first."""
        return int(np.searchsorted(self.time_ns, time_ns, side="right")) - 1

    def gaps(self, first: int, stop: int) -> NDArray[np.int64]:
        """For each sample the time since the one before where it is a gap, else 0."""
        begin = max(first - 1, 0)
        waits = np.diff(self.time_ns[begin:stop])
        if first == 0:
            waits = np.concatenate([np.zeros(min(stop, 1), np.int64), waits])
        if not self.gap_ns:
            return np.zeros(len(waits), np.int64)
        return np.where(waits > self.gap_ns, waits, 0)


def read_stamps(given: NDArray[np.int64], rate_hz: float | None) -> SampleStamps:
    """Stamps as a stream has them, looked through in pieces."""
    backward = repeated = 0
    latest = given[0] if len(given) else np.int64(0)
    for first in range(0, len(given), _PIECE):
        piece = given[max(first - 1, 0) : first + _PIECE]
        highest = np.maximum.accumulate(np.maximum(piece, latest))
        backward += int((piece[1:] < highest[:-1]).sum())
        repeated += int((piece[1:] == piece[:-1]).sum())
        latest = highest[-1]
    rising = np.maximum.accumulate(given) if backward else given
    return SampleStamps(rising, backward, repeated, _longest_wait_ns(rising, rate_hz))


def _longest_wait_ns(rising: NDArray[np.int64], rate_hz: float | None) -> int:
    """By the stated rate, or by the real one where that is slower: else all would be gaps."""
    if rate_hz is None or len(rising) < 2:
        return 0
    step = max(1, len(rising) // _MOST_LOOKED_AT)
    places = np.arange(1, len(rising), step)
    usual = float(np.median(rising[places] - rising[places - 1]))
    return round(GAP_PERIODS * max(SECOND_NS / rate_hz, usual))


@dataclass(frozen=True, eq=False)
class SampleWindow:
    """Samples from number `first` on; `next_ns` is the time of the first one left out, if any."""

    first: int
    total: int
    time_ns: NDArray[np.int64]
    values: NDArray[Any]
    next_ns: int | None


def samples_between(
    reader: StreamReader, start_ns: int, end_ns: int, *, most_values: int
) -> SampleWindow:
    """From the last sample not after `start_ns` to the last not after `end_ns`, rows flat.

    At least two samples are given where there are two, so that whoever goes on from `next_ns`
    gets on.
    """
    # A recording may hold stamps that fall back; the search needs them to rise.
    rising = np.maximum.accumulate(reader.time_ns) if len(reader) else reader.time_ns
    first = max(int(np.searchsorted(rising, start_ns, "right")) - 1, 0)
    stop = max(int(np.searchsorted(rising, end_ns, "right")), first)
    width = reader.spec.width
    kept = min(stop, first + max(most_values // max(width, 1), 2))
    values = np.asarray(reader[first:kept]).reshape(kept - first, width)
    next_ns = int(rising[kept]) if kept < stop else None
    return SampleWindow(first, len(rising), rising[first:kept], values, next_ns)
