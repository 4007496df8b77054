"""Legs and arms told from the tree of joints alone: two chains that mirror each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from corporeal.embodiment.embodiment import Joint, Link, Vector
from corporeal.geometry import Array, matrix_from_rpy, matrix_from_vector, middle_point, normalise

# A limb has at least so many joints; twins differ by less than this share of their length.
LEAST_JOINTS, TWIN_SHARE = 3, 0.06
# Limbs whose first joints are nearer to each other than this are no pair, m.
APART_M = 0.02
# A limb goes on beyond its last joint if what follows is this share of what came before.
FAR_SHARE = 0.5
# Cosine of how far from an axis a direction may be and still be meant as that axis.
NEAR = np.cos(np.radians(40.0))


@dataclass(frozen=True)
class LimbPair:
    """Two limbs that mirror each other: their joints outwards, up to where a hand forks.

    `first` is the left one where `sided` says that the tree tells it.
    """

    part: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    sided: bool


@dataclass(frozen=True)
class BodyPlan:
    """What the tree tells: pairs of limbs, the joints that carry the arms, and the neck's."""

    pairs: tuple[LimbPair, ...] = ()
    torso: tuple[str, ...] = ()
    neck: tuple[str, ...] = ()
    fingers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_body_plan(joints: Sequence[Joint], links: Sequence[Link] = ()) -> BodyPlan:
    """The limbs of a robot that has two legs, two arms or both; nothing where it is unclear."""
    tree = _Placed(joints, links)
    twins = list(_twins(tree))
    if len(twins) > 2 or not twins:
        return BodyPlan()
    parts = _name_parts(tree, twins)
    legs, arms = (next((pair for pair, part in parts if part == name), None) for name in _PARTS)
    left = _left(tree, legs, arms)
    pairs = tuple(_sided(tree, pair, part, left) for pair, part in parts)
    if arms is None:
        return BodyPlan(pairs)
    trunk = tree.above(arms[0][0])
    torso = tuple(reversed(trunk[: len(trunk) - _wheels(tree, trunk[::-1])]))
    limbs = {name for pair in twins for chain in pair for name in chain}
    neck = [
        chain
        for chain in (tree.chain(name) for name in tree.below[tree.joints[arms[0][0]].parent])
        if not limbs & set(chain) and len(chain) <= 4 and _is_central(tree, chain[0], arms)
    ]
    fingers = {chain[0]: tuple(tree.all_below(chain[-1])) for chain in arms}
    # Two central chains are no neck: it is not clear which of them carries the head.
    return BodyPlan(pairs, torso, tuple(neck[0]) if len(neck) == 1 else (), fingers)


def far_tip(
    joints: Sequence[Joint], links: Sequence[Link], members: Sequence[str], end: str
) -> Vector | None:
    """Where a limb ends in the axes of its last link, if that is far beyond its last joint.

    Twice as far as the mass of that link, since limbs are about even; else its farthest shape.
    """
    tree = _Placed(joints, links)
    last = next(joint.name for joint in joints if joint.child == end)
    first = min(members, key=lambda name: len(tree.above(name)))
    link = next((link for link in links if link.name == end), None)
    if link is None:
        return None
    tip = tree.tip([last]) - tree.origin[last]
    if link.inertia is not None and np.linalg.norm(link.inertia.com) > APART_M:
        tip = 2 * tree.rotation[last] @ np.array(link.inertia.com)
    length = float(np.linalg.norm(tree.origin[last] - tree.origin[first]))
    if float(np.linalg.norm(tip)) < max(FAR_SHARE * length, APART_M):
        return None
    x, y, z = (round(float(value), 6) + 0.0 for value in tree.rotation[last].T @ tip)
    return x, y, z


_PARTS = ("leg", "arm")
_Chain = list[str]
_Pair = tuple[_Chain, _Chain]


