"""How much the base, the legs, the arms and the hands of a robot move, moment by moment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import match_joints
from corporeal.embodiment.limbs import limb_of
from corporeal.episode.recording import Recording, Signal
from corporeal.schema import roles

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
    names = signal.spec.components or ()
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
    given = signal.spec.components
    if not isinstance(given, tuple):
        return ()
    robot = recording.embodiment
    known = match_joints(given, robot) if robot is not None else (None,) * len(given)
    return [ours or theirs for ours, theirs in zip(known, given, strict=True)]


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
    held = np.where(np.isfinite(values), np.arange(len(values))[:, None], -1)
    held = np.maximum.accumulate(held, axis=0)
    good: Array = np.take_along_axis(values, np.maximum(held, 0), axis=0)
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
