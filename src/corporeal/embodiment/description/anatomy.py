"""Legs, arms, hands and feet of a robot, told from the names of its joints and their tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from corporeal.embodiment.embodiment import Joint

LEG = frozenset(["leg", "hip", "thigh", "knee", "shin", "shank", "calf", "ankle", "foot", "toe"])
ARM = frozenset(["arm", "shoulder", "upperarm", "elbow", "forearm", "lowerarm", "wrist"])
DIGIT = frozenset(["thumb", "index", "middle", "ring", "pinky", "little"])
HAND = DIGIT | {"hand", "finger", "fingers", "palm"}
GRIPPER = frozenset(["gripper", "jaw"])
TORSO = frozenset(["waist", "torso", "spine", "chest", "abdomen", "trunk"])
NECK = frozenset(["neck", "head"])

SIDES = {"left": "left", "l": "left", "right": "right", "r": "right"}
SIDED = ("leg", "arm", "hand", "gripper")


@dataclass(frozen=True)
class RobotAnatomy:
    """What the names tell: joints by group, end-effector and foot links; empty where unclear."""

    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    end_effectors: dict[str, str] = field(default_factory=dict)
    feet: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    part: str | None
    side: str | None


def infer_anatomy(joints: Sequence[Joint]) -> RobotAnatomy:
    """Groups in the order of the joints; a limb that forks or has no side gets no end link.

    The end-effector is the link after the last arm joint, the foot the one after the last leg
    joint: both formats of one robot agree on these, but not on the frames fixed to them.
    """
    tree = _Tree(joints)
    places = {joint.name: _place(joint) for joint in joints}
    places = {joint.name: _settled(joint, places, tree) for joint in joints}
    groups: dict[str, list[str]] = {}
    for joint in joints:
        name = _group_name(places[joint.name])
        if name is not None:
            groups.setdefault(name, []).append(joint.name)
    ends = {name: tree.end_of(members) for name, members in groups.items()}
    hands = {
        name.replace("arm", "hand"): link
        for name, link in ends.items()
        if link is not None and name in ("left_arm", "right_arm", "arm")
    }
    feet = {
        name.removesuffix("_leg"): link
        for name, link in ends.items()
        if link is not None and name in ("left_leg", "right_leg")
    }
    return RobotAnatomy({name: tuple(members) for name, members in groups.items()}, hands, feet)


def words_of(name: str) -> list[str]:
    """A name in lower-case words: `LHipYaw`, `l_hip_yaw` and `l/hip.yaw` are all l, hip, yaw."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", name)]


class _Tree:
    """Which joint carries which."""

    def __init__(self, joints: Sequence[Joint]) -> None:
        self.joints = {joint.name: joint for joint in joints}
        self.above = {joint.child: joint.name for joint in joints}
        self.below: dict[str, list[str]] = {}
        for joint in joints:
            self.below.setdefault(joint.parent, []).append(joint.name)

    def ancestors(self, name: str) -> list[str]:
        """Joints between this one and the base, nearest first."""
        found: list[str] = []
        above = self.above.get(self.joints[name].parent)
        while above is not None and above not in found:
            found.append(above)
            above = self.above.get(self.joints[above].parent)
        return found

    def descendants(self, name: str) -> list[str]:
        """Joints that this one moves."""
        found: list[str] = []
        front = list(self.below.get(self.joints[name].child, []))
        while front:
            found.append(front.pop())
            front.extend(self.below.get(self.joints[found[-1]].child, []))
        return found

    def end_of(self, members: Sequence[str]) -> str | None:
        """The link after the last of these joints, if they lie on one chain."""
        inner = {name for member in members for name in self.ancestors(member)}
        last = [name for name in members if name not in inner]
        if len(last) != 1 or not set(members) <= {last[0], *self.ancestors(last[0])}:
            return None
        return self.joints[last[0]].child


def _place(joint: Joint) -> _Place:
    """Part and side by the joint's own name, else by the name of the link it moves."""
    for name in (joint.name, joint.child):
        words = words_of(name)
        part = _part(words, joint)
        if part is not None:
            # The first side is the limb's: `left/right_finger` belongs to the left arm.
            return _Place(part, next((SIDES[word] for word in words if word in SIDES), None))
    return _Place(None, None)


def _part(words: Sequence[str], joint: Joint) -> str | None:
    found = set(words)
    if found & GRIPPER or ("finger" in found and joint.type == "prismatic"):
        return "gripper"
    for part, vocabulary in (
        ("hand", HAND),
        ("leg", LEG),
        ("arm", ARM),
        ("neck", NECK),
        ("torso", TORSO),
    ):
        if found & vocabulary:
            return part
    return None


def _settled(joint: Joint, places: dict[str, _Place], tree: _Tree) -> _Place:
    """What the neighbours in the tree say about a joint whose own name is not enough."""
    place = places[joint.name]
    below = [places[name] for name in tree.descendants(joint.name)]
    if place.part == "torso" and any(
        other.part == "arm" and other.side == place.side for other in below
    ):
        # The turntable under a single arm is called waist too; a trunk carries arms of a side.
        return _Place("arm", place.side)
    if place.part == "hand" and any(other.part in ("hand", "gripper") for other in below):
        words = set(words_of(joint.name))
        if "hand" in words and not words & DIGIT:
            # What turns a whole hand is a wrist.
            return _Place("arm", place.side)
    if place.part in ("hand", "gripper"):
        for name in tree.ancestors(joint.name):
            if places[name].part == "arm":
                return _Place(place.part, places[name].side)
    return place


def _group_name(place: _Place) -> str | None:
    if place.part not in SIDED:
        return place.part
    if place.side is not None:
        return f"{place.side}_{place.part}"
    return None if place.part == "leg" else place.part