class _Placed:
    """Joints in the axes of the base with all of them at zero: origins, axes, who carries whom."""

    def __init__(self, joints: Sequence[Joint], links: Sequence[Link]) -> None:
        self.joints = {joint.name: joint for joint in joints}
        self.shapes = {link.name: link.collision for link in links}
        self.below: dict[str, list[str]] = {}
        for joint in joints:
            self.below.setdefault(joint.parent, []).append(joint.name)
        children = {joint.child for joint in joints}
        self.roots = list(dict.fromkeys(j.parent for j in joints if j.parent not in children))
        self.origin: dict[str, Array] = {}
        self.rotation: dict[str, Array] = {}
        front: list[tuple[str, Array, Array]] = [
            (root, np.zeros(3), np.eye(3)) for root in self.roots
        ]
        while front:
            link, origin, rotation = front.pop()
            for name in self.below.get(link, []):
                joint = self.joints[name]
                self.origin[name] = origin + rotation @ np.array(joint.xyz)
                self.rotation[name] = rotation @ matrix_from_rpy(joint.rpy)
                turn = _resting(joint)
                self.rotation[name] = self.rotation[name] @ turn
                front.append((joint.child, self.origin[name], self.rotation[name]))
        self._depths: dict[str, int] = {}

    def axis(self, name: str) -> Array:
        """The axis of a joint."""
        return np.asarray(self.rotation[name] @ np.array(self.joints[name].axis))

    def depth(self, name: str) -> int:
        """How many joints are in the longest chain from this one outwards."""
        if name not in self._depths:
            under = self.below.get(self.joints[name].child, [])
            self._depths[name] = 1 + max((self.depth(each) for each in under), default=0)
        return self._depths[name]

    def chain(self, name: str) -> _Chain:
        """From a joint outwards, up to where it forks into several that are about as long."""
        chain = [name]
        while True:
            under = self.below.get(self.joints[chain[-1]].child, [])
            moving = [each for each in under if self.joints[each].actuated or len(under) == 1]
            if len(moving) != 1:
                return chain
            chain.append(moving[0])

    def above(self, name: str) -> _Chain:
        """The joints between this one and the base, nearest first."""
        owner = {joint.child: joint.name for joint in self.joints.values()}
        chain: _Chain = []
        link = self.joints[name].parent
        while link in owner:
            chain.append(owner[link])
            link = self.joints[chain[-1]].parent
        return chain

    def all_below(self, name: str) -> Iterator[str]:
        """All joints that this one moves."""
        for under in self.below.get(self.joints[name].child, []):
            yield under
            yield from self.all_below(under)

    def span(self, chain: _Chain) -> Array:
        """From the first joint of a chain to its last."""
        return self.origin[chain[-1]] - self.origin[chain[0]]

    def length(self, chain: _Chain) -> float:
        """The way along a chain, m."""
        return float(np.linalg.norm(np.diff(self.points(chain), axis=0), axis=1).sum())

    def points(self, chain: _Chain) -> Array:
        """Origins (N, 3) of the joints of a chain."""
        return np.array([self.origin[name] for name in chain])

    def tip(self, chain: _Chain) -> Array:
        """The end of a limb: its last joint, or the farthest shape of the link after it."""
        last = chain[-1]
        shapes = self.shapes.get(self.joints[last].child, ())
        ends = [self.rotation[last] @ np.array(shape.xyz) for shape in shapes]
        farthest = max(ends, key=lambda end: float(np.linalg.norm(end)), default=np.zeros(3))
        return np.asarray(self.origin[last] + farthest)

    def middle(self, chain: _Chain) -> str:
        """The knee or elbow: the joint farthest from both ends of a chain."""
        return chain[middle_point(np.array([*self.points(chain), self.tip(chain)]))]


def _resting(joint: Joint) -> Array:
    """The turn of a joint that cannot be at zero: to its nearest limit."""
    low = -np.inf if joint.lower is None else joint.lower
    high = np.inf if joint.upper is None else joint.upper
    angle = float(np.clip(0.0, low, high))
    if joint.type != "revolute" or not angle:
        return np.eye(3)
    return np.asarray(matrix_from_vector(angle * np.array([joint.axis]))[0])


