"""What the level above tells a sub-policy: the mode, the velocity of the base, poses of the hands.

Commands that were recorded are taken as they are; others are read off what the robot did next, as
hindsight does it. All are in the frame of the base: x forward, y left, z up.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import limb_of, match_joints
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.errors import EpisodeError
from corporeal.exchange.composition import end_effector_commands, velocity_command
from corporeal.exchange.mode import MODES, base_motion
from corporeal.exchange.table import modes_of
from corporeal.geometry import quaternion_from_matrix
from corporeal.schema import Stream, roles
from corporeal.schema.stream import Group
from corporeal.words import some_of

Array = NDArray[np.float64]
_VELOCITY = ("vx", "vy", "wz")
_VELOCITY_UNITS = ("m/s", "m/s", "rad/s")


def command_signals(recording: Recording, command: str, group: Group) -> dict[str, Signal]:
    """The signals of a command by path; raises EpisodeError when nothing tells it."""
    prefix = "goal" if group == "observations" else "command"
    signals = {
        "mode": _mode, roles.BASE_VELOCITY: _base_velocity, "end_effectors": _end_effectors,
    }[command](recording)  # fmt: skip
    renamed: dict[str, Signal] = {}
    for name, (signal, values) in signals.items():
        stated = {"name": f"{prefix}_{name}"[:64], "group": group, "placement": "robot"}
        spec = Stream.model_validate(signal.spec.model_dump() | stated)
        renamed[spec.path] = ArraySignal(spec, signal.time_ns, values)
    return renamed


_Named = Mapping[str, tuple[Signal, NDArray[np.float32]]]


def _mode(recording: Recording) -> _Named:
    """One entry for each mode, 1 for the one that holds: a network regresses that."""
    joints = _clock(recording)
    values = np.eye(len(MODES), dtype=np.float32)[modes_of(recording, joints.time_ns)]
    return {"mode": _made("mode", joints, values, MODES, "1", "nearest")}


def _base_velocity(recording: Recording) -> _Named:
    commanded = velocity_command(recording)
    if commanded is not None:
        return {roles.BASE_VELOCITY: (commanded, np.asarray(commanded[:], np.float32))}
    joints = _clock(recording)
    motion = base_motion(recording, joints.time_ns)
    if motion is None:
        raise EpisodeError(
            f"{recording.source}: no base_velocity, got neither a command of it nor a "
            f"{roles.BASE_POSE}; expected one of them. Leave base_velocity out of the hierarchy."
        )
    values = motion.astype(np.float32)
    made = _made(roles.BASE_VELOCITY, joints, values, _VELOCITY, _VELOCITY_UNITS, "linear")
    return {roles.BASE_VELOCITY: made}


def _end_effectors(recording: Recording) -> _Named:
    """Poses that were commanded, else those of the targets of the joints."""
    commanded = end_effector_commands(recording)
    if commanded:
        return {
            signal.spec.name: (signal, np.asarray(signal[:], np.float32)) for signal in commanded
        }
    robot, label = recording.embodiment, recording.named(roles.JOINT_POSITION_TARGET)
    signal = recording.signals[label] if label is not None else None
    names = match_joints(signal.spec.names, robot) if signal is not None and robot else ()
    hands = [name for name in (robot.end_effectors if robot else ()) if _is_of_arm(name)]
    if signal is None or robot is None or not hands or not set(robot.joint_names) <= set(names):
        raise EpisodeError(
            f"{recording.source}: no end_effectors, got no command of their poses and no "
            f"{roles.JOINT_POSITION_TARGET} of all joints of a robot that names its end effectors; "
            "expected one of them. Leave end_effectors out of the hierarchy, or name the robot."
        )
    order = [list(names).index(name) for name in robot.joint_names]
    angles = np.nan_to_num(np.asarray(signal[:], np.float64)[:, order])
    poses = Kinematics(robot).end_effectors(angles)
    turned = _continuous(quaternion_from_matrix(poses.rotations))
    values = np.concatenate([poses.positions, turned], axis=2).astype(np.float32)
    return {
        f"{_plain(name)}_pose": _made(
            "pose", signal, values[:, place], roles.POSE, roles.POSE_UNITS, "hold"
        )
        for place, name in enumerate(poses.names)
        if name in hands
    }


def _is_of_arm(name: str) -> bool:
    return limb_of(name) in ("arm", "hand")


def _continuous(quaternions: Array) -> Array:
    """The same turns (T, L, 4) without jumps from one sign to the other."""
    dots = np.sum(quaternions[1:] * quaternions[:-1], axis=2)
    signs = np.cumprod(np.where(dots < 0, -1.0, 1.0), axis=0)
    even: Array = quaternions * np.concatenate([np.ones_like(signs[:1]), signs])[..., None]
    return even


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name.lower()).strip("_")


def _clock(recording: Recording) -> Signal:
    """The signal on whose stamps commands are made: then the rows stay those of the flat view."""
    label = recording.named(*roles.MEASURED, *roles.COMMANDED)
    if label is None or len(recording.signals[label]) < 2:
        raise EpisodeError(
            f"{recording.source}: no joints, got {some_of(list(recording.signals)) or 'nothing'}; "
            f"expected {roles.JOINT_POSITION}, by which modes and velocities are told."
        )
    return recording.signals[label]


def _made(
    name: str,
    clock: Signal,
    values: NDArray[np.float32],
    components: tuple[str, ...],
    unit: str | tuple[str, ...],
    interpolation: str,
) -> tuple[Signal, NDArray[np.float32]]:
    spec = Stream.model_validate(
        {"name": name, "group": "actions", "shape": (len(components),), "components": components,
         "unit": unit, "rate_hz": clock.spec.rate_hz, "interpolation": interpolation}
    )  # fmt: skip
    return ArraySignal(spec, clock.time_ns, values), values
