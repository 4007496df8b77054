"""A command against what followed it: the error over time, and how far each joint was off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Joint
from corporeal.embodiment.joints import match_joints
from corporeal.signal.lag import lag_behind_command
from corporeal.studio.plotting.samples import PlotColumn, SampleStamps
from corporeal.units import SECOND_NS

Values = NDArray[np.floating[Any]]
Read = Callable[[int, int], Values]
MIN_CONFIDENCE = 0.6
"""Of a lag; a less certain one is not told."""
_PIECE = 1 << 16
# A joint that moves less than this share of the most mobile one tells no lag.
_MOVES = 0.02
_MOST_FOR_LAG = 1 << 17
# A demand is taken over so long: shorter ones are steps of the command, which a servo smooths.
_DEMAND_S = 0.1
_MARGIN = 1.05
_ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class Followed:
    """A stream of measurements and the stream of commands that it follows.

    `columns` has for each measured column the commanded one, -1 where there is none.
    """

    measured: SampleStamps
    commanded: SampleStamps
    read_measured: Read
    read_commanded: Read
    columns: tuple[int, ...]

    def error(self, first: int, stop: int) -> Values:
        """The command that held at each measurement, less the measurement: (n, columns)."""
        done = self.read_measured(first, stop)
        told = np.full(done.shape, np.nan)
        times = self.measured.time_ns[first:stop]
        held = np.searchsorted(self.commanded.time_ns, times, side="right") - 1
        known = held >= 0
        if known.any():
            begin, end = int(held[known].min()), int(held.max()) + 1
            block = self.read_commanded(begin, end)
            have = np.flatnonzero(np.array(self.columns) >= 0)
            given = np.array(self.columns)[have]
            told[np.ix_(np.flatnonzero(known), have)] = block[np.ix_(held[known] - begin, given)]
        return told - done


@dataclass(frozen=True)
class JointError:
    """How far a joint was from its command, when most, and how late it follows.

    `beyond` says in words what the command asks that the joint or its motor cannot do.
    """

    column: int
    name: str
    unit: str
    largest: float
    at_ns: int
    mean: float
    lag_s: float | None
    beyond: str | None


def pair_columns(
    measured: Sequence[PlotColumn], commanded: Sequence[PlotColumn]
) -> tuple[int, ...]:
    """For each measured column the commanded one of its name and unit; -1 where there is none."""
    numbers = {(each.name, each.unit): place for place, each in enumerate(commanded)}
    return tuple(numbers.get((each.name, each.unit), -1) for each in measured)


def joint_errors(
    followed: Followed, columns: Sequence[PlotColumn], robot: Embodiment | None
) -> list[JointError]:
    """Every joint with a command, the farthest off first, joints of one unit together.

    None where the commands are no positions to be reached, such as steps relative to the state.
    """
    count = len(followed.measured)
    width = len(columns)
    largest, place, total, seen = (np.zeros(width) for _ in range(4))
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    for first in range(0, count, _PIECE):
        stop = min(first + _PIECE, count)
        values = followed.read_measured(first, stop)
        low, high = np.fmin(low, values.min(axis=0)), np.fmax(high, values.max(axis=0))
        off = np.abs(followed.error(first, stop))
        good = np.isfinite(off)
        off = np.where(good, off, 0.0)
        at = off.argmax(axis=0)
        top = off[at, np.arange(width)]
        place = np.where(top > largest, first + at, place)
        largest = np.maximum(largest, top)
        total += off.sum(axis=0)
        seen += good.sum(axis=0)
    paired = (np.array(followed.columns) >= 0) & (seen > 0)
    far = total[paired] > seen[paired] * (high - low)[paired]
    if not paired.any() or np.mean(far) > 0.5:
        return []
    told_s, told, done_s, done = _stretch(followed, int(place[largest.argmax()]) if width else 0)
    joints = _joints(columns, robot)
    reach = float((high - low)[paired].max())
    found = []
    for number, column in enumerate(columns):
        source = followed.columns[number]
        if source < 0 or not seen[number]:
            continue
        moves = (high - low)[number] > _MOVES * reach
        lag = lag_behind_command(told[:, source], told_s, done[:, number], done_s)
        tells = moves and lag.confidence >= MIN_CONFIDENCE and lag.seconds >= 0
        found.append(JointError(
            column=number, name=column.name, unit=column.unit, largest=float(largest[number]),
            at_ns=int(followed.measured.time_ns[int(place[number])]),
            mean=float(total[number] / seen[number]),
            lag_s=float(lag.seconds) if tells else None,
            beyond=_beyond(joints[number], column.unit, told[:, source], told_s),
        ))  # fmt: skip
    common = [each.unit for each in found]
    return sorted(found, key=lambda each: (-common.count(each.unit), each.unit, -each.largest))


def _stretch(followed: Followed, middle: int) -> tuple[Values, Values, Values, Values]:
    """Both streams in full, or around the largest error where that would be too much."""
    done, told = followed.measured.time_ns, followed.commanded.time_ns
    first = max(0, min(middle - _MOST_FOR_LAG // 2, len(done) - _MOST_FOR_LAG))
    stop = min(first + _MOST_FOR_LAG, len(done))
    begin = max(int(np.searchsorted(told, done[first])) - 1, 0) if len(done) else 0
    end = int(np.searchsorted(told, done[stop - 1], side="right")) if len(done) else 0
    end = min(end, begin + 4 * _MOST_FOR_LAG)
    return (told[begin:end] / SECOND_NS, followed.read_commanded(begin, end),
            done[first:stop] / SECOND_NS, followed.read_measured(first, stop))  # fmt: skip


def _joints(columns: Sequence[PlotColumn], robot: Embodiment | None) -> list[Joint | None]:
    if robot is None:
        return [None] * len(columns)
    known = {joint.name: joint for joint in robot.joints}
    names = [each.name for each in columns]
    if not any(name in known for name in names):
        return [known[name] if name else None for name in match_joints(names, robot)]
    return [known.get(name) for name in names]


def _beyond(joint: Joint | None, unit: str, told: Values, told_s: Values) -> str | None:
    """What a command asks that this joint cannot do; None where all is possible, or not known."""
    if joint is None or not len(told):
        return None
    asked = told[np.isfinite(told)]
    if not len(asked):
        return None
    if unit in ("rad", "m"):
        low, high = float(asked.min()), float(asked.max())
        if joint.upper is not None and high > joint.upper + _ROUNDING:
            return f"commanded {high:.3f} {unit}, the joint ends at {joint.upper:.3f} {unit}"
        if joint.lower is not None and low < joint.lower - _ROUNDING:
            return f"commanded {low:.3f} {unit}, the joint ends at {joint.lower:.3f} {unit}"
        speed = _demand(told, told_s)
        if joint.velocity and speed > _MARGIN * joint.velocity:
            return f"commanded {speed:.1f} {unit}/s, the motor does {joint.velocity:.1f} {unit}/s"
        return None
    most = float(np.abs(asked).max())
    limit = {"rad/s": joint.velocity, "m/s": joint.velocity, "N m": joint.effort, "N": joint.effort}
    allowed = limit.get(unit)
    if allowed and most > _MARGIN * allowed:
        return f"commanded {most:.1f} {unit}, the motor gives {allowed:.1f} {unit}"
    return None


def _demand(told: Values, told_s: Values) -> float:
    """The greatest mean speed that a command asks for over `_DEMAND_S`."""
    later = np.searchsorted(told_s, told_s + _DEMAND_S)
    kept = later < len(told_s)
    step = np.abs(told[later[kept]] - told[kept])
    time = told_s[later[kept]] - told_s[kept]
    speed = step / np.where(time > 0, time, np.inf)
    return float(np.nanmax(speed, initial=0.0))
