"""How much moves in a stream at each instant: one curve, whatever the stream measures."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file import StreamReader
from corporeal.geometry import Array
from corporeal.units import SECOND_NS

# Pictures are averaged to about this many cells across: motion stays, grain goes.
_CELLS = 80
# Directions in which a laser's ranges are compared from one scan to the next.
_SECTORS = 120

Order = Literal["speed", "force", "sight"]
"""Whether a curve follows how fast joints turn, how hard something is pushed, or what is seen."""
Moments = NDArray[np.int64]


@dataclass(frozen=True)
class MotionSpan:
    """A piece of the recording: at rest from `begin_s` to `rest_s`, watched until `end_s`."""

    begin_s: float
    rest_s: float
    end_s: float


@dataclass(frozen=True, eq=False)
class Energy:
    """A curve of motion: `value` (N,) holds between `begin_s` and `end_s` (N,), both included.

    A stream of forces has points, where the two are equal; a stream of positions or pictures has
    intervals between two samples.
    """

    begin_s: Array
    end_s: Array
    value: Array
    order: Order

    @property
    def time_s(self) -> Array:
        """The middle of each interval (N,)."""
        return (self.begin_s + self.end_s) / 2


def is_measurable(reader: StreamReader) -> bool:
    """Whether motion can show in a stream: text has none, and a command comes before the motion."""
    return reader.spec.kind != "text" and reader.spec.group != "actions" and len(reader) > 3


def measure(reader: StreamReader, spans: list[MotionSpan]) -> Energy:
    """The energy of a stream inside some spans of time; nothing outside of them is decoded."""
    pieces = [_piece(reader, span) for span in spans]
    return Energy(
        np.concatenate([piece.begin_s for piece in pieces]),
        np.concatenate([piece.end_s for piece in pieces]),
        np.concatenate([piece.value for piece in pieces]),
        pieces[0].order,
    )


def _piece(reader: StreamReader, span: MotionSpan) -> Energy:
    stamps = reader.time_ns / SECOND_NS
    numbers = np.flatnonzero((stamps >= span.begin_s) & (stamps <= span.end_s))
    time_s = stamps[numbers]
    if reader.spec.kind == "array":
        return _signal_energy(reader, numbers, time_s, span.rest_s)
    # In our files every second picture is a key frame: unlike kinds differ without any motion.
    apart = 2 if reader.spec.kind == "video" else 1
    value = _changes(reader, numbers, _SHRINK[reader.spec.kind], apart)
    return Energy(time_s[:-apart], time_s[apart:], value, "sight")


def _signal_energy(reader: StreamReader, numbers: Moments, time_s: Array, rest_s: float) -> Energy:
    """Speed from positions and velocities; deviation from rest from forces and accelerations."""
    width = math.prod(int(size) for size in reader.spec.shape)
    values = np.asarray(reader[numbers], np.float64).reshape(len(numbers), width)
    order, columns, is_rate = _what_it_measures(reader, width)
    columns &= np.isfinite(values).all(axis=0)
    units = _units(reader, width)[columns]
    values = values[:, columns]
    if is_rate:
        at_rest = time_s <= rest_s
        still = values[at_rest] if at_rest.any() else values
        # A stream may have nothing at all about an event: its sensor was unplugged.
        middle = np.median(still, axis=0) if len(still) else 0.0
        size = np.linalg.norm(_scaled(values - middle, units, at_rest), axis=1)
        return Energy(time_s, time_s, size, order)
    step_s = np.diff(time_s)
    rate = np.diff(values, axis=0) / np.where(step_s > 0, step_s, np.inf)[:, None]
    size = np.linalg.norm(_scaled(rate, units, time_s[1:] <= rest_s), axis=1)
    return Energy(time_s[:-1], time_s[1:], size, order)


def _scaled(values: Array, units: NDArray[np.str_], at_rest: NDArray[np.bool_]) -> Array:
    """Columns (N, C) in units of their noise at rest, those of one unit alike."""
    still = values[at_rest] if at_rest.any() else values
    if not still.size:
        return values
    noise = np.sqrt(np.mean((still - np.median(still, axis=0)) ** 2, axis=0))
    scale = np.ones(values.shape[1])
    for unit in set(units.tolist()):
        alike = units == unit
        scale[alike] = np.sqrt(np.mean(noise[alike] ** 2))
    scaled: Array = values / np.where(scale > 0, scale, 1.0)
    return scaled


def _units(reader: StreamReader, width: int) -> NDArray[np.str_]:
    """The unit of every value of a sample (W,)."""
    unit = reader.spec.unit
    return np.resize(np.array(unit if isinstance(unit, tuple) else (unit,)), width)


def _what_it_measures(reader: StreamReader, width: int) -> tuple[Order, NDArray[np.bool_], bool]:
    """(speed or force, the columns that show it, whether a value shows it without differences)."""
    units = _units(reader, width)
    force = np.isin(units, ("m/s2", "N", "N m", "Pa"))
    if force.any():
        return "force", force, True
    rate = np.isin(units, ("rad/s", "m/s"))
    return "speed", rate if rate.any() else np.ones(width, bool), bool(rate.any())


def _changes(
    reader: StreamReader, numbers: Moments, shrink: Callable[[NDArray[Any]], Array], apart: int
) -> Array:
    """Mean absolute difference of each sample to the one that comes `apart` later."""
    small: deque[Array] = deque(maxlen=apart + 1)
    value = []
    for number in numbers.tolist():
        small.append(shrink(reader[number]))
        if len(small) > apart:
            change = np.abs(small[-1] - small[0])
            seen = np.isfinite(change)
            value.append(float(change[seen].mean()) if seen.any() else 0.0)
    return np.array(value)


def _grey(picture: NDArray[Any]) -> Array:
    return _small(picture.mean(axis=2))


def _nearness(depth_mm: NDArray[Any]) -> Array:
    """Inverse distance, so that the far wall's noise counts little; a hole is far away."""
    return _small(np.where(depth_mm > 0, 1e3 / np.maximum(depth_mm, 1), 0.0))


def _small(picture: Array) -> Array:
    side = max(1, picture.shape[1] // _CELLS)
    height, width = (size // side * side for size in picture.shape)
    cells = picture[:height, :width].reshape(height // side, side, width // side, side)
    small: Array = cells.mean(axis=(1, 3))
    return small


def _ranges(points: NDArray[Any]) -> Array:
    """Mean distance (S,) in each sector of direction about the sensor, NaN where nothing is."""
    place = np.asarray(points, np.float64)[:, :3]
    sector = ((np.arctan2(place[:, 1], place[:, 0]) / (2 * np.pi) + 0.5) * _SECTORS).astype(int)
    sector = np.clip(sector, 0, _SECTORS - 1)
    total = np.bincount(sector, np.linalg.norm(place, axis=1), _SECTORS)
    number = np.bincount(sector, minlength=_SECTORS)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


_SHRINK: dict[str, Callable[[NDArray[Any]], Array]] = {
    "video": _grey,
    "depth": _nearness,
    "points": _ranges,
}
