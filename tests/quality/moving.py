"""A robot that turns and moves its arms: streams at several rates, for tests of time and lag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import open_robot
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.facts import ASSUMED, STREAM_RATES
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.schema import Stream

Array = NDArray[np.float64]

G1 = open_robot("g1")
POSITION = "observations/joint_position"
VELOCITY = "observations/joint_velocity"
TARGET = "actions/joint_position_target"
IMU = "observations/pelvis_imu"
WRENCH = "observations/left_wrist_wrench"
BASE = "debug/base_pose"
SECONDS = 12.0
SERVO_S = 0.04
RATES = {POSITION: 100.0, VELOCITY: 100.0, TARGET: 50.0, IMU: 200.0, WRENCH: 200.0, BASE: 100.0}
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
_UNITS: dict[str, Any] = {
    POSITION: "rad",
    VELOCITY: "rad/s",
    TARGET: "rad",
    IMU: ("m/s2",) * 3 + ("rad/s",) * 3,
    WRENCH: ("N",) * 3 + ("N m",) * 3,
    BASE: ("m",) * 3 + ("1",) * 4,
}


# Noise is shaped on this grid, from before the recording to after it.
_FINE_S = np.arange(-1.0, 30.0, 0.002)


@cache
def _smooth(columns: int, seed: int, cut_hz: float) -> Array:
    """Noise (T, columns) on the fine grid without what is faster than `cut_hz`, of size one."""
    noise = np.random.default_rng(seed).normal(size=(len(_FINE_S), columns))
    hertz = np.fft.rfftfreq(len(_FINE_S), 0.002)
    shape = 1 / (1 + (hertz / cut_hz) ** 4)
    course = np.fft.irfft(np.fft.rfft(noise, axis=0) * shape[:, None], len(_FINE_S), axis=0)
    return np.asarray(course / course.std(axis=0))


def _at(course: Array, time_s: Array) -> Array:
    return np.stack([np.interp(time_s, _FINE_S, each) for each in course.T], axis=1)


def angles(time_s: Array, *, seed: int = 0) -> Array:
    """Joint angles (T, J); the legs and the waist stand still."""
    moved = np.zeros((len(time_s), 29))
    moved[:, 15:] = 0.3 * _at(_smooth(14, seed, 0.9), time_s)
    return moved


def heading(time_s: Array) -> Array:
    """The angle about the vertical through which the base has turned."""
    return 0.2 * _at(_smooth(1, 99, 1.2), time_s)[:, 0]


def stamps(label: str) -> NDArray[np.int64]:
    """Even stamps at the stream's rate."""
    count = round(SECONDS * RATES[label])
    return np.round(np.arange(count) / RATES[label] * 1e9).astype(np.int64)


def moving(*, seed: int = 0, late_s: dict[str, float] | None = None) -> Recording:
    """The whole recording; `late_s` makes what a stream shows late while its stamps stay."""
    late = late_s or {}
    signals = {}
    for label, rate in RATES.items():
        when = stamps(label)
        values = _values(label, when / 1e9 - late.get(label, 0.0), seed)
        signals[label] = ArraySignal(_spec(label, values.shape[1], rate), when, values)
    return Recording("moving", Path("moving.h5"), seed, signals, embodiment=G1)


def rows(rate_hz: float, *, seed: int = 0, seconds: float = SECONDS) -> Recording:
    """State and action in the same rows, on stamps made from the row number."""
    time_s = np.arange(round(seconds * rate_hz)) / rate_hz
    when = np.round(time_s * 1e9).astype(np.int64)
    dice = np.random.default_rng(seed)
    state = angles(time_s - SERVO_S, seed=seed) + dice.normal(0, 2e-4, (len(when), 29))
    told = angles(time_s, seed=seed) + dice.normal(0, 2e-4, (len(when), 29))
    signals = {
        "observation.state": ArraySignal(_spec(POSITION, 29, rate_hz), when, state),
        "action": ArraySignal(_spec(TARGET, 29, rate_hz), when, told),
    }
    return Recording("rows", Path("rows"), seed, signals, embodiment=G1, regridded=True)