def _twins(tree: _Placed) -> Iterator[_Pair]:
    """Pairs of chains on one link that are alike, from the base outwards."""
    front = list(tree.roots)
    while front:
        link = front.pop(0)
        limbs = [name for name in tree.below.get(link, []) if tree.depth(name) >= LEAST_JOINTS]
        chains = {name: tree.chain(name) for name in limbs}
        alike = [
            (a, b)
            for a, b in combinations(limbs, 2)
            if min(len(chains[a]), len(chains[b])) >= LEAST_JOINTS
            and _are_twins(tree, chains[a], chains[b])
        ]
        counts = [sum(name in pair for pair in alike) for name in limbs]
        if alike and max(counts, default=0) > 1:
            return
        taken = {name for pair in alike for name in pair}
        yield from ((chains[a], chains[b]) for a, b in alike)
        front += [tree.joints[n].child for n in tree.below.get(link, []) if n not in taken]


def _are_twins(tree: _Placed, first: _Chain, second: _Chain) -> bool:
    if len(first) != len(second):
        return False
    points, others = tree.points(first), tree.points(second)
    if np.linalg.norm(points - others, axis=1).max() < APART_M:
        return False
    own, other = (np.linalg.norm(np.diff(each, axis=0), axis=1) for each in (points, others))
    length = max(float(own.sum()), 1e-6)
    same_kinds = all(
        tree.joints[a].type == tree.joints[b].type for a, b in zip(first, second, strict=True)
    )
    return same_kinds and bool(np.abs(own - other).max() < TWIN_SHARE * length)


def _name_parts(tree: _Placed, twins: list[_Pair]) -> list[tuple[_Pair, str]]:
    """Which of one or two pairs are legs, which arms."""
    if len(twins) == 1:
        return [(twins[0], "leg" if _look_like_legs(tree, twins[0]) else "arm")]
    first, second = twins
    first_is_arm = _arm_votes(tree, first, second) > 0
    return [(first, "arm" if first_is_arm else "leg"), (second, "leg" if first_is_arm else "arm")]


def _look_like_legs(tree: _Placed, pair: _Pair) -> bool:
    """Whether the only limbs of a robot hang down from hips that are close to each other."""
    length, span = tree.length(pair[0]), np.mean([tree.span(chain) for chain in pair], axis=0)
    limbs = {*pair[0], *pair[1]}
    others = [tree.origin[name] for name in tree.joints if name not in limbs]
    roots = np.mean([tree.origin[chain[0]] for chain in pair], axis=0)
    # Down, or away from the rest of the body.
    away = roots - np.mean(others, axis=0) if others else np.zeros(3)
    hangs = -float(span[2])
    if len(others) >= LEAST_JOINTS and np.linalg.norm(away) > APART_M:
        hangs = max(hangs, float(span @ normalise(away)))
    carried = len(tree.above(pair[0][0]))
    return bool(hangs > 0.6 * length and _width(tree, pair) < 0.7 * length and not carried)


def _arm_votes(tree: _Placed, one: _Pair, other: _Pair) -> float:
    """Above zero where the one pair is more like arms than the other."""

    def compare(value: float, against: float, weight: float) -> float:
        return weight * float(np.sign(value - against)) if abs(value - against) > 1e-6 else 0.0

    def sideways(pair: _Pair) -> float:
        across = _lateral(tree, pair)
        return float(np.mean([abs(normalise(tree.span(chain)) @ across) for chain in pair]) > 0.7)

    votes = compare(len(tree.above(one[0][0])), len(tree.above(other[0][0])), 2.0)
    hands = [float(bool(list(tree.all_below(pair[0][-1])))) for pair in (one, other)]
    votes += compare(hands[0], hands[1], 2.0)
    votes += compare(_width(tree, one), _width(tree, other), 1.5)
    votes += compare(-tree.length(one[0]), -tree.length(other[0]), 1.5)
    votes += compare(sideways(one), sideways(other), 2.0)
    return votes + compare(tree.origin[one[0][0]][2], tree.origin[other[0][0]][2], 1.0)


def _width(tree: _Placed, pair: _Pair) -> float:
    return float(np.linalg.norm(tree.origin[pair[0][0]] - tree.origin[pair[1][0]]))


