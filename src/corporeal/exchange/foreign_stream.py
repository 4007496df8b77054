"""Streams of foreign data: which role a column plays, what its entries are, in which unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import are_joints, match_joints, matched_share
from corporeal.episode.recording import ArraySignal
from corporeal.schema import Stream, roles
from corporeal.schema.stream import Group

# Last words of a label, by what they hold if the entries are joints.
_JOINT_WORDS = {
    roles.JOINT_POSITION: r"state|joint_pos(itions?)?|joint_angles?|joint_states?|qpos",
    roles.JOINT_VELOCITY: r"velocity|joint_vel(ocity|ocities)?|qvel",
    roles.JOINT_TORQUE: r"effort|torques?|joint_torques?|joint_efforts?",
}
_PLAINLY_JOINTS = re.compile(r"(robot\d_)?(joint_\w+|qpos|qvel)")
_UNITS = {
    roles.JOINT_POSITION: ("rad", "m"),
    roles.JOINT_POSITION_TARGET: ("rad", "m"),
    roles.JOINT_VELOCITY: ("rad/s", "m/s"),
    roles.JOINT_TORQUE: ("N m", "N"),
}
_OTHER = {roles.JOINT_POSITION: roles.STATE, roles.JOINT_POSITION_TARGET: roles.ACTION}


def stream_name(label: str) -> str:
    """A label as the name of a stream: lower case, digits and underscores."""
    plain = re.sub(r"^(observations?|obs)[./]", "", label)
    plain = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")[:64]
    return plain if re.match(r"[a-z]", plain) else f"stream_{plain}"[:64]


def joint_role(label: str) -> str | None:
    """The role a label has if its columns are joints; None for a label that says otherwise."""
    last = stream_name(label)
    if re.match(r"^actions?\b", label):
        return roles.JOINT_POSITION_TARGET if last in (roles.ACTION, roles.ACTIONS) else None
    for role, words in _JOINT_WORDS.items():
        if re.fullmatch(rf"(robot\d_)?({words})", last):
            return role
    return None


def array_stream(
    label: str,
    values: NDArray[Any],
    *,
    rate_hz: float | None,
    names: Sequence[str] | None = None,
    robot: Embodiment | None = None,
    joints: Sequence[str | None] | None = None,
) -> Stream:
    """What numbers (T, ...) of any origin are, by their label and the names of their columns.

    `joints` gives the robot's joint of every column where the reader knows it better than names.
    """
    width = values.shape[-1] if values.ndim == 2 else 0
    named = tuple(names) if names is not None and len(names) == width and width else None
    columns = named or tuple(f"{number}" for number in range(width))
    role = joint_role(label)
    if robot is None or (joints is not None and len(joints) != width):
        joints = None
    elif joints is None and role is not None:
        joints = match_joints(columns, robot)
    share = matched_share(columns, joints) if joints is not None else 0.0
    plain = are_joints(named) if named else bool(_PLAINLY_JOINTS.fullmatch(stream_name(label)))
    is_joint = role is not None and (share >= 0.5 or plain)
    name = role if role is not None and is_joint else _OTHER.get(role or "", stream_name(label))
    components: tuple[str, ...] | None = named
    unit: str | tuple[str, ...] = "1"
    if is_joint and joints is not None and robot is not None:
        components, unit = _claimed(columns, joints, robot, name)
    elif is_joint and named is None and width:
        # So that they are not taken for the nameless columns of another stream, such as actions.
        components = tuple(f"joint_{number}" for number in range(width))
    if name == roles.BASE_POSE and components != roles.POSE:
        name = "base_pose_given"
    return Stream(
        name=name,
        group=_group(label),
        dtype=values.dtype.name,
        shape=values.shape[1:],
        rate_hz=rate_hz,
        unit=unit,
        components=components,
    )


def array_signal(
    label: str,
    values: NDArray[Any],
    time_ns: NDArray[np.int64],
    *,
    rate_hz: float | None,
    names: Sequence[str] | None = None,
    robot: Embodiment | None = None,
) -> ArraySignal:
    """Numbers (T, ...) as a signal in the role that its label and columns give it."""
    values = to_storable(values)
    spec = array_stream(label, values, rate_hz=rate_hz, names=names, robot=robot)
    return ArraySignal(spec, time_ns, values)


def picture_stream(
    label: str, *, height: int, width: int, rate_hz: float | None, group: Group = "observations"
) -> Stream:
    """A camera of a foreign dataset; its pictures may have an odd size, which ours may not."""
    return Stream.model_construct(
        name=stream_name(label.replace("images.", "")),
        group=group,
        kind="video",
        dtype="uint8",
        shape=(height, width, 3),
        rate_hz=rate_hz,
        unit="1",
    )


def _group(label: str) -> Group:
    return "actions" if re.match(r"^actions?\b", label) else "observations"


def to_storable(values: NDArray[Any]) -> NDArray[Any]:
    """The values in a type that streams have, with at least one axis beside time."""
    if values.dtype == np.float16 or (values.dtype.kind == "f" and values.dtype.itemsize > 8):
        values = values.astype(np.float64)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return values.reshape(len(values), 1) if values.ndim == 1 else values


def _claimed(
    columns: tuple[str, ...], joints: Sequence[str | None], robot: Embodiment, name: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and units of the columns of a robot's joints.

    Sliding joints stay unmatched: public sets store a gripper's opening as a share, not in metres.
    """
    turning = {joint.name for joint in robot.actuated if joint.type == "revolute"}
    components, units = [], []
    for column, joint in zip(columns, joints, strict=True):
        known = joint is not None and joint in turning
        own = f"{column}_given" if column in robot.joint_names else column
        components.append(joint if known and joint is not None else own)
        units.append(_UNITS[name][0] if known else "1")
    return tuple(components), tuple(units)