def restamped(
    recording: Recording, label: str, edit: Callable[[NDArray[np.int64]], Any]
) -> Recording:
    """The same recording with other stamps in one stream."""
    was = recording.signals[label]
    assert isinstance(was, ArraySignal)
    when = np.asarray(edit(was.time_ns.copy()), np.int64)
    return with_signal(recording, label, replace(was, time_ns=when))


def without(recording: Recording, label: str, lost: Any) -> Recording:
    """The same recording without some samples of one stream."""
    was = recording.signals[label]
    assert isinstance(was, ArraySignal)
    kept = np.setdiff1d(np.arange(len(was)), np.arange(len(was))[lost])
    changed = replace(was, time_ns=was.time_ns[kept], values=was.values[kept])
    return with_signal(recording, label, changed)


def unstated(recording: Recording) -> Recording:
    """The same recording as out of a bag: its rates are only what the stamps come to."""
    assumed = {ASSUMED: {STREAM_RATES: "the middle step: a bag states none"}}
    return replace(recording, metadata={**recording.metadata, **assumed})


def with_signal(recording: Recording, label: str, signal: ArraySignal) -> Recording:
    """The same recording with one stream in place of another."""
    return replace(recording, signals={**recording.signals, label: signal})


def _values(label: str, time_s: Array, seed: int) -> Array:
    dice = np.random.default_rng([seed, *label.encode()])
    if label == POSITION:
        return angles(time_s, seed=seed) + dice.normal(0, 1e-4, (len(time_s), 29))
    if label == VELOCITY:
        rate = (angles(time_s + 2e-3, seed=seed) - angles(time_s - 2e-3, seed=seed)) / 4e-3
        return np.asarray(rate + dice.normal(0, 0.02, rate.shape))
    if label == TARGET:
        return angles(time_s + SERVO_S, seed=seed)
    if label == BASE:
        half = heading(time_s) / 2
        zero = np.zeros_like(half)
        return np.stack((zero, zero, zero + 0.79, np.cos(half), zero, zero, np.sin(half)), axis=1)
    if label == IMU:
        turn = (heading(time_s + 2e-3) - heading(time_s - 2e-3)) / 4e-3
        still = np.tile((0.0, 0.0, 9.81, 0.0, 0.0, 0.0), (len(time_s), 1))
        still[:, 5] = turn
        return np.asarray(still + dice.normal(0, 0.01, still.shape))
    force = np.zeros((len(time_s), 6))
    force[:, :3] = _at(_felt(seed), time_s)
    return np.asarray(force + dice.normal(0, 0.02, force.shape))


@cache
def _felt(seed: int) -> Array:
    """What half a kilogram at the left wrist feels (T, 3) on the fine grid, in the wrist's axes."""
    poses = Kinematics(G1).link_poses(angles(_FINE_S, seed=seed))
    speed = np.gradient(poses.position("left_wrist_yaw_link"), _FINE_S, axis=0)
    felt = np.gradient(speed, _FINE_S, axis=0) + np.array((0.0, 0.0, 9.81))
    return np.asarray(np.einsum("tji,tj->ti", poses.rotation("left_wrist_yaw_link"), 0.5 * felt))


def _spec(label: str, width: int, rate_hz: float) -> Stream:
    group, name = label.split("/")
    columns: tuple[str, ...] | None = G1.joint_names if width == 29 else None
    return Stream.model_validate(
        {
            "name": name,
            "group": group,
            "dtype": "float64",
            "shape": [width],
            "rate_hz": rate_hz,
            "unit": _UNITS[label],
            "frame": {IMU: "imu_in_pelvis", WRENCH: "left_wrist_yaw_link", BASE: "world"}.get(
                label
            ),
            "components": POSE if label == BASE else columns,
        }
    )
