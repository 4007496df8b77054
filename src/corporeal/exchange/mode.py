"""Which mode a robot is in, moment by moment: standing, walking, working with its arms, or both.

The base moves when its pose does; where that is not known, when the legs step, when it was told
to, or when its IMU shakes. Arms are at work when they move more than walking swings them, or when
a hand is closed. A moment's pause is no end of work, and no mode lasts less than a moment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.motion_level import (
    RATE_HZ,
    STEP_S,
    Array,
    Flags,
    Times,
    arm_columns,
    arm_speed,
    base_levels,
    grips,
    legs,
    rows_of,
    sampled,
)
from corporeal.schema import roles
from corporeal.units import SECOND_NS

MODES = ("stand", "locomotion", "manipulation", "loco_manipulation")

_GRIPPER = re.compile(r"gripper|claw|hand(_joint)?_position")
_MAX_TIMES = 1 << 22
_IMU = ("pelvis_imu", "base_imu", "torso_imu", "waist_imu", "imu")


@dataclass(frozen=True)
class ModeEvidence:
    """The signals that tell of the base and of the arms; `base` is None when nothing does.

    Then the robot counts as standing.
    """

    base: str | None
    arms: tuple[str, ...]


@dataclass(frozen=True)
class ModeSegment:
    """A stretch of one mode: rows `first` to `stop`."""

    mode: str
    first: int
    stop: int


def modes(
    recording: Recording,
    grid_ns: Times,
    *,
    base_speed_m_s: float = 0.12,
    turn_rad_s: float = 0.25,
    stepping_rad_s: float = 0.6,
    shaking_m_s2: float = 1.0,
    arm_speed_rad_s: float = 0.2,
    grip_share: float = 0.2,
    pause_s: float = 1.0,
    least_s: float = 0.3,
) -> NDArray[np.int64]:
    """The mode at each time, as its place in MODES.

    Something moves once it passes its limit, and until it falls below half of that. `grip_share`
    is how far a gripper must be from where it began, as a share of all its travel.
    """
    if not len(grid_ns):
        return np.zeros(0, np.int64)
    times = _clock(grid_ns)
    found = evidence(recording)
    limits = {
        roles.BASE_POSE: (base_speed_m_s, turn_rad_s),
        roles.BASE_VELOCITY: (base_speed_m_s / 2, turn_rad_s / 2),
        roles.JOINT_POSITION: (stepping_rad_s,),
    }
    walks = np.zeros(len(times), bool)
    if found.base is not None:
        signal = recording.signals[found.base]
        levels = base_levels(recording, signal, times)
        wanted = limits.get(signal.spec.name, (shaking_m_s2,))
        for level, limit in zip(levels, wanted, strict=True):
            walks |= _beyond(level, limit)
    walks = _bridged(walks, rows_of(STEP_S))
    works = np.zeros(len(times), bool)
    for label in found.arms:
        signal = recording.signals[label]
        if signal.spec.name == roles.JOINT_POSITION:
            works |= _beyond(arm_speed(recording, signal, times, walks), arm_speed_rad_s)
        else:
            works |= grips(sampled(signal, times), grip_share)
    works = _bridged(works, rows_of(pause_s))
    labels = _lasting(walks + 2 * works, rows_of(least_s))
    nearest = np.clip(np.rint((grid_ns - times[0]) * (RATE_HZ / SECOND_NS)), 0, len(times) - 1)
    taken: NDArray[np.int64] = labels[nearest.astype(np.int64)]
    return taken


def evidence(recording: Recording) -> ModeEvidence:
    """Which signals `modes` judges by, by their labels."""
    arms = [
        label
        for label, signal in recording.signals.items()
        if signal.spec.kind == "array"
        and signal.spec.group == "observations"
        and len(signal) > 1
        and (
            bool(arm_columns(recording, signal))
            if signal.spec.name == roles.JOINT_POSITION
            else _GRIPPER.search(signal.spec.name) is not None
        )
    ]
    return ModeEvidence(_base(recording), tuple(arms))


def segments(labels: NDArray[np.int64]) -> list[ModeSegment]:
    """The stretches of one mode, in order."""
    if not len(labels):
        return []
    edges = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    return [ModeSegment(MODES[int(labels[first])], first, stop) for first, stop in pairwise(edges)]


def _base(recording: Recording) -> str | None:
    robot = recording.embodiment
    if robot is not None and not robot.floating:
        return None
    for role in (roles.BASE_POSE, roles.JOINT_POSITION, roles.BASE_VELOCITY, *_IMU):
        label = recording.named(role)
        signal = recording.signals[label] if label is not None else None
        if signal is None or signal.spec.kind != "array" or len(signal) < 2:
            continue
        if role != roles.JOINT_POSITION or legs(recording, signal):
            return label
    return None


def _clock(grid_ns: Times) -> Times:
    count = int((int(grid_ns[-1]) - int(grid_ns[0])) * RATE_HZ / SECOND_NS) + 2
    if not 0 < count <= _MAX_TIMES:
        raise EpisodeError(
            f"modes of an episode of {count / RATE_HZ / 3600:.0f} h; expected "
            f"{_MAX_TIMES / RATE_HZ / 3600:.0f} h at most. Look at its clock with corporeal check."
        )
    steps = np.rint(np.arange(count) * (SECOND_NS / RATE_HZ)).astype(np.int64)
    return np.asarray(int(grid_ns[0]) + steps, np.int64)


def _beyond(level: Array, limit: float) -> Flags:
    """On from where the level passes the limit to where it falls below half of it.

    Where the level is not known (NaN), on if it is on before and after.
    """
    said = np.where(level > limit, 1, np.where(level < limit / 2, 0, -1))
    last = np.maximum.accumulate(np.where(said >= 0, np.arange(len(said)), -1))
    result: Flags = np.where(last >= 0, said[np.maximum(last, 0)], 0).astype(bool)
    lost = np.concatenate(([False], np.isnan(level), [False]))
    edges = np.flatnonzero(np.diff(lost.astype(np.int8)))
    for first, stop in zip(edges[::2], edges[1::2], strict=True):
        sides = [result[place] for place in (first - 1, stop) if 0 <= place < len(result)]
        result[first:stop] = bool(sides) and all(sides)
    return result


def _bridged(flags: Flags, longest: int) -> Flags:
    """The same with gaps between two stretches filled, where they are this short."""
    on = np.flatnonzero(flags)
    result = flags.copy()
    for before, after in pairwise(on):
        if 1 < after - before <= longest:
            result[before:after] = True
    return result


def _lasting(labels: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """The same with stretches that are too short given to the longer neighbour, shortest first."""
    runs = [(int(labels[each.first]), each.stop - each.first) for each in segments(labels)]
    while len(runs) > 1:
        short = min(range(len(runs)), key=lambda place: runs[place][1])
        if runs[short][1] >= least:
            break
        beside = [place for place in (short - 1, short + 1) if 0 <= place < len(runs)]
        heir = max(beside, key=lambda place: runs[place][1])
        runs[short] = runs[heir][0], runs[short][1]
        runs = _joined(runs)
    return np.repeat([mode for mode, _ in runs], [count for _, count in runs]).astype(np.int64)


def _joined(runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for mode, count in runs:
        if joined and joined[-1][0] == mode:
            joined[-1] = mode, joined[-1][1] + count
        else:
            joined.append((mode, count))
    return joined
