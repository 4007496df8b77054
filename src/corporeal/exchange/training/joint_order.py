"""The order of the joints in state and action, so that a training program cannot swap them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Joint
from corporeal.embodiment.joints import match_joints
from corporeal.errors import CorporealError
from corporeal.exchange.layout import ACTION, STATE, ColumnSpec, TableLayout
from corporeal.schema import Stream, roles

POSITIONS = (roles.JOINT_POSITION, roles.JOINT_POSITION_TARGET)
_OF_JOINTS = (*roles.MEASURED, *roles.COMMANDED)
_MOST_NAMED = 6


def joint_order(layout: TableLayout, robot: Embodiment | None) -> dict[str, Any]:
    """What stands where in the state and the action, as JSON.

    `index` is the joint's place in the robot's own order, None for an entry that is no joint.
    Limits are given for positions in the units of the robot's document.
    """
    return {
        "robot": robot.reference if robot is not None else None,
        "joints": list(robot.joint_names) if robot is not None else None,
        **{
            part: _described(layout.columns[key], robot)
            for part, key in (("state", STATE), ("action", ACTION))
            if key in layout.columns
        },
    }


def joints_of(column: ColumnSpec, robot: Embodiment | None) -> list[Joint | None]:
    """The robot's joint of every entry of a row; None where it is none, or of another robot."""
    return [joint for stream in column.streams for joint in _joints(stream, robot)]


def limits_of(column: ColumnSpec, robot: Embodiment | None) -> list[tuple[float, float] | None]:
    """Lower and upper limit of every entry that is the position of a joint in its own unit.

    A gripper in parts of its opening or a source in degrees has no use for radians.
    """
    limits: list[tuple[float, float] | None] = []
    for stream in column.streams:
        for joint, unit in zip_longest(_joints(stream, robot), stream.units[: stream.width]):
            is_position = stream.name in POSITIONS
            limits.append(_limits(joint, unit) if is_position and joint is not None else None)
    return limits


def check_order(expected: Mapping[str, Any], got: Mapping[str, Any]) -> None:
    """Raise CorporealError when two orders differ: names the joints that changed places.

    Both are what `joint_order` gives or what `joint_order.json` holds.
    """
    for part in ("state", "action"):
        wanted, given = (_names(each, part) for each in (expected, got))
        if wanted != given:
            raise CorporealError(f"{part}: {_difference(wanted, given)}")
        units = [list((each.get(part) or {}).get("units") or ()) for each in (expected, got)]
        if units[0] != units[1]:
            raise CorporealError(
                f"{part} is in other units, got {', '.join(sorted(set(units[1])))}; expected "
                f"{', '.join(sorted(set(units[0])))}. Convert one of them."
            )


def _described(column: ColumnSpec, robot: Embodiment | None) -> dict[str, Any]:
    joints, limits = joints_of(column, robot), limits_of(column, robot)
    numbers = {name: number for number, name in enumerate(robot.joint_names if robot else ())}
    names = column.names or tuple(map(str, range(len(joints))))
    return {
        "key": column.key,
        "names": list(names),
        "joints": [joint.name if joint is not None else None for joint in joints],
        "index": [numbers.get(joint.name) if joint is not None else None for joint in joints],
        "units": list(column.units),
        "lower": [ends[0] if ends is not None else None for ends in limits],
        "upper": [ends[1] if ends is not None else None for ends in limits],
    }


def _joints(stream: Stream, robot: Embodiment | None) -> list[Joint | None]:
    is_joints = stream.name in _OF_JOINTS or stream.name.startswith("joint_")
    if robot is None or not is_joints or len(stream.names) != stream.width:
        return [None] * stream.width
    by_name = {joint.name: joint for joint in robot.joints}
    return [by_name[name] if name else None for name in match_joints(stream.names, robot)]


def _limits(joint: Joint, unit: str | None) -> tuple[float, float] | None:
    if joint.lower is None or joint.upper is None or not joint.lower < joint.upper:
        return None
    own_unit = "m" if joint.type == "prismatic" else "rad"
    return (joint.lower, joint.upper) if unit == own_unit else None


def _names(order: Mapping[str, Any], part: str) -> list[str]:
    described = order.get(part) or {}
    names = described.get("names") if isinstance(described, Mapping) else None
    if names is None:
        return []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CorporealError(
            f"joint order: {part} has no list of names; expected joint_order.json."
        )
    return names


def _difference(wanted: Sequence[str], given: Sequence[str]) -> str:
    if sorted(wanted) == sorted(given):
        moved = [(number, ours, theirs)
                 for number, (ours, theirs) in enumerate(zip(wanted, given, strict=True))
                 if ours != theirs]  # fmt: skip
        listed = "; ".join(
            f"at {number} got {theirs}, expected {ours}"
            for number, ours, theirs in moved[:_MOST_NAMED]
        )
        more = f"; {len(moved) - _MOST_NAMED} more" if len(moved) > _MOST_NAMED else ""
        return f"{len(moved)} joints changed places: {listed}{more}. Reorder them by name."
    lacking = ", ".join(sorted(set(wanted) - set(given))[:_MOST_NAMED])
    strange = ", ".join(sorted(set(given) - set(wanted))[:_MOST_NAMED])
    return (
        f"other entries, got {len(given)} with {strange or 'none'} that are not expected; "
        f"expected {len(wanted)} with {lacking or 'none'} that are missing. Use data of one robot."
    )
