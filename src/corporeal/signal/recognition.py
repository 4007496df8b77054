"""What numbers of any origin are: told from label, names, content and the robot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import match_joints, matched_share, words_in_name
from corporeal.schema import roles

# Last words of a label, by what they hold if the entries are joints.
_JOINT_WORDS = {
    roles.JOINT_POSITION: r"state|joint_pos(itions?)?|joint_angles?|joint_states?|qpos",
    roles.JOINT_VELOCITY: r"velocity|joint_vel(ocity|ocities)?|qvel",
    roles.JOINT_TORQUE: r"efforts?|torques?|joint_torques?|joint_efforts?",
}
_ACTION = re.compile(r"actions?\b")
IMU_NAMES = ("ax", "ay", "az", "wx", "wy", "wz")
IMU_UNITS = ("m/s2",) * 3 + ("rad/s",) * 3
_QUANTITIES = {
    "a": r"a|acc|accel|acceleration|linear_acceleration|lin_acc|accelerometer",
    "w": r"w|g|gyr|gyro|gyroscope|angular_velocity|ang_vel|omega",
}
_FILLERS = frozenset(
    [
        "imu",
        "data",
        "raw",
        "sensor",
        "sensors",
        "link",
        "frame",
        "observation",
        "observations",
        "obs",
        "msgs",
        "state",
        "test",
    ]
)  # fmt: skip
_SLIDING = {"rad": "m", "rad/s": "m/s", "N m": "N"}
_GRAVITY = (7.0, 13.0)


def is_action_label(label: str) -> bool:
    """Whether a dataset calls these numbers an action."""
    return _ACTION.match(label) is not None


def is_instruction_label(label: str) -> bool:
    """Whether a text of this name says what the robot is to do."""
    words = [word for word in re.split(r"[^a-z0-9]+", label.lower()) if word]
    return bool(words) and words[-1] in ("instruction", "instructions", "prompt", "task")


def joint_role(label: str, name: str) -> str | None:
    """The role a label has if its columns are joints; None for a label that says otherwise.

    `name` is the label as the name of a stream.
    """
    if is_action_label(label):
        return roles.JOINT_POSITION_TARGET if name in (roles.ACTION, roles.ACTIONS) else None
    for role, words in _JOINT_WORDS.items():
        if re.fullmatch(rf"(robot\d_)?({words})", name):
            return role
    return None


def claim_joints(
    names: Sequence[str], unit: str, robot: Embodiment
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Columns of a source that states joints, under the robot's names and with a unit each.

    None when fewer than half of them are joints of this robot. A joint that slides is in metres.
    """
    joints = match_joints(names, robot)
    if matched_share(names, joints) < 0.5:
        return None
    sliding = {joint.name for joint in robot.joints if joint.type == "prismatic"}
    components, units = [], []
    for column, joint in zip(names, joints, strict=True):
        own = f"{column}_given" if column in robot.joint_names else column
        components.append(own if joint is None else joint)
        units.append(_SLIDING.get(unit, unit) if joint in sliding else unit)
    return tuple(components), tuple(units)


def imu_columns(names: Sequence[str]) -> tuple[str, ...] | None:
    """`ax` to `wz` for columns that are an accelerometer and a gyroscope, whatever they are called.

    Further columns keep their names. None when not all three axes of one of them are there.
    """
    known = [_imu_column(name) for name in names]
    if not any({f"{letter}{axis}" for axis in "xyz"} <= set(known) for letter in _QUANTITIES):
        return None
    if len(set(filter(None, known))) < sum(name is not None for name in known):
        return None
    return tuple(own or name for own, name in zip(known, names, strict=True))


def _imu_column(name: str) -> str | None:
    plain = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    match = re.fullmatch(r"(?:imu_)?(.+?)_?([xyz])", plain)
    if match is None:
        return None
    for letter, words in _QUANTITIES.items():
        if re.fullmatch(words, match[1]):
            return f"{letter}{match[2]}"
    return None


def imu_units(names: Sequence[str], values: NDArray[Any]) -> tuple[str, ...]:
    """The unit of every column (T, n): m/s2 if gravity has that size in it, otherwise bare."""
    columns = [names.index(name) for name in IMU_NAMES[:3] if name in names]
    units = ["1"] * len(names)
    if len(columns) == 3 and len(values):
        size = float(np.nanmedian(np.linalg.norm(values[:, columns].astype(np.float64), axis=1)))
        if _GRAVITY[0] < size < _GRAVITY[1]:
            for column in columns:
                units[column] = "m/s2"
    return tuple(units)


def sensor_name(label: str, frame: str | None, ending: str) -> str:
    """The name of a stream with this role's ending: from the label, the frame, or `body`."""
    kind = ending.strip("_")
    for text in (label, frame or ""):
        words = [word for word in re.split(r"[^a-z0-9]+", text.lower()) if word]
        stem = [word for word in words if word not in _FILLERS and word != kind]
        if stem and stem[0][0].isalpha():
            return f"{'_'.join(stem)[: 63 - len(ending)]}{ending}"
    return f"body{ending}"


def says_command(topic: str) -> bool:
    """True for a topic that says of itself that it commands: also the arm that leads another."""
    words = words_in_name(topic) | set(re.split(r"[^a-z0-9]+", topic.lower()))
    leads = {"cmd", "cmds", "leader", "master", "desired", "goal", "target", "targets", "setpoint"}
    return any("command" in word for word in words) or bool(words & leads)
