"""Which mode a robot is in, moment by moment: standing, walking, working with its arms, or both.

The base moves when its pose does; where that is not known, when the legs step, when it was told
to, or when its IMU shakes. Arms are at work when they move more than walking swings them, or when
a hand is closed. A moment's pause is no end of work, and no mode lasts less than a moment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import limb_of, match_joints
from corporeal.episode.recording import Recording, Signal
from corporeal.errors import EpisodeError
from corporeal.schema import roles
from corporeal.signal.runs import runs
from corporeal.units import SECOND_NS

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Times = NDArray[np.int64]

RATE_HZ = 50.0
STEP_S = 0.5
_STRIDE_S = 1.0
_BLOCK = 1 << 14
_STRIDING = re.compile(r"hip_?pitch|knee|ankle_?pitch|ankle(?!_?roll)", re.IGNORECASE)


def base_levels(recording: Recording, signal: Signal, times: Times) -> tuple[Array, ...]:
    """How much the base moves: one number per time for each limit that it is held against."""
    names = signal.spec.names
    if signal.spec.name == roles.JOINT_POSITION:
        return (_stepping(sampled(signal, times), legs(recording, signal)),)
    values = sampled(signal, times)
    if signal.spec.name == roles.BASE_VELOCITY:
        return np.hypot(values[:, 0], values[:, 1]), np.abs(values[:, -1])
    if signal.spec.name != roles.BASE_POSE:
        places = [names.index(axis) for axis in ("ax", "ay", "az") if axis in names]
        size = np.linalg.norm(values[:, places or slice(0, 3)], axis=1)
        mean = _smoothed(size, STEP_S)
        return (np.sqrt(_smoothed((size - mean) ** 2, STEP_S)),)
    along = [names.index(axis) if axis in names else place for place, axis in enumerate("xy")]
    speed = np.linalg.norm(_rate(_smoothed(values[:, along], STEP_S)), axis=1)
    quaternion = signal.spec.quaternion_columns
    if quaternion is None:
        return speed, np.zeros_like(speed)
    w, x, y, z = values[:, list(quaternion)].T
    yaw = np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y**2 + z**2)))
    return speed, np.abs(_rate(_smoothed(yaw, STEP_S)))


def base_motion(recording: Recording, times: Times) -> Array | None:
    """Forward, left and turning speed (T, 3) of the base in its own frame, m/s and rad/s.

    From its pose, over half a second as a walk sways; None where no pose is known.
    """
    label = recording.named(roles.BASE_POSE)
    signal = recording.signals[label] if label is not None else None
    if signal is None or len(signal) < 2 or signal.spec.quaternion_columns is None:
        return None
    even = _clock(times)
    values, names = sampled(signal, even), signal.spec.names
    along = [names.index(axis) if axis in names else place for place, axis in enumerate("xy")]
    east, north = _rate(_smoothed(values[:, along], STEP_S)).T
    w, x, y, z = values[:, list(signal.spec.quaternion_columns)].T
    yaw = np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y**2 + z**2)))
    forward = np.cos(yaw) * east + np.sin(yaw) * north
    left = np.cos(yaw) * north - np.sin(yaw) * east
    speeds = (forward, left, _rate(_smoothed(yaw, STEP_S)))
    return np.stack([np.interp(times - even[0], even - even[0], each) for each in speeds], axis=1)


def _stepping(values: Array, pairs: Sequence[tuple[int, int]]) -> Array:
    """How fast left and right legs move against each other: a squat moves them alike."""
    speed = _rate(_smoothed(values, 0.2))
    apart = np.stack([speed[:, left] - speed[:, right] for left, right in pairs], axis=1)
    return _smoothed(np.linalg.norm(apart, axis=1), STEP_S)


def arm_speed(recording: Recording, signal: Signal, times: Times, walks: Flags) -> Array:
    """Speed of all arm joints together; during a walk that over a stride, which swings cancel in.

    A swing comes back within a stride, so that only what else the arms do is left. NaN within
    a stride of where a walk begins or ends: there one cannot tell.
    """
    values = sampled(signal, times)[:, arm_columns(recording, signal)]
    quick, slow = (
        np.linalg.norm(_rate(_smoothed(values, width)), axis=1) for width in (0.2, _STRIDE_S)
    )
    share = _smoothed(walks.astype(np.float64), 2 * _STRIDE_S)
    speed: Array = np.select([share <= 0, share >= 1], [quick, slow], np.nan)
    return speed


def grips(values: Array, share: float) -> Flags:
    """Whether a hand is not as it was at first: closed around something, or about to be."""
    travel = np.ptp(values, axis=0)
    moving = travel > 1e-3 * np.maximum(np.abs(values).max(axis=0), 1e-6)
    if not moving.any():
        return np.zeros(len(values), bool)
    begin = np.median(values[: rows_of(1.0)], axis=0)
    away = np.abs(_smoothed(values, 0.1) - begin)[:, moving] / travel[moving]
    # Noise alone has a travel too; a hand that works crosses most of it and stays there.
    worth = np.mean(away > share, axis=0) > 0.02
    steady = np.std(np.diff(values[:, moving], axis=0), axis=0) < 0.1 * travel[moving]
    result: Flags = (away > share)[:, worth & steady].any(axis=1)
    return result


def arm_columns(recording: Recording, signal: Signal) -> list[int]:
    """Columns of the joints of arms and hands."""
    robot = recording.embodiment
    return [
        place
        for place, name in enumerate(_joints(recording, signal))
        if limb_of(name, robot) in ("arm", "hand")
    ]


def legs(recording: Recording, signal: Signal) -> list[tuple[int, int]]:
    """Columns of the joints that stride, left and right."""
    names = [name.lower() for name in _joints(recording, signal)]
    places = {name: place for place, name in enumerate(names)}
    return [
        (place, places[other])
        for name, place in places.items()
        if _STRIDING.search(name)
        and "left" in name
        and (other := name.replace("left", "right")) in places
    ]


def _joints(recording: Recording, signal: Signal) -> Sequence[str]:
    """The name of each column: the robot's own where its joint is known."""
    given, robot = signal.spec.names, recording.embodiment
    if robot is None:
        return given
    return [ours or theirs for ours, theirs in zip(match_joints(given, robot), given, strict=True)]


