"""Finds the points of a body in any skeleton: by names, by what hangs on what, by lengths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corporeal.retargeting.motion import POINTS, SIDES
from corporeal.retargeting.person.hierarchy import Hierarchy

_OPPOSITE = {"left": "right", "right": "left"}
# Rigs carry joints that no person has: they turn the skin, or hold what an animator pulls.
_NOT_OF_A_BODY = ("twist", "roll", "helper", "pole", "target", "ctrl", "control")
# What programs put into names, and what says nothing about a body.
_NOISE = {"c", "j", "b", "def", "org", "jnt", "joint", "bone", "bip", "character", "skeleton"}
_WORD = re.compile(r"LEFT|RIGHT|[LR](?=[A-Z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class JointName:
    """A name taken apart: `left`, `right` or no side, and the word that is left."""

    side: str
    word: str

    @property
    def of_a_body(self) -> bool:
        """Whether a person may have this joint, for all the name says."""
        return not any(part in self.word for part in _NOT_OF_A_BODY)


def take_apart(names: Sequence[str]) -> list[JointName]:
    """Every name in its parts; what all names begin with, such as `Bip01`, is left out."""
    split = [_WORD.findall(name.rpartition(":")[2]) or [name] for name in names]
    shared = _shared_beginning(split)
    lowered = [[word.lower() for word in words[shared:]] for words in split]
    sided = [_with_side(words) for words in lowered]
    present = {(side, tuple(words)) for side, words in sided}
    parts = []
    for words, (side, rest) in zip(lowered, sided, strict=True):
        # A letter is a side only if the same joint is there on the other side: L5 is none.
        twin = bool(side) and (_OPPOSITE[side], tuple(rest)) in present
        parts.append(JointName(side, _word(rest)) if twin else JointName("", _word(words)))
    return parts


def _with_side(words: list[str]) -> tuple[str, list[str]]:
    """The side that the words speak of, and the words without it; the clearest sign wins."""
    whole = [(side, side) for side in SIDES]
    letters = [(side, side[0]) for side in SIDES]
    for signs in (whole, letters):
        for at, word in enumerate(words):
            for side, sign in signs:
                if word == sign:
                    return side, words[:at] + words[at + 1 :]
        if signs is whole:
            for at, word in enumerate(words):
                for side in SIDES:
                    if word.startswith(side) or word.endswith(side):
                        return side, [*words[:at], word.replace(side, "", 1), *words[at + 1 :]]
    for side in SIDES:  # lfemur, rhumerus
        if words and words[0].startswith(side[0]) and len(words[0]) > 2:
            return side, [words[0][1:], *words[1:]]
    return "", words


def _word(words: Sequence[str]) -> str:
    letters = [word for word in words if not word.isdigit()]
    return "".join(word for word in letters if word not in _NOISE) or "".join(letters)


def _shared_beginning(split: Sequence[list[str]]) -> int:
    """How many words all names begin with, leaving each name at least one."""
    shortest = min((len(words) for words in split), default=0)
    shared = 0
    while shared < shortest and len({words[shared] for words in split}) == 1:
        shared += 1
    return min(shared, max(shortest - 1, 0))


# Words for the lower end of the upper limb, the surest first; the rest follows from the tree.
_KNEE = ("knee", "lowerleg", "lowleg", "legl", "shin", "calf", "tibia", "shank", "leglower", "leg")
_HIP = ("upleg", "upperleg", "thigh", "femur", "legupper", "uleg", "hip", "leg", "hipjoint")
_ANKLE = ("ankle", "foot", "talus", "tarsal")
_ELBOW = ("elbow", "forearm", "lowerarm", "lowarm", "farm", "radius", "ulna", "armlower")
_SHOULDER = ("upperarm", "uparm", "uarm", "arm", "humerus", "armupper", "shldr", "shoulder")
_WRIST = ("wrist", "hand", "carpus")
_KNUCKLES = ("middle", "mid", "fingers", "index", "ring", "fingerbase")
# An end this far out, in forearms, is a fingertip rather than a knuckle.
_FINGERTIP = 0.55


@dataclass(frozen=True)
class SkeletonPoints:
    """Points of a body, each one joint or the middle of several, and the joints that turn parts."""

    points: dict[str, tuple[int, ...]]
    segments: dict[str, int]


def find_points(
    hierarchy: Hierarchy, root: int = 0, given: Mapping[str, tuple[int, ...]] | None = None
) -> SkeletonPoints:
    """Every point of a body that can be found below `root`; what is not sure is left out.

    Points that are `given` stay as they are, and the others are found from there.
    """
    return _Search(hierarchy, root, given or {}).result()


def _carriers(hierarchy: Hierarchy, points: dict[str, tuple[int, ...]]) -> dict[str, int]:
    """The joint that turns each segment: what both hips hang on, what both shoulders hang on."""
    carriers: dict[str, int] = {}
    for segment, part in (("pelvis", "hip"), ("chest", "shoulder")):
        ends = [points.get(f"{side}_{part}", ()) for side in SIDES]
        if all(len(each) == 1 for each in ends):
            meeting = hierarchy.meeting(ends[0][0], ends[1][0])
            if meeting >= 0:
                carriers[segment] = meeting
    if points.get("head"):
        carriers["head"] = points["head"][0]
    for side in SIDES:
        for segment, start, end in (("foot", "ankle", "toe"), ("hand", "wrist", "hand")):
            first, last = points.get(f"{side}_{start}", ()), points.get(f"{side}_{end}", ())
            if len(first) == 1 and last:
                carriers[f"{side}_{segment}"] = _turner(hierarchy, first[0], last[-1])
    return carriers


def _turner(hierarchy: Hierarchy, first: int, last: int) -> int:
    """The joint that turns what lies between two: several may be stacked in the first's place."""
    chain = hierarchy.ancestors(last)[1:]
    between = chain[: chain.index(first)] if first in chain else []
    here = hierarchy.rest[first]
    return next((each for each in between if np.allclose(hierarchy.rest[each], here)), first)


