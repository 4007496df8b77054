"""Which columns belong to hands and grippers, by their names."""

from __future__ import annotations

import re

from corporeal.embodiment import Embodiment

_HAND = re.compile(
    r"hand|finger|thumb|gripper|index|middle|ring|pinky|little|jaw|claw|palm|opening", re.IGNORECASE
)


def is_hand(name: str, robot: Embodiment | None) -> bool:
    """Whether a column is part of a hand: by the robot's groups, else by its name."""
    group = robot.group_of(name) if robot is not None else None
    if group is not None:
        return "hand" in group or "gripper" in group
    return _HAND.search(name) is not None
