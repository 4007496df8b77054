"""Self-collision of a whole recording: batched bounds first, coal only where they leave doubt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from corporeal.embodiment.collision.broad_phase import (
    Candidates,
    Indices,
    Shapes,
    near_pairs,
    nearest_on_segments,
    shapes_of,
)
from corporeal.embodiment.embodiment import Embodiment, Shape
from corporeal.embodiment.joints.joint_map import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import MissingExtraError, ModelError
from corporeal.geometry import Array

LinkPair = tuple[str, str]

# A ball joint is three motors in a row, often without shapes of their own between them.
BALL_JOINT = 3
# Frames at a time: bounds the memory whatever the length of the recording.
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Distances:
    """The nearest that any tested pair of links comes to touching, frame by frame.

    `minimum_m` (T,) is signed: negative is the depth of a collision; infinite when no pair is
    tested, NaN where the joints are not finite. `pair` (T,) numbers the nearest of `pairs`, or -1.
    """

    minimum_m: Array
    pair: Indices
    pairs: tuple[LinkPair, ...]

    def closest(self, frame: int) -> LinkPair | None:
        """The two links that are nearest to each other in a frame."""
        return self.pairs[self.pair[frame]] if self.pair[frame] >= 0 else None


@dataclass(frozen=True, eq=False)
class Collisions:
    """Every pair of links that overlaps, one entry per frame and pair, in order of time."""

    frames: Indices
    links: tuple[LinkPair, ...]
    depths_m: Array

    def __len__(self) -> int:
        return len(self.links)


@dataclass(frozen=True, eq=False)
class Nearby:
    """Pairs of shapes that are near each other, n of them, in the axes of the base.

    `links` (n, 2) are numbers of links; `points` (n, 2, 3) lie on both surfaces where they are
    nearest; `normal` (n, 3) shows from the second shape to the first; `distance` (n,) is negative
    where they overlap.
    """

    frame: Indices
    links: Indices
    points: Array
    normal: Array
    distance: Array


@dataclass(frozen=True, eq=False)
class _ShapePairs:
    """Pairs of shapes (P, 2), the number of the link pair of each (P,), coal's solver of each."""

    shapes: Indices
    link_pair: Indices
    solvers: list[Any]
    # A solver does not keep its shapes alive: without these it reads freed memory.
    solids: list[Any]


