"""The columns of a stream as lines of a plot: its own entries, or what sums up a whole map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file import StreamReader
from corporeal.errors import CorporealError
from corporeal.schema import Stream

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
    size = _size(spec)
    return size > MOST_LINES or (len(spec.shape) > 1 and size > _MOST_OF_MAP)


def columns_of(spec: Stream) -> tuple[PlotColumn, ...]:
    """The lines that a stream offers."""
    if is_summed(spec):
        unit = spec.unit if isinstance(spec.unit, str) else "1"
        return PlotColumn("sum", unit), PlotColumn("max", unit)
    shape = tuple(int(size) for size in spec.shape)
    last = shape[-1] if shape else 1
    named = spec.components if isinstance(spec.components, tuple) else None
    names = []
    for place in np.ndindex(*shape):
        if not shape:
            names.append(spec.name)
        elif named is None:
            names.append(",".join(map(str, place)))
        else:
            names.append(",".join([*map(str, place[:-1]), named[place[-1]]]))
    units = [spec.unit] * last if isinstance(spec.unit, str) else list(spec.unit)
    return tuple(PlotColumn(name, units[number % last]) for number, name in enumerate(names))


def rows_within(spec: Stream, nbytes: int) -> int:
    """Samples that take `nbytes` at most, in whole numbers from 1 on."""
    row = max(_size(spec) * np.dtype(spec.dtype).itemsize, 1)
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
    rows = values.reshape(len(values), _size(spec))
    if not is_summed(spec):
        return rows.astype(value_type(spec))
    with np.errstate(all="ignore"):
        found = np.empty((len(rows), 2), np.float64)
        found[:, 0] = rows.sum(axis=1, dtype=np.float64)
        found[:, 1] = rows.max(axis=1)
    return found


def _size(spec: Stream) -> int:
    return math.prod(int(size) for size in spec.shape)
