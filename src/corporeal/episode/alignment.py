"""Puts streams of different rates on one grid, and says how old and how sure every value is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.geometry import slerp
from corporeal.schema import Stream
from corporeal.schema.stream import Method
from corporeal.units import SECOND_NS

MAX_ROWS = 1 << 28

Times = NDArray[np.int64]


class TimedStream(Protocol):
    """What alignment needs of a stream."""

    @property
    def spec(self) -> Stream:
        """What the stream is."""

    @property
    def time_ns(self) -> Times:
        """Its stamps."""

    def __getitem__(self, selection: Any) -> Any:
        """Its samples."""

    def __len__(self) -> int: ...


@dataclass(frozen=True)
class AlignedColumn:
    """One stream on the grid of T rows.

    `values` is (T, ...) for numbers, with NaN (or 0 for whole numbers) where `valid` is False,
    and None for pictures, points and text: take `stream[column.index]` when you need them.
    `index` is the sample each row rests on, -1 for none. `age_ns` is grid time minus that
    sample's stamp: negative for a nearest sample that lies ahead.
    """

    method: Method
    values: NDArray[Any] | None
    index: NDArray[np.int64]
    age_ns: NDArray[np.int64]
    valid: NDArray[np.bool_]
    extrapolated: NDArray[np.bool_]


@dataclass(frozen=True)
class Aligned:
    """Streams on one grid. `skew_ns` is, for each row, how far apart in time its values are."""

    time_ns: Times
    columns: dict[str, AlignedColumn]
    skew_ns: NDArray[np.int64]

    def __getitem__(self, path: str) -> NDArray[Any]:
        """The values of a numeric stream (T, ...)."""
        values = self.column(path).values
        if values is None:
            raise EpisodeError(
                f"{path} has no numbers; take the samples at column({path!r}).index."
            )
        return values

    def __len__(self) -> int:
        return len(self.time_ns)

    def column(self, path: str) -> AlignedColumn:
        """Everything known about one stream on the grid."""
        if path not in self.columns:
            raise UnknownNameError("aligned stream", path, self.columns)
        return self.columns[path]

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Rows in which every stream has a value that was not extrapolated."""
        whole = np.ones(len(self), bool)
        for column in self.columns.values():
            whole &= column.valid & ~column.extrapolated
        return whole


def align(
    streams: Mapping[str, TimedStream],
    rate_hz: float,
    *,
    methods: Mapping[str, Method] | None = None,
    span_ns: tuple[int, int] | None = None,
    gap_periods: float = 2.5,
) -> Aligned:
    """Sample every stream at `rate_hz`, by default over the time in which all of them have data.

    Commands are held, positions interpolated linearly, rotations by slerp, pictures taken from
    the nearest frame; `methods` overrides this per stream. Two neighbours further apart than
    `gap_periods` periods of their stream are a gap: no value is made up inside it. Before the
    first and after the last sample a value is repeated for one period and marked extrapolated.
    """
    if not (rate_hz > 0 and np.isfinite(rate_hz)):
        raise EpisodeError(f"rate, got {rate_hz}; expected a positive number of Hz.")
    _check_streams(streams, methods)
    begin, end = _common_span(streams) if span_ns is None else span_ns
    grid = _grid(begin, end, rate_hz)
    return _aligned(streams, grid, methods=methods, gap_periods=gap_periods)


def align_to(
    streams: Mapping[str, TimedStream],
    grid_ns: Times,
    *,
    methods: Mapping[str, Method] | None = None,
    gap_periods: float = 2.5,
) -> Aligned:
    """Sample every stream at given times, which must not decrease; else as `align`."""
    _check_streams(streams, methods)
    if not len(grid_ns) or (np.diff(grid_ns) < 0).any():
        raise EpisodeError("grid, got times that are none or decrease; expected rising ones.")
    return _aligned(streams, grid_ns, methods=methods, gap_periods=gap_periods)


def _aligned(
    streams: Mapping[str, TimedStream],
    grid: Times,
    *,
    methods: Mapping[str, Method] | None,
    gap_periods: float,
) -> Aligned:
    columns = {
        path: _align_one(path, series, grid, (methods or {}).get(path), gap_periods)
        for path, series in streams.items()
    }
    # An instruction given ten seconds ago is in force, not late.
    clocked = [columns[path] for path in streams if streams[path].spec.rate_hz is not None]
    return Aligned(grid, columns, _skew(clocked, len(grid)))


def _check_streams(
    streams: Mapping[str, TimedStream], methods: Mapping[str, Method] | None
) -> None:
    if not streams:
        raise EpisodeError("no stream to align; expected at least one.")
    for path in methods or {}:
        if path not in streams:
            raise UnknownNameError("stream", path, streams)
    for path, series in streams.items():
        _check_clock(path, series)