def rows_of(seconds: float) -> int:
    """How many times of the inner clock a span has."""
    return max(1, round(seconds * RATE_HZ))


def sampled(signal: Signal, times: Times) -> Array:
    """The sample nearest to each time (T, D), flat, read in blocks; the last good one for a NaN."""
    stamps = signal.time_ns
    after = np.clip(np.searchsorted(stamps, times), 1, len(stamps) - 1)
    nearest = np.where(times - stamps[after - 1] <= stamps[after] - times, after - 1, after)
    parts: list[Array] = []
    for first in range(0, len(times), _BLOCK):
        wanted = nearest[first : first + _BLOCK]
        begin, stop = int(wanted.min()), int(wanted.max()) + 1
        block: NDArray[Any] = np.asarray(signal[begin:stop], np.float64)
        parts.append(block[wanted - begin].reshape(len(wanted), -1))
    values = np.concatenate(parts)
    last_good = np.where(np.isfinite(values), np.arange(len(values))[:, None], -1)
    last_good = np.maximum.accumulate(last_good, axis=0)
    good: Array = np.take_along_axis(values, np.maximum(last_good, 0), axis=0)
    return np.nan_to_num(good, posinf=0.0, neginf=0.0)


def _smoothed(values: Array, seconds: float) -> Array:
    """The mean over a window around each time; at the ends over what there is of it."""
    half = rows_of(seconds) // 2
    total = np.concatenate((np.zeros_like(values[:1]), np.cumsum(values, axis=0)))
    rows = np.arange(len(values))
    first, stop = np.maximum(rows - half, 0), np.minimum(rows + half + 1, len(values))
    width = (stop - first).reshape(-1, *(1,) * (values.ndim - 1))
    mean: Array = (total[stop] - total[first]) / width
    return mean


def _rate(values: Array) -> Array:
    if len(values) < 2:
        return np.zeros_like(values)
    rate: Array = np.gradient(values, 1 / RATE_HZ, axis=0)
    return rate


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
    signals = evidence(recording)
    limits = {
        roles.BASE_POSE: (base_speed_m_s, turn_rad_s),
        roles.BASE_VELOCITY: (base_speed_m_s / 2, turn_rad_s / 2),
        roles.JOINT_POSITION: (stepping_rad_s,),
    }
    walks = np.zeros(len(times), bool)
    if signals.base is not None:
        signal = recording.signals[signals.base]
        levels = base_levels(recording, signal, times)
        wanted = limits.get(signal.spec.name, (shaking_m_s2,))
        for level, limit in zip(levels, wanted, strict=True):
            walks |= _beyond(level, limit)
    walks = _bridged(walks, rows_of(STEP_S))
    works = np.zeros(len(times), bool)
    for label in signals.arms:
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
    known = np.where(level > limit, 1, np.where(level < limit / 2, 0, -1))
    last = np.maximum.accumulate(np.where(known >= 0, np.arange(len(known)), -1))
    result: Flags = np.where(last >= 0, known[np.maximum(last, 0)], 0).astype(bool)
    for first, stop in runs(np.isnan(level)):
        sides = [result[place] for place in (first - 1, stop) if 0 <= place < len(result)]
        result[first:stop] = bool(sides) and all(sides)
    return result


def _bridged(flags: Flags, longest: int) -> Flags:
    """The same with gaps between two stretches filled, where they are this short."""
    result = flags.copy()
    for first, stop in runs(flags, gap=longest - 1):
        result[first:stop] = True
    return result


def _lasting(labels: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """The same with stretches that are too short given to the longer neighbour, shortest first."""
    stretches = [(int(labels[each.first]), each.stop - each.first) for each in segments(labels)]
    while len(stretches) > 1:
        lengths = [length for _, length in stretches]
        short = lengths.index(min(lengths))
        if lengths[short] >= least:
            break
        beside = [place for place in (short - 1, short + 1) if 0 <= place < len(stretches)]
        heir = max(beside, key=lengths.__getitem__)
        stretches[short] = stretches[heir][0], lengths[short]
        alike = groupby(stretches, key=lambda stretch: stretch[0])
        stretches = [(mode, sum(length for _, length in group)) for mode, group in alike]
    modes_in_turn, lengths_in_turn = zip(*stretches, strict=True)
    return np.repeat(modes_in_turn, lengths_in_turn).astype(np.int64)
