"""Which limb a joint or a column belongs to: by the robot's groups, else by its name."""

from __future__ import annotations

import re
from typing import Literal

from corporeal.embodiment.description.body_words import (
    ARM,
    GRIPPER,
    HAND,
    LEG,
    NECK,
    TORSO,
    split_name,
)
from corporeal.embodiment.embodiment import Embodiment

Limb = Literal["hand", "arm", "leg", "torso", "neck"]

# The Shadow hand counts its joints by finger: FFJ1 is in the first finger, THJ5 in the thumb.
_SHADOW = frozenset(["ffj", "mfj", "rfj", "lfj", "thj"])
_WORDS: tuple[tuple[Limb, frozenset[str]], ...] = (
    ("hand", HAND | GRIPPER | _SHADOW | {"claw", "opening"}),
    ("leg", LEG),
    ("arm", ARM | {"wrj"}),
    ("neck", NECK),
    ("torso", TORSO),
)
# Names that run their words together; short words would be found inside of others.
_INSIDE: tuple[tuple[Limb, re.Pattern[str]], ...] = (
    ("hand", re.compile(r"finger|thumb|gripper|pinky|claw|hand(?!le)", re.IGNORECASE)),
    ("leg", re.compile(r"thigh|knee|ankle", re.IGNORECASE)),
    ("arm", re.compile(r"shoulder|elbow|forearm|wrist", re.IGNORECASE)),
)


def limb_of(name: str, robot: Embodiment | None = None) -> Limb | None:
    """The limb of a joint or column; None where neither the robot nor the name tells."""
    group = robot.group_of(name) if robot is not None else None
    return _named(name) if group is None else _named(group) or _named(name)


def is_hand(name: str, robot: Embodiment | None = None) -> bool:
    """Whether it is part of a hand or a gripper."""
    return limb_of(name, robot) == "hand"


def is_arm(name: str, robot: Embodiment | None = None) -> bool:
    """Whether it is part of an arm, shoulder to wrist."""
    return limb_of(name, robot) == "arm"


def is_leg(name: str, robot: Embodiment | None = None) -> bool:
    """Whether it is part of a leg, hip to foot."""
    return limb_of(name, robot) == "leg"


def words_in_name(name: str) -> frozenset[str]:
    """The words of a name in lower case without numbers, however they are spelt."""
    return frozenset(word.rstrip("0123456789") for word in split_name(name))


def _named(name: str) -> Limb | None:
    words = words_in_name(name)
    for limb, vocabulary in _WORDS:
        if words & vocabulary:
            return limb
    return next((limb for limb, pattern in _INSIDE if pattern.search(name)), None)