def _lateral(tree: _Placed, pair: _Pair) -> Array:
    """From the second limb to the first, where they are first apart: clavicles may meet."""
    apart = tree.points(pair[0]) - tree.points(pair[1])
    far = np.linalg.norm(apart, axis=1) > APART_M
    return normalise(apart[int(np.argmax(far))])


def _left(tree: _Placed, legs: _Pair | None, arms: _Pair | None) -> Array | None:
    """Where left is, of somebody whose knees bend back, elbows forward, and soles reach ahead."""
    pair = legs or arms
    if pair is None:
        return None
    across = _lateral(tree, pair)
    up = np.array([0.0, 0.0, 1.0])
    if legs is not None:
        up = -normalise(np.mean([tree.span(chain) for chain in legs], axis=0))
        number = int(np.argmax(np.abs(up)))
        if abs(up[number]) > NEAR:
            up = np.eye(3)[number] * np.sign(up[number])
    if abs(float(across @ up)) > 0.9:
        return None
    ahead = normalise(np.cross(across, up))
    # By custom x is forward, where nothing else tells.
    votes = 0.5 * float(np.sign(round(float(ahead[0]), 3)))
    votes += sum(_bend(tree, chain, ahead) for chain in arms or ())
    for chain in legs or ():
        votes += -_bend(tree, chain, ahead) + 2.0 * _reach(tree, chain, ahead)
    return np.cross(up, ahead) * np.sign(votes) if votes else None


def _bend(tree: _Placed, chain: _Chain, ahead: Array) -> float:
    """How much the end of a limb goes ahead when its middle joint bends, from -1 to 1."""
    name = tree.middle(chain)
    joint = tree.joints[name]
    if joint.lower is None or joint.upper is None or joint.type != "revolute":
        return 0.0
    more = (joint.upper + joint.lower) / max(joint.upper - joint.lower, 1e-6)
    lever = (tree.origin[chain[-1]] if name != chain[-1] else tree.tip(chain)) - tree.origin[name]
    if np.linalg.norm(lever) < APART_M:
        return 0.0
    moved = np.cross(tree.axis(name), normalise(lever))
    return float(np.clip(more, -1.0, 1.0) * (moved @ ahead))


def _reach(tree: _Placed, chain: _Chain, ahead: Array) -> float:
    """Whether the shapes of a foot lie ahead (1) of the ankle or behind it (-1)."""
    last = chain[-1]
    shapes = tree.shapes.get(tree.joints[last].child, ())
    if not shapes:
        return 0.0
    ends = np.array([tree.rotation[last] @ np.array(shape.xyz) for shape in shapes])
    down = ends @ normalise(tree.span(chain))
    # A shin without an ankle has its foot at its lower end.
    centre = ends[down > down.max() - max(0.05, 0.2 * float(np.ptp(down)))].mean(axis=0)
    return float(np.clip((centre @ ahead) / APART_M, -1.0, 1.0))


def _sided(tree: _Placed, pair: _Pair, part: str, left: Array | None) -> LimbPair:
    first, second = pair
    if left is not None and float(_lateral(tree, pair) @ left) < 0:
        first, second = second, first
    return LimbPair(part, tuple(first), tuple(second), sided=left is not None)


def _is_central(tree: _Placed, name: str, arms: _Pair) -> bool:
    """Whether a joint lies in the middle between the arms."""
    left, right = (tree.origin[chain[0]] for chain in arms)
    apart = left - right
    off = abs(float((tree.origin[name] - (left + right) / 2) @ _lateral(tree, arms)))
    return off < max(0.25 * float(np.linalg.norm(apart)), APART_M)


def _wheels(tree: _Placed, outwards: _Chain) -> int:
    """How many of the joints from the base on drive it over the floor and carry no trunk."""
    sliding = [
        number
        for number, name in enumerate(outwards)
        if tree.joints[name].type == "prismatic" and abs(float(tree.axis(name)[2])) < 0.5
    ]
    if not sliding:
        return 0
    after = sliding[-1] + 1
    turns = after < len(outwards) and tree.joints[outwards[after]].lower is None
    return after + int(turns)
