"""Legs, arms, hands and feet of a robot: by the names of its joints, else by their tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from corporeal.embodiment.description.body_tree import (
    BodyPlan,
    LimbPair,
    far_tip,
    read_body_plan,
)
from corporeal.embodiment.description.body_words import (
    ARM,
    DIGIT,
    GRIPPER,
    HAND,
    LEG,
    NECK,
    TORSO,
    words_in,
)
from corporeal.embodiment.embodiment import Joint, Link, Vector

SIDED = ("leg", "arm", "hand", "gripper")


@dataclass(frozen=True)
class RobotAnatomy:
    """Joints by group, end-effector and foot links; empty where unclear.

    A limb that goes on far beyond its last joint, as a forearm without a wrist, has its end at
    the place in `tips`, by link.
    """

    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    end_effectors: dict[str, str] = field(default_factory=dict)
    feet: dict[str, str] = field(default_factory=dict)
    tips: dict[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True)
class _Place:
    part: str | None
    side: str | None


def infer_anatomy(joints: Sequence[Joint], links: Sequence[Link] = ()) -> RobotAnatomy:
    """Groups in the order of the joints; a limb that forks or has no side gets no end link.

    Names count first; joints whose names say nothing are told from the tree, with the shapes of
    the `links`. The end-effector is the link after the last arm joint, the foot the one after the
    last leg joint: both formats of one robot agree on these, but not on frames fixed to them.
    """
    tree = _Tree(joints)
    by_joint, by_link = (
        words_in([getattr(joint, end) for joint in joints]) for end in ("name", "child")
    )
    places = {
        joint.name: _place(joint, *words)
        for joint, *words in zip(joints, by_joint, by_link, strict=True)
    }
    words_of = dict(zip((joint.name for joint in joints), by_joint, strict=True))
    places = {
        joint.name: _settled(joint, set(words_of[joint.name]), places, tree) for joint in joints
    }
    places |= _told_by_tree(read_body_plan(joints, links), places, words_of, tree)
    groups: dict[str, list[str]] = {}
    for joint in joints:
        name = _group_name(places[joint.name])
        if name is not None:
            groups.setdefault(name, []).append(joint.name)
    ends = {name: tree.end_of(_without_toes(members, words_of)) for name, members in groups.items()}
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
    tips = {
        link: tip
        for name, members in groups.items()
        if (link := ends[name]) is not None and link in (*hands.values(), *feet.values())
        if (tip := far_tip(joints, links, members, link)) is not None
    }
    return RobotAnatomy(
        {name: tuple(members) for name, members in groups.items()}, hands, feet, tips
    )


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
        # Rods without a motor beside a limb are not where it goes on.
        driven = [name for name in members if self.joints[name].actuated]
        members = driven or members
        inner = {name for member in members for name in self.ancestors(member)}
        last = [name for name in members if name not in inner]
        if len(last) != 1 or not set(members) <= {last[0], *self.ancestors(last[0])}:
            return None
        return self.joints[last[0]].child


def _place(joint: Joint, by_joint: Sequence[str], by_link: Sequence[str]) -> _Place:
    """Part and side by the joint's own name, else by the name of the link it moves."""
    for words in (by_joint, by_link):
        part = _part(words, joint)
        if part is not None:
            # The first side is the limb's: `left/right_finger` belongs to the left arm.
            sides = [word for word in words if word in ("left", "right")]
            return _Place(part, next(iter(sides), None))
    return _Place(None, None)


def _part(words: Sequence[str], joint: Joint) -> str | None:
    spoken = {word.rstrip("0123456789") for word in words}
    if spoken & GRIPPER or ("finger" in spoken and joint.type == "prismatic"):
        return "gripper"
    for part, vocabulary in (
        ("hand", HAND),
        ("leg", LEG),
        ("arm", ARM),
        ("neck", NECK),
        ("torso", TORSO),
    ):
        if spoken & vocabulary:
            return part
    return None


def _settled(joint: Joint, words: set[str], places: dict[str, _Place], tree: _Tree) -> _Place:
    """What the neighbours in the tree say about a joint whose own name is not enough."""
    place = places[joint.name]
    below = [places[name] for name in tree.descendants(joint.name)]
    if place.part == "torso" and any(
        other.part == "arm" and other.side == place.side for other in below
    ):
        # The turntable under a single arm is called waist too; a trunk carries arms of a side.
        return _Place("arm", place.side)
    moves_fingers = any(other.part in ("hand", "gripper") for other in below)
    if place.part == "hand" and moves_fingers and "hand" in words and not words & DIGIT:
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


def _told_by_tree(
    plan: BodyPlan, places: dict[str, _Place], words: dict[str, tuple[str, ...]], tree: _Tree
) -> dict[str, _Place]:
    """Places of the joints whose names say nothing, as far as the tree tells them."""
    told: dict[str, _Place] = {}
    for pair in plan.pairs:
        for chain, side in zip((pair.first, pair.second), _sides(pair, places, words), strict=True):
            spoken = [places[name].part for name in chain]
            parts = [
                part for part in spoken if part is not None and part not in ("hand", "gripper")
            ]
            if side is None or parts.count(pair.part) < len(parts) / 2:
                continue
            told |= {name: _Place(pair.part, side) for name in chain}
            told |= {
                name: _Place("gripper" if tree.joints[name].type == "prismatic" else "hand", side)
                for name in plan.fingers.get(chain[0], ())
            }
    for part, names in (("torso", plan.torso), ("neck", plan.neck)):
        told |= {name: _Place(part, None) for name in names}
    return {name: place for name, place in told.items() if places[name].part is None}


def _sides(
    pair: LimbPair, places: dict[str, _Place], words: dict[str, tuple[str, ...]]
) -> tuple[str | None, str | None]:
    """The sides of two limbs: as their names say, else as the tree does."""
    spoken = []
    for chain in (pair.first, pair.second):
        sides = [places[name].side for name in chain]
        sides += [word for name in chain for word in words[name] if word in ("left", "right")]
        spoken.append(max(("left", "right"), key=sides.count) if any(sides) else None)
    if set(spoken) == {"left", "right"}:
        return spoken[0], spoken[1]
    return ("left", "right") if pair.sided else (None, None)


def _without_toes(members: Sequence[str], words: dict[str, tuple[str, ...]]) -> Sequence[str]:
    """A leg up to its foot: toes that bend come after the sole."""
    if not any({"ankle", "foot"} & set(words[name]) for name in members):
        return members
    return [name for name in members if not {"toe", "toes"} & set(words[name])]
