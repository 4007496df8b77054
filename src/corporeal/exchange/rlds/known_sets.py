"""What is known of published RLDS datasets and not in their files: rate, columns, outcome."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

RATE_HZ = 10.0
"""The control rate of a set that nobody knows; that of most of Open X-Embodiment."""

NamedUnits = tuple[tuple[str, str], ...]
"""Name and unit of every entry of a feature."""


@dataclass(frozen=True)
class KnownSet:
    """A dataset or a family of them: control rate, and columns by the path in a step.

    `outcome` finds the outcome in the path of the file that an episode was made of.
    """

    rate_hz: float
    columns: Mapping[str, NamedUnits] = field(default_factory=dict)
    outcome: re.Pattern[str] | None = None


_POSITION: NamedUnits = (("x", "m"), ("y", "m"), ("z", "m"))
_EULER: NamedUnits = (("roll", "rad"), ("pitch", "rad"), ("yaw", "rad"))
_QUATERNION: NamedUnits = (("qx", "1"), ("qy", "1"), ("qz", "1"), ("qw", "1"))
_GRIPPER: NamedUnits = (("gripper", "1"),)
_SEVEN_JOINTS: NamedUnits = tuple((f"joint_{number}", "rad") for number in range(7))

# By a word in the name of the dataset. Commanded velocities are left out: they are shares of a
# largest one, and so without a unit.
_SETS: Mapping[str, KnownSet] = {
    "bridge": KnownSet(5.0, {"observation/state": _POSITION + _EULER + _GRIPPER}),
    "droid": KnownSet(
        15.0,
        {
            "observation/cartesian_position": _POSITION + _EULER,
            "observation/joint_position": _SEVEN_JOINTS,
            "action_dict/cartesian_position": _POSITION + _EULER,
            "action_dict/joint_position": _SEVEN_JOINTS,
        },
        outcome=re.compile(r"(?:^|/)(success|failure)/"),
    ),
    "fractal": KnownSet(3.0, {"observation/base_pose_tool_reached": _POSITION + _QUATERNION}),
    "kuka": KnownSet(
        10.0, {"observation/clip_function_input/base_pose_tool_reached": _POSITION + _QUATERNION}
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
