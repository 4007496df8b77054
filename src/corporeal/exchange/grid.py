"""The times of a table's rows, and which picture every row shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Recording, Signal
from corporeal.errors import EpisodeError
from corporeal.exchange.layout import ACTION, STATE, Layout
from corporeal.units import SECOND_NS

Times = NDArray[np.int64]

# A picture is kept in step with the rows until it is this many periods from its row's time.
_LOYAL = 0.75


def grid_of(recording: Recording, layout: Layout, signals: Mapping[str, Signal]) -> Times:
    """The time of every row.

    Where all signals share one clock of this rate, its own stamps; else even steps over the
    time in which the state, the commands and the cameras all have data.
    """
    leading = _leading(layout, signals)
    rate_hz = layout.rate_hz
    shared = leading[0].time_ns
    if all(len(each) == len(shared) and np.array_equal(each.time_ns, shared) for each in leading):
        steps = np.diff(shared)
        if len(shared) < 2 or abs(float(np.median(steps)) * rate_hz / SECOND_NS - 1) < 0.02:
            if (steps < 0).any():
                raise EpisodeError(
                    f"{recording.source}: the clock of episode {recording.index} goes back. "
                    "Run corporeal check on it, and leave the episode out."
                )
            return shared
    begin = max(int(each.time_ns[0]) for each in leading)
    end = min(int(each.time_ns[-1]) for each in leading)
    if end <= begin:
        raise EpisodeError(
            f"{recording.source}: the streams of episode {recording.index} have no time in common, "
            "so it has no row. Leave one of them out with --exclude."
        )
    period_ns = SECOND_NS / rate_hz
    begin += _phase(leading, begin, period_ns)
    count = max(1, int((end - begin) / period_ns + 1e-6) + 1)
    grid: Times = begin + np.rint(np.arange(count) * period_ns).astype(np.int64)
    return grid


def _leading(layout: Layout, signals: Mapping[str, Signal]) -> Sequence[Signal]:
    """What decides the rows: cameras first, then state and commands; else everything."""
    keys = [key for key in (STATE, ACTION) if key in layout.columns]
    paths = [camera.stream.path for camera in layout.cameras.values()]
    paths += [stream.path for key in keys for stream in layout.columns[key].streams]
    if not paths:
        paths = [s.path for column in layout.columns.values() for s in column.streams]
    return [signals[path] for path in paths]


def _phase(leading: Sequence[Signal], begin: int, period_ns: float) -> int:
    """How far to move the rows so that they fall on the first camera's pictures."""
    first = leading[0]
    if first.spec.kind != "video":
        return 0
    stamps = first.time_ns[first.time_ns >= begin][:64]
    if not len(stamps):
        return 0
    # Angles, since half a period early and half a period late are neighbours.
    turns = (stamps - begin) * (2 * np.pi / period_ns)
    angle = float(np.angle(np.exp(1j * turns).mean())) % (2 * np.pi)
    return round(angle / (2 * np.pi) * period_ns)


def picture_numbers(stamps: Times, grid: Times, *, period_ns: float) -> NDArray[np.int64]:
    """The picture that every row shows: the nearest, or the next one in turn while it is near.

    A camera half a period off would otherwise repeat and skip pictures at random. Keeping step
    costs at most a quarter of a period, and leaves runs of neighbours that need no new encoding.
    """
    after = np.clip(np.searchsorted(stamps, grid), 0, len(stamps) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(stamps[before] - grid) <= np.abs(stamps[after] - grid)
    nearest = np.where(nearer, before, after)
    numbers = nearest.copy()
    reach = _LOYAL * period_ns
    rows = np.arange(len(grid))
    row = 0
    while row < len(grid):
        # One stretch: the same distance between row and picture for as long as that is near.
        turn = nearest[row] + rows[row:] - row
        inside = turn < len(stamps)
        near = inside & (np.abs(stamps[np.minimum(turn, len(stamps) - 1)] - grid[row:]) <= reach)
        stop = int(np.argmin(near)) if not near.all() else len(near)
        numbers[row : row + max(1, stop)] = turn[: max(1, stop)]
        row += max(1, stop)
    return numbers