@dataclass(frozen=True, eq=False)
class CollisionModel:
    """The shapes of one robot and the pairs of links that must not touch.

    Tested are all pairs of links with shapes except those that are adjacent (a joint connects
    them, or up to three joints through links without shapes), those that the document lists as
    `touching`, and those that overlap when the robot stands (`disabled_pairs`).
    """

    embodiment: Embodiment

    @cached_property
    def kinematics(self) -> Kinematics:
        """The forward kinematics behind it."""
        return Kinematics(self.embodiment)

    @cached_property
    def pairs(self) -> tuple[LinkPair, ...]:
        """The pairs of links that are tested."""
        return tuple(pair for pair in self._possible if pair not in self.disabled_pairs)

    @cached_property
    def disabled_pairs(self) -> tuple[LinkPair, ...]:
        """Pairs left out only because their shapes overlap in the standing posture."""
        pairs = self._shape_pairs(self._possible)
        standing = standing_positions(self.embodiment)[None]
        _, found, distance = self._measured(standing, pairs, 0.0)
        overlapping = np.unique(pairs.link_pair[found[distance < 0]])
        return tuple(self._possible[number] for number in overlapping)

    def distances(self, q: ArrayLike) -> Distances:
        """The smallest signed distance and its pair in each frame of joints (T, J)."""
        joints = self.kinematics.checked(q)
        minimum, nearest = np.full(len(joints), np.inf), np.full(len(joints), -1)
        for start, rows, finite in _finite_blocks(joints):
            frames, pairs, found = self._measured(rows, self._tested, None)
            order = np.lexsort((found, frames))
            first = order[np.unique(frames[order], return_index=True)[1]]
            where = start + finite[frames[first]]
            minimum[where] = found[first]
            nearest[where] = self._tested.link_pair[pairs[first]]
        minimum[~np.isfinite(joints).all(axis=1)] = np.nan
        return Distances(minimum, nearest, self.pairs)

    def collisions(self, q: ArrayLike, *, tolerance_m: float = 0.0) -> Collisions:
        """All pairs of links that overlap by more than `tolerance_m` in joints (T, J)."""
        if not tolerance_m >= 0:
            raise ModelError(
                f"the tolerance of collisions is no depth, got {tolerance_m} m; expected 0 or "
                "more. Use distances() to find links that are only near each other."
            )
        joints = self.kinematics.checked(q)
        deepest: dict[tuple[int, int], float] = {}
        for start, rows, finite in _finite_blocks(joints):
            frames, pairs, found = self._measured(rows, self._tested, -tolerance_m)
            for hit in np.flatnonzero(found < -tolerance_m):
                link_pair = int(self._tested.link_pair[pairs[hit]])
                key = (start + int(finite[frames[hit]]), link_pair)
                deepest[key] = max(deepest.get(key, 0.0), -float(found[hit]))
        keys = sorted(deepest)
        return Collisions(
            np.array([frame for frame, _ in keys], np.int64),
            tuple(self.pairs[pair] for _, pair in keys),
            np.array([deepest[key] for key in keys], np.float64),
        )

    def near(self, q: ArrayLike, reach_m: float) -> Nearby:
        """All pairs of shapes nearer than `reach_m` in joints (T, J), and where they are."""
        poses = self.kinematics.transforms(self.kinematics.checked(q))
        return self.near_at(poses, self._shapes.located(poses), reach_m)

    def near_at(self, poses: Array, located: Array, reach_m: float) -> Nearby:
        """The same of poses of links (L, 3, 4, T) and shapes `located` there, in their axes."""
        near = near_pairs(self._shapes, self._tested.shapes, located, reach_m)
        pairs = self._tested.shapes[near.pair]
        ends = [located[side, :, :, near.frame].T for side in pairs.T]
        first, second = nearest_on_segments(ends[0][0], ends[0][1], ends[1][0], ends[1][1])
        normal = first - second
        length = np.sqrt((normal * normal).sum(0))
        normal = (normal / np.where(length > 1e-9, length, 1.0)).T
        distance = near.bound.copy()
        radii = self._shapes.radii[pairs]
        points = np.stack([first.T - normal * radii[:, :1], second.T + normal * radii[:, 1:]], 1)
        doubtful = np.flatnonzero(~near.exact)
        distance[doubtful], points[doubtful], normal[doubtful] = self._witnesses(
            poses, near.pair[doubtful], near.frame[doubtful]
        )
        kept = distance < reach_m
        return Nearby(
            near.frame[kept],
            self._shapes.link[pairs[kept]],
            points[kept],
            normal[kept],
            distance[kept],
        )

    def _witnesses(
        self, poses: Array, tested: Indices, frame: Indices
    ) -> tuple[Array, Array, Array]:
        """Distances (n,), points (n, 2, 3) and normals (n, 3) of pairs of any shapes, by coal."""
        coal = import_coal()
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        here, there = coal.Transform3s(), coal.Transform3s()
        pairs = self._tested.shapes[tested]
        rotations, offsets = _relative(self._shapes, poses, pairs, frame)
        distance, seen = np.empty(len(tested)), np.empty((len(tested), 3, 3))
        for row, number in enumerate(tested.tolist()):
            result.clear()
            there.setRotation(rotations[row])
            there.setTranslation(offsets[row])
            distance[row] = self._tested.solvers[number](here, there, request, result)
            seen[row] = result.getNearestPoint1(), result.getNearestPoint2(), result.normal
        links = poses[self._shapes.link[pairs[:, 0]], :, :, frame]
        places = self._shapes.places[pairs[:, 0]]
        turns = links[:, :, :3] @ places[:, :, :3]
        origins = links[:, :, :3] @ places[:, :, 3:] + links[:, :, 3:]
        seen = seen @ turns.swapaxes(1, 2)
        return distance, seen[:, :2] + origins.swapaxes(1, 2), -seen[:, 2]

    @cached_property
    def _possible(self) -> tuple[LinkPair, ...]:
        shaped = [link.name for link in self.embodiment.links if link.collision]
        left_out = adjacent_pairs(self.embodiment)
        left_out |= {frozenset(pair) for pair in self.embodiment.touching}
        return tuple(pair for pair in combinations(shaped, 2) if frozenset(pair) not in left_out)

    @cached_property
    def _shapes(self) -> Shapes:
        return shapes_of(self.embodiment)

    @cached_property
    def _tested(self) -> _ShapePairs:
        return self._shape_pairs(self.pairs)

    def _shape_pairs(self, pairs: tuple[LinkPair, ...]) -> _ShapePairs:
        coal = import_coal()
        owned: dict[str, list[int]] = {name: [] for name in self.kinematics.names}
        for shape, link in enumerate(self._shapes.link):
            owned[self.kinematics.names[link]].append(shape)
        rows = [
            (a, b, number)
            for number, (first, second) in enumerate(pairs)
            for a in owned[first]
            for b in owned[second]
        ]
        solids = [coal_shape(shape) for link in self.embodiment.links for shape in link.collision]
        table = np.array(rows, np.int64).reshape(-1, 3)
        solvers = [coal.ComputeDistance(solids[a], solids[b]) for a, b, _ in rows]
        return _ShapePairs(table[:, :2], table[:, 2], solvers, solids)

    def _measured(
        self, q: Array, pairs: _ShapePairs, reach_m: float | None
    ) -> tuple[Indices, Indices, Array]:
        """Frames, pairs of shapes and signed distances (n,), at least of all that matter.

        What matters is any pair nearer than `reach_m`, or without it the nearest of each frame.
        """
        poses = self.kinematics.transforms(q)
        near = near_pairs(self._shapes, pairs.shapes, self._shapes.located(poses), reach_m)
        distance = self._narrow_phase(poses, pairs, near, reach_m)
        known = np.isfinite(distance)
        return near.frame[known], near.pair[known], distance[known]

    def _narrow_phase(
        self, poses: Array, pairs: _ShapePairs, near: Candidates, reach_m: float | None
    ) -> Array:
        """Signed distances (n,) of the candidates; infinite where a bound made it needless."""
        coal = import_coal()
        request, result, here = coal.DistanceRequest(), coal.DistanceResult(), coal.Transform3s()
        distance = np.where(near.exact, near.bound, np.inf)
        limit = np.full(poses.shape[-1], np.inf if reach_m is None else reach_m)
        if reach_m is None:
            np.minimum.at(limit, near.frame, distance)
        doubtful = np.flatnonzero(~near.exact & (near.bound < limit[near.frame]))
        # The most promising first: what it finds often makes the others needless.
        order = doubtful[np.argsort(near.bound[doubtful], kind="stable")]
        shapes = pairs.shapes[near.pair[order]]
        rotations, offsets = _relative(self._shapes, poses, shapes, near.frame[order])
        for one, rotation, offset in zip(order, rotations, offsets, strict=True):
            frame = near.frame[one]
            if near.bound[one] < limit[frame]:
                there = coal.Transform3s(rotation, offset)
                result.clear()
                distance[one] = pairs.solvers[near.pair[one]](here, there, request, result)
                if reach_m is None:
                    limit[frame] = min(limit[frame], distance[one])
        return distance


