"""What is known of well-known RLDS datasets and does not stand in their files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from corporeal.schema import roles

RATE_HZ = 10.0
"""The control rate of a set that nobody knows; that of most of Open X-Embodiment."""


@dataclass(frozen=True)
class KnownColumns:
    """Names and units of the entries of a feature."""

    names: tuple[str, ...]
    units: tuple[str, ...]

    def __add__(self, other: KnownColumns) -> KnownColumns:
        return KnownColumns(self.names + other.names, self.units + other.units)


@dataclass(frozen=True)
class KnownSet:
    """A dataset or a family of them: control rate, and columns by the path in a step.

    `outcome` finds the outcome in the path of the file that an episode was made of.
    """

    rate_hz: float
    columns: Mapping[str, KnownColumns] = field(default_factory=dict)
    outcome: re.Pattern[str] | None = None


_PLACE = KnownColumns(roles.POSITION, ("m",) * 3)
_EULER = KnownColumns(("roll", "pitch", "yaw"), ("rad",) * 3)
_QUATERNION = KnownColumns(("qx", "qy", "qz", "qw"), ("1",) * 4)
_GRIPPER = KnownColumns(("gripper",), ("1",))
_SEVEN_JOINTS = KnownColumns(tuple(f"joint_{number}" for number in range(7)), ("rad",) * 7)

# By a word in the name of the dataset. Commanded velocities are left out: they are shares of a
# largest one, and so without a unit.
_SETS: Mapping[str, KnownSet] = {
    "bridge": KnownSet(5.0, {"observation/state": _PLACE + _EULER + _GRIPPER}),
    "droid": KnownSet(
        15.0,
        {
            "observation/cartesian_position": _PLACE + _EULER,
            "observation/joint_position": _SEVEN_JOINTS,
            "action_dict/cartesian_position": _PLACE + _EULER,
            "action_dict/joint_position": _SEVEN_JOINTS,
        },
        outcome=re.compile(r"(?:^|/)(success|failure)/"),
    ),
    "fractal": KnownSet(3.0, {"observation/base_pose_tool_reached": _PLACE + _QUATERNION}),
    "kuka": KnownSet(
        10.0, {"observation/clip_function_input/base_pose_tool_reached": _PLACE + _QUATERNION}
    ),
    "taco_play": KnownSet(15.0),
    "toto": KnownSet(30.0),
    "viola": KnownSet(20.0),
}


def known_set(name: str) -> KnownSet | None:
    """What is known of the dataset with this name."""
    for word, known in _SETS.items():
        if re.search(rf"(^|[^a-z]){word}", name.lower()):
            return known
    return None