class _Search:
    """One skeleton on its way to becoming a body."""

    def __init__(
        self, hierarchy: Hierarchy, root: int, given: Mapping[str, tuple[int, ...]]
    ) -> None:
        self.tree = hierarchy
        self.below = [root, *hierarchy.descendants(root)]
        joints = [each for each in self.below if not hierarchy.joints[each].is_end]
        apart = take_apart([hierarchy.names[each] for each in joints])
        self.names: dict[int, JointName] = dict(zip(joints, apart, strict=True))
        self.points: dict[str, tuple[int, ...]] = dict(given)

    def result(self) -> SkeletonPoints:
        for side in SIDES:
            self._leg(side)
            self._arm(side)
        self._trunk()
        return SkeletonPoints(
            {name: self.points[name] for name in POINTS if name in self.points},
            _carriers(self.tree, self.points),
        )

    def _leg(self, side: str) -> None:
        knee = self._hinge(side, "knee", "hip", _KNEE, _HIP)
        if knee is None:
            return
        ankle = self._beyond(knee, side, "ankle", _ANKLE)
        if ankle is None:
            return
        beyond = self.tree.descendants(ankle)
        heels = [each for each in beyond if "heel" in self._word(each)]
        if heels:
            self._is(f"{side}_heel", heels[0])
        front = [each for each in beyond if each not in heels and "heel" not in self._word(each)]
        if front:
            toe = max(front, key=lambda each: self._apart(ankle, each))
            if self._apart(ankle, toe) > 0.2 * self._apart(knee, ankle):
                self._is(f"{side}_toe", toe)

    def _arm(self, side: str) -> None:
        elbow = self._hinge(side, "elbow", "shoulder", _ELBOW, _SHOULDER)
        if elbow is None:
            return
        wrist = self._beyond(elbow, side, "wrist", _WRIST)
        if wrist is not None:
            self._hand(side, elbow, wrist)

    def _hand(self, side: str, elbow: int, wrist: int) -> None:
        beyond = [each for each in self.tree.descendants(wrist) if self._apart(wrist, each) > 0]
        forearm = self._apart(elbow, wrist)
        fingers = [each for each in beyond if "thumb" not in self._word(each)]
        for word in _KNUCKLES:
            row = [
                each
                for each in fingers
                if each in self.names
                and word in self._word(each)
                and self._apart(wrist, each) > 0.12 * forearm
            ]
            if row:
                self._is(f"{side}_hand", min(row, key=lambda each: self._apart(wrist, each)))
                return
        near = [each for each in fingers if "thumb" not in self.tree.names[each].lower()]
        if near:
            end = max(near, key=lambda each: self._apart(wrist, each))
            tip = self._apart(wrist, end) > _FINGERTIP * forearm
            self._is(f"{side}_hand", *((wrist, end) if tip else (end,)))

    def _trunk(self) -> None:
        points, tree = self.points, self.tree
        both = {
            part: [points.get(f"{s}_{part}", ()) for s in SIDES] for part in ("hip", "shoulder")
        }
        if not all(all(ends) for ends in both.values()):
            return
        hips, shoulders = ([ends[0][0], ends[1][0]] for ends in both.values())
        self._is("pelvis", *hips)
        low, high = tree.meeting(*hips), tree.meeting(*shoulders)
        head = self._middle_joint("head", "skull")
        neck = self._middle_joint("neck", "lowerneck", "necklower", "cervical")
        if neck is None and high >= 0:
            collars = [self._collar(each, high) for each in shoulders]
            self._is("neck", *collars)
        elif neck is not None:
            self._is("neck", neck)
        if head is not None:
            ends = [each for each in tree.children[head] if self._is_crown(head, each)]
            self._is("head", head, *ends[:1])
        if low < 0 or high < 0 or low == high:
            return
        self._is("chest", high)
        spine = [each for each in tree.ancestors(high)[1:] if each in self.names]
        between = spine[: spine.index(low)] if low in spine else []
        distinct = [each for each in between if self._apart(low, each) > 0]
        if distinct:
            self._is("spine", distinct[len(distinct) // 2])

    def _beyond(self, hinge: int, side: str, part: str, words: Iterable[str]) -> int | None:
        """The ankle or the wrist: as given, by its name, or all that hangs on the hinge."""
        joint = self._known(f"{side}_{part}")
        if joint is None:
            joint = self._first(side, words, self.tree.descendants(hinge))
        if joint is None:
            joint = self._only_child(hinge)
        if joint is not None:
            self._is(f"{side}_{part}", joint)
        return joint

    def _known(self, point: str) -> int | None:
        return self.points[point][0] if point in self.points else None

    def _hinge(
        self, side: str, lower: str, upper: str, low_words: Iterable[str], high_words: Iterable[str]
    ) -> int | None:
        """The knee or the elbow, found together with the joint above it unless both are known."""
        if self._known(f"{side}_{lower}") is None or self._known(f"{side}_{upper}") is None:
            low, high = self._limb(side, low_words, high_words)
            if low is not None and high is not None:
                self._is(f"{side}_{lower}", low)
                self._is(f"{side}_{upper}", high)
        return self._known(f"{side}_{lower}")

    def _limb(
        self, side: str, lower: Iterable[str], upper: Iterable[str]
    ) -> tuple[int | None, int | None]:
        """The hinge in the middle of a limb, and the joint above it."""
        words = tuple(upper)
        for word in lower:
            hinge = self._first(side, (word,), self.names)
            if hinge is None:
                continue
            for above in self.tree.ancestors(hinge)[1:]:
                name = self.names.get(above)
                fits = name is not None and name.side == side and name.word in words
                if fits and self._apart(above, hinge) > 0:
                    return hinge, self._beginning(above)
        return None, None

    def _beginning(self, joint: int) -> int:
        """The first of the joints that a rig splits one bone into: upperarm01, upperarm02."""
        for above in self.tree.ancestors(joint)[1:]:
            if self.names.get(above) != self.names[joint]:
                break
            joint = above
        return joint

    def _first(self, side: str, words: Iterable[str], among: Iterable[int]) -> int | None:
        """The joint nearest to the root that has the first of `words` that any joint has."""
        inside = [each for each in among if each in self.names and self.names[each].side == side]
        for word in words:
            for each in inside:
                if self.names[each].word == word and self.names[each].of_a_body:
                    return each
        return None

    def _middle_joint(self, *words: str) -> int | None:
        return self._first("", words, self.names)

    def _collar(self, shoulder: int, chest: int) -> int:
        """The joint between the shoulder and the chest, the shoulder if there is none."""
        chain = self.tree.ancestors(shoulder)
        return chain[max(0, chain.index(chest) - 1)]

    def _only_child(self, joint: int) -> int | None:
        children = [each for each in self.tree.children[joint] if self._apart(joint, each) > 0]
        return children[0] if len(children) == 1 else None

    def _is_crown(self, head: int, child: int) -> bool:
        name = self.names.get(child)
        top = name is None or any(word in name.word for word in ("top", "end", "crown"))
        return top and self._apart(head, child) > 0

    def _word(self, joint: int) -> str:
        name = self.names.get(joint)
        return "" if name is None else name.word

    def _apart(self, first: int, second: int) -> float:
        return float(np.linalg.norm(self.tree.rest[first] - self.tree.rest[second]))

    def _is(self, point: str, *joints: int) -> None:
        self.points.setdefault(point, joints)