def adjacent_pairs(embodiment: Embodiment) -> set[frozenset[str]]:
    """Pairs of links that one joint connects, or up to three through links without shapes."""
    shaped = {link.name for link in embodiment.links if link.collision}
    neighbours: dict[str, list[str]] = {link.name: [] for link in embodiment.links}
    for joint in embodiment.joints:
        neighbours[joint.parent].append(joint.child)
        neighbours[joint.child].append(joint.parent)
    found: set[frozenset[str]] = set()
    for start in shaped:
        front, seen = {start}, {start}
        for _ in range(BALL_JOINT):
            reached = {link for place in front for link in neighbours[place]} - seen
            found |= {frozenset((start, link)) for link in reached & shaped}
            seen |= reached
            front = reached - shaped
    return found


def _relative(shapes: Shapes, poses: Array, pairs: Indices, frame: Indices) -> tuple[Array, Array]:
    """Rotations (n, 3, 3) and offsets (n, 3) of the second shape as seen from the first."""
    turned, moved = [], []
    for number in pairs.T:
        link, place = poses[shapes.link[number], :, :, frame], shapes.places[number]
        turned.append(link[:, :, :3] @ place[:, :, :3])
        moved.append(link[:, :, :3] @ place[:, :, 3:] + link[:, :, 3:])
    back = turned[0].swapaxes(1, 2)
    return back @ turned[1], (back @ (moved[1] - moved[0]))[..., 0]


def _finite_blocks(joints: Array) -> Iterator[tuple[int, Array, Indices]]:
    """Pieces of the recording: first frame, the rows that are finite, and which those are."""
    for start in range(0, len(joints), BLOCK):
        rows = joints[start : start + BLOCK]
        finite = np.flatnonzero(np.isfinite(rows).all(axis=1))
        yield start, rows[finite], finite


def coal_shape(shape: Shape) -> Any:
    """The shape in coal, centred at its own origin."""
    coal = import_coal()
    kinds = {
        "box": coal.Box,
        "sphere": coal.Sphere,
        "capsule": coal.Capsule,
        "cylinder": coal.Cylinder,
    }
    return kinds[shape.type](*shape.size)


def import_coal() -> ModuleType:
    """The package coal; raises MissingExtraError when it is not installed."""
    try:
        import coal
    except ModuleNotFoundError:
        raise MissingExtraError("coal", "robot") from None
    module: ModuleType = coal
    return module