def _align_one(
    path: str, series: TimedStream, grid: Times, method: Method | None, gap_periods: float
) -> AlignedColumn:
    spec = series.spec
    method = method or spec.method
    time = series.time_ns
    smooth = method in ("linear", "slerp")
    if smooth and (spec.kind != "array" or not spec.dtype.startswith("float")):
        raise EpisodeError(f"{path}: {method} needs floating-point numbers, got {spec.kind} of "
                           f"{spec.dtype}; expected hold or nearest.")  # fmt: skip
    if method == "slerp" and spec.quaternion_columns is None:
        raise EpisodeError(f"{path}: slerp needs components named qw qx qy qz.")
    # Events have no period: the last one stays in force until the next.
    period_ns = _period_ns(spec, time)
    reach_ns = None if period_ns is None else gap_periods * period_ns
    before = np.searchsorted(time, grid, side="right") - 1
    low = np.maximum(before, 0)
    # A row right on a sample rests on that alone, whatever comes after it.
    high = np.where(time[low] == grid, low, np.minimum(before + 1, len(time) - 1))
    age_low, age_high = grid - time[low], time[high] - grid
    outside = (before < 0) | (grid > time[-1])
    if method == "hold":
        index, valid = low, before >= 0
    else:
        index = np.where((age_high < age_low) | (before < 0), high, low)
        valid = np.ones(len(grid), bool)
    age = grid - time[index]
    if reach_ns is not None and period_ns is not None:
        in_gap = time[high] - time[low] > reach_ns
        near = np.abs(age) <= period_ns / 2 if method == "nearest" else age == 0
        inside = ~in_gap | near if method != "hold" else age <= reach_ns
        valid = np.where(outside, valid & (np.abs(age) <= period_ns), valid & inside)
    extrapolated = valid & (outside if reach_ns is not None else before < 0)
    values = None
    if spec.kind == "array":
        # Only what the grid touches is read: a window of a long episode costs a window.
        first, stop = int(low[0]), int(high.max()) + 1
        data = np.asarray(series[first:stop])
        if smooth:
            step_ns = time[high] - time[low]
            fraction = np.divide(age_low, step_ns, out=np.zeros(len(grid)), where=step_ns > 0)
            fraction = np.clip(fraction, 0.0, 1.0)
            quaternion = spec.quaternion_columns if method == "slerp" else None
            values = _interpolate(data[low - first], data[high - first], fraction, quaternion)
        else:
            values = data[index - first]
    if values is not None and not valid.all():
        values[~valid] = np.nan if values.dtype.kind == "f" else 0
    return AlignedColumn(method, values, np.where(valid, index, -1), age, valid, extrapolated)


def _interpolate(
    start: NDArray[Any],
    end: NDArray[Any],
    fraction: NDArray[np.float64],
    quaternion: tuple[int, int, int, int] | None,
) -> NDArray[Any]:
    """Values (T, ...) at `fraction` (T,) of the way; a quaternion turns, all else slides."""
    weight = fraction.astype(start.dtype).reshape(-1, *([1] * (start.ndim - 1)))
    values: NDArray[Any] = end - start
    values *= weight
    values += start
    if quaternion is not None:
        places = list(quaternion)
        turn = np.broadcast_to(fraction.reshape(-1, *([1] * (start.ndim - 2))), start.shape[:-1])
        values[..., places] = slerp(start[..., places], end[..., places], turn)
    return values


def _period_ns(spec: Stream, time: Times) -> float | None:
    """The time between samples: as the schema says, or as it mostly was."""
    if spec.rate_hz is not None:
        return SECOND_NS / spec.rate_hz
    if spec.kind == "text" or len(time) < 2:
        return None
    return float(np.median(np.diff(time)))


def _check_clock(path: str, series: TimedStream) -> None:
    time = series.time_ns
    if not len(time):
        raise EpisodeError(f"{path} has no samples, so it cannot be aligned. Leave it out.")
    backwards = np.flatnonzero(time[1:] < time[:-1])
    if len(backwards):
        at = int(backwards[0]) + 1
        step_ns = int(time[at - 1]) - int(time[at])
        raise EpisodeError(
            f"{path}: the clock goes back at sample {at}, by {step_ns} ns; "
            "expected stamps that do not decrease. Cut the episode there, or leave the stream out."
        )


def _common_span(streams: Mapping[str, TimedStream]) -> tuple[int, int]:
    clocks = [s.time_ns for s in streams.values() if s.spec.rate_hz is not None]
    clocks = clocks or [s.time_ns for s in streams.values()]
    begin, end = max(int(time[0]) for time in clocks), min(int(time[-1]) for time in clocks)
    if begin > end:
        raise EpisodeError(
            "the streams have no time in common: one ends before another begins. "
            "Give span_ns, or leave one out."
        )
    return begin, end


def _grid(begin: int, end: int, rate_hz: float) -> Times:
    if end < begin:
        raise EpisodeError(f"span, got {begin} to {end}; expected the end after the beginning.")
    count = int((end - begin) * rate_hz / SECOND_NS + 1e-6) + 1
    if count > MAX_ROWS:
        raise EpisodeError(f"{count} rows at {rate_hz} Hz; expected {MAX_ROWS} at most. Cut it up.")
    grid: Times = begin + np.rint(np.arange(count) * (SECOND_NS / rate_hz)).astype(np.int64)
    return grid


def _skew(columns: list[AlignedColumn], rows: int) -> NDArray[np.int64]:
    """Spread of the times that the values of a row stand for: an interpolated one is on time."""
    earliest = np.zeros(rows, np.int64)
    latest = np.zeros(rows, np.int64)
    seen = np.zeros(rows, bool)
    for column in columns:
        on_time = column.method in ("linear", "slerp")
        lag = np.where(column.extrapolated, column.age_ns, 0) if on_time else column.age_ns
        fresh, again = column.valid & ~seen, column.valid & seen
        np.copyto(earliest, np.where(fresh, lag, np.minimum(earliest, lag)), where=fresh | again)
        np.copyto(latest, np.where(fresh, lag, np.maximum(latest, lag)), where=fresh | again)
        seen |= column.valid
    return latest - earliest
