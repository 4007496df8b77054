"""A G1 that reaches with both arms, as its encoders would tell it: for tests of joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import open_robot
from corporeal.embodiment.dynamics import gravity_torques
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.quality import Subject
from corporeal.schema import Stream

Array = NDArray[np.float64]
Edit = Callable[[Array], None]
G1 = open_robot("g1")
NAMES = G1.joint_names
POSITION = "observations/joint_position"
VELOCITY = "observations/joint_velocity"
TORQUE = "observations/joint_torque"
IMU = "observations/pelvis_imu"
GRIPPER = "observations/right_gripper"
TARGET = "actions/joint_position_target"
LAG_S = 0.04
# Where each arm joint rests, and how far it swings, shoulder to wrist; mirrored for the right.
_REST = (-0.4, 0.35, 0.1, 0.9, 0.2, -0.1, 0.15)
_SWING = (0.5, 0.2, 0.25, 0.6, 0.3, 0.35, 0.2)


def column(name: str) -> int:
    """The column of a joint, with or without its ending."""
    return NAMES.index(name if name.endswith("_joint") else f"{name}_joint")


def motion(time_s: Array, seed: int = 0) -> Array:
    """Positions (T, 29): both arms swing, each joint with a rhythm of its own."""
    dice = np.random.default_rng(seed)
    q = np.zeros((len(time_s), len(NAMES)))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for number, name in enumerate(G1.groups[f"{side}_arm"]):
            turn = sign if ("roll" in name or "yaw" in name) else 1.0
            slow, fast = dice.uniform(0.15, 0.3), dice.uniform(0.35, 0.6)
            phase = dice.uniform(0, 6.28, 2)
            wave = np.sin(2 * np.pi * slow * time_s + phase[0])
            wave = wave + 0.4 * np.sin(2 * np.pi * fast * time_s + phase[1])
            share = 1.0 if side == "right" else 0.6
            q[:, NAMES.index(name)] = turn * _REST[number] + share * _SWING[number] * wave
    q[:, column("left_knee")] = q[:, column("right_knee")] = 0.6
    return q


@cache
def reaching(seconds: float = 8.0, seed: int = 0) -> Recording:
    """The recording: 100 Hz joints, a 50 Hz target that leads by 40 ms, an IMU, a gripper."""
    dice = np.random.default_rng(seed + 1)
    time_s = np.arange(round(seconds * 100)) / 100.0
    told_s = np.arange(round(seconds * 50)) / 50.0
    step = 2 * np.pi / 16384
    q = np.round(motion(time_s, seed) / step) * step
    dq = np.gradient(motion(time_s, seed), time_s, axis=0) + dice.normal(0, 0.01, q.shape)
    torque = gravity_torques(Kinematics(G1), q) + dice.normal(0, 0.05, q.shape)
    opening = 0.035 + 0.03 * np.tanh(4 * np.sin(2 * np.pi * 0.25 * time_s))
    asked = 0.035 + 0.03 * np.tanh(9 * np.sin(2 * np.pi * 0.25 * (told_s + 0.1)))
    felt = dice.normal(0, 0.02, (2 * len(time_s), 6)) + np.array([0, 0, 9.81, 0, 0, 0])
    signals = {
        POSITION: _signal("joint_position", NAMES, "rad", 100.0, q),
        VELOCITY: _signal("joint_velocity", NAMES, "rad/s", 100.0, dq),
        TORQUE: _signal("joint_torque", NAMES, "N m", 100.0, torque),
        IMU: _signal("pelvis_imu", ("ax", "ay", "az", "wx", "wy", "wz"), "1", 200.0, felt),
        GRIPPER: _signal("right_gripper", ("opening",), "m", 100.0, opening[:, None]),
        TARGET: _signal("joint_position_target", NAMES, "rad", 50.0, motion(told_s + LAG_S, seed)),
        "actions/right_gripper_target": _signal(
            "right_gripper_target", ("opening",), "m", 50.0, asked[:, None]
        ),
    }
    return Recording(id="reaching", source=Path("reaching.h5"), index=0, signals=signals,
                     embodiment=G1)  # fmt: skip


@cache
def table(seed: int = 0, seconds: float = 12.0) -> Recording:
    """The same as a table at 30 Hz: state and action of both arms, and a hand; nothing else."""
    time_s = np.arange(round(seconds * 30)) / 30.0
    arms = [NAMES.index(name) for side in ("left", "right") for name in G1.groups[f"{side}_arm"]]
    names = (*(NAMES[number] for number in arms), "kRightHandIndex")
    dice = np.random.default_rng(seed + 5)
    closed = 0.5 + 0.4 * np.tanh(5 * np.sin(2 * np.pi * 0.2 * time_s))
    state = np.column_stack([motion(time_s, seed)[:, arms], closed])
    action = np.column_stack([motion(time_s + 0.1, seed)[:, arms], np.roll(closed, -8)])
    state = state + dice.normal(0, 2e-4, state.shape)
    signals = {
        "observation.state": _signal("joint_position", names, "rad", 30.0, state),
        "action": _signal("joint_position_target", names, "rad", 30.0, action),
    }
    return Recording(id=f"table {seed}", source=Path("table.parquet"), index=seed,
                     signals=signals, embodiment=G1, regridded=True)  # fmt: skip


def _signal(
    role: str, names: tuple[str, ...], unit: str, rate_hz: float, values: Array
) -> ArraySignal:
    group: Any = "actions" if role.endswith("target") else "observations"
    spec = Stream(name=role, group=group, shape=(len(names),), rate_hz=rate_hz, unit=unit,
                  components=names)  # fmt: skip
    stamps = np.rint(np.arange(len(values)) * 1e9 / rate_hz).astype(np.int64)
    return ArraySignal(spec, stamps, values)


def changed(recording: Recording, **edits: Edit) -> Recording:
    """The recording with streams changed: by role, what to do to their values."""
    signals = dict(recording.signals)
    for label, signal in signals.items():
        edit = edits.get(signal.spec.name)
        if edit is not None and isinstance(signal, ArraySignal):
            values = np.array(signal.values)
            edit(values)
            signals[label] = replace(signal, values=values)
    return replace(recording, signals=signals)


def altered(**edits: Edit) -> Subject:
    """The reaching robot with streams changed, as a subject."""
    return Subject(changed(reaching(), **edits))


def without(recording: Recording, *roles: str) -> Subject:
    """The recording without the streams of these roles."""
    kept = {k: v for k, v in recording.signals.items() if v.spec.name not in roles}
    return Subject(replace(recording, signals=kept))


def exchange(first: int, second: int) -> Edit:
    """Exchange two columns."""

    def edit(values: Array) -> None:
        values[:, [first, second]] = values[:, [second, first]]

    return edit


def turn(number: int) -> Edit:
    """Change the sign of a column."""

    def edit(values: Array) -> None:
        values[:, number] *= -1

    return edit
