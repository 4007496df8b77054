"""How near the commanded links come to the body, to each other, to table and floor, right now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import collision
from corporeal.embodiment.embodiment import Shape
from corporeal.embodiment.engines import geometry_model, import_pinocchio
from corporeal.embodiment.kinematics import placement_of
from corporeal.geometry import Array
from corporeal.teleoperation.arm_model import ArmModel

# Pairs with more room than this beyond their margin need no row in a solve, m.
_ROW_M = 0.05
# Between what a check of the way knows and what it needs; more costs measurements, less steps.
_WAY_M = 0.02
# Steps along a way: none is shorter, and there are no more.
_LEAST_STEP_M, _MOST_STEPS = 0.003, 24
# Links of one limb: how many joints apart, and how finely their angles are tried.
_LIMB_JOINTS, _TRIED = 3, 9
# A margin stays this much below the clearance that the robot has as it stands, m.
_BELOW_REST_M = 0.001
# Half the width of what counts as a floor, m.
_WIDE_M = 5.0


@dataclass(frozen=True)
class Obstacle:
    """Something in the robot's world that its arms must not touch; its pose is in the world."""

    name: str
    shape: Shape


def floor(height_m: float = 0.0) -> Obstacle:
    """The floor, as a thick slab below a height."""
    size = (2 * _WIDE_M, 2 * _WIDE_M, 1.0)
    return Obstacle("floor", Shape(type="box", size=size, xyz=(0.0, 0.0, height_m - 0.5)))


@dataclass(frozen=True, eq=False)
class Nearness:
    """Pairs that are near: m of them, their distances and room beyond their margins (m,).

    `slope` (m, n) is how the joints change the distance.
    """

    pairs: NDArray[np.int64]
    distance_m: Array
    room_m: Array
    slope: Array


class Clearance:
    """The pairs of shapes that a commanded joint can bring together, and their distances.

    A distance that was measured stays a bound as the robot moves: no point of a link moves
    farther than its joints turn times its greatest lever. So only pairs in doubt are measured.

    `margins_m` (P,) is what each pair keeps: `clearance_m`, or what it has as the robot stands
    where that is less. Links of one limb that their joints cannot bring together are no pair.
    """

    def __init__(
        self, arms: ArmModel, obstacles: Sequence[Obstacle] = (), *, clearance_m: float = 0.01
    ) -> None:
        pin = import_pinocchio()
        self.arms = arms
        moved = _moved_links(arms)
        tested = collision.CollisionModel(arms.robot).pairs
        self.geometry: Any = geometry_model(
            arms.compiled, [pair for pair in tested if moved & set(pair)]
        )
        self._add_obstacles(obstacles, moved)
        self._drop_pairs(never_touching(arms, self.geometry))
        self.data: Any = self.geometry.createData()
        self.count = len(self.geometry.collisionPairs)
        self.links = tuple(self._names(pair) for pair in range(self.count))
        self._results = [self.data.distanceResults[pair] for pair in range(self.count)]
        joints = [self._joints_of(pair) for pair in range(self.count)]
        self._joints = np.array(joints, np.int64).reshape(-1, 2)
        sides = arms.supports[self._joints]
        self._sign = sides[:, 0] - sides[:, 1]
        self._levers = self._lever_bounds()
        self._own_levers = np.ascontiguousarray(self._levers[:, arms.joint_numbers])
        self.bound_m = np.full(self.count, -np.inf)
        self._config: Array = arms.config.copy()
        self.measurements = 0
        self.margins_m = np.full(self.count, clearance_m)
        pin.forwardKinematics(arms.model, arms.data, arms.config)
        self._measure(np.arange(self.count))
        rest = np.maximum(self.bound_m - _BELOW_REST_M, 0.0)
        self.margins_m = np.minimum(self.margins_m, rest)

    def near(self) -> Nearness:
        """All pairs that a step may have to be careful of, at the arms' configuration."""
        self.measure(self.margins_m + _ROW_M)
        room = self.bound_m - self.margins_m
        rows = np.flatnonzero(room < _ROW_M)
        results = [self._results[pair] for pair in rows]
        first = np.array([result.getNearestPoint1() for result in results]).reshape(-1, 3)
        second = np.array([result.getNearestPoint2() for result in results]).reshape(-1, 3)
        distance = self.bound_m[rows]
        # From the second to the first; where shapes overlap their points have changed sides.
        away = (first - second) * np.where(distance < 0, -1.0, 1.0)[:, None]
        length = np.sqrt((away * away).sum(axis=1))
        for row in np.flatnonzero(length < 1e-9):
            away[row], length[row] = -np.asarray(results[row].normal).ravel(), 1.0
        wrench = np.empty((len(rows), 6))
        wrench[:, :3] = away / length[:, None]
        x, y, z = first.T
        nx, ny, nz = wrench[:, :3].T
        wrench[:, 3], wrench[:, 4], wrench[:, 5] = y * nz - z * ny, z * nx - x * nz, x * ny - y * nx
        slope = (wrench @ self.arms.jacobian) * self._sign[rows]
        return Nearness(rows, distance, room[rows], slope)

    def measure(self, below_m: Array) -> None:
        """Bring `bound_m` (P,) to the arms' configuration; exact where it is below `below_m`."""
        self.bound_m -= self._farthest_move(self._config, self.arms.config)
        self._config = self.arms.config.copy()
        self._measure(np.flatnonzero(self.bound_m < below_m))

    def is_way_clear(self, start: Array, way: Array, needed_m: Array) -> bool:
        """Whether every pair keeps what it needs (P,) from joints `start` along `way`, both (n,).

        Steps are as long as the bounds allow: only dips of under three millimetres are passed
        over. A way that would take too many is not clear. The arms are left where it ended.
        """
        lever = self._own_levers @ np.abs(way)
        greatest = float(lever.max(initial=0.0))
        done, needed = 0.0, needed_m - 1e-9
        for _ in range(_MOST_STEPS):
            self.arms.place(start + done * way)
            self.measure(needed + np.minimum(_WAY_M, (1.0 - done) * lever))
            room = self.bound_m - needed
            if (room < 0).any():
                return False
            if done >= 1.0 or greatest < 1e-9:
                return True
            step = float((room / np.maximum(lever, 1e-12)).min())
            done = min(done + max(step, _LEAST_STEP_M / greatest), 1.0)
        return False

    def _measure(self, pairs: NDArray[np.int64]) -> None:
        if len(pairs):
            pin, arms = import_pinocchio(), self.arms
            pin.updateGeometryPlacements(arms.model, arms.data, self.geometry, self.data)
            for pair in pairs.tolist():
                pin.computeDistance(self.geometry, self.data, pair)
                self.bound_m[pair] = self._results[pair].min_distance
            self.measurements += len(pairs)

    def _farthest_move(self, before: Array, after: Array) -> Array:
        """How much nearer (P,) any two shapes can be after a move of the configuration."""
        compiled = self.arms.compiled
        turned = np.abs(after[compiled.positions] - before[compiled.positions])
        nearer = self._levers[:, :-1] @ turned
        if self.arms.robot.floating:
            shift = float(np.linalg.norm(after[:3] - before[:3]))
            turn = 2.0 * min(
                float(np.linalg.norm(after[3:7] - before[3:7])),
                float(np.linalg.norm(after[3:7] + before[3:7])),
            )
            nearer += self._levers[:, -1] * (shift + 2.0 * turn)
        return np.asarray(nearer)

    def _lever_bounds(self) -> Array:
        """The most (P, N + 1) that a radian of a joint, or a metre of the base, changes a pair."""
        arms = self.arms
        numbers = {int(rate): number for number, rate in enumerate(arms.compiled.rates)}
        levers = np.zeros((self.count, len(arms.compiled.rates) + 1))
        for pair in range(self.count):
            chain: list[set[int]] = [set(), set()]
            for side in (0, 1):
                joint = int(self._joints[pair, side])
                above = arms.model.supports[joint] if joint else []
                chain[side] = {int(number) for number in above}
            for number in chain[0] ^ chain[1]:
                side = 0 if number in chain[0] else 1
                rate = int(arms.model.joints[number].idx_v) if number else -1
                if rate in numbers and number:
                    levers[pair, numbers[rate]] = self._lever(pair, side, number)
            # What stands in the world is not carried along by the base.
            levers[pair, -1] = float(0 in self._joints[pair])
        return levers

    def _lever(self, pair: int, side: int, joint: int) -> float:
        """A bound of the distance from a joint to the farthest point of one of a pair's shapes."""
        model = self.arms.model
        shape = self.geometry.geometryObjects[self._shape(pair, side)]
        below = [int(number) for number in model.supports[int(shape.parentJoint)]]
        after = below[below.index(joint) + 1 :]
        length = sum(
            float(np.linalg.norm(model.jointPlacements[number].translation)) for number in after
        )
        shape.geometry.computeLocalAABB()
        centre = shape.placement.act(np.asarray(shape.geometry.aabb_center).ravel())
        return length + float(np.linalg.norm(centre)) + float(shape.geometry.aabb_radius)

    def _shape(self, pair: int, side: int) -> int:
        both = self.geometry.collisionPairs[pair]
        return int(both.first if side == 0 else both.second)

    def _names(self, pair: int) -> tuple[str, str]:
        names = [self.geometry.geometryObjects[self._shape(pair, side)].name for side in (0, 1)]
        return names[0].rpartition("_")[0], names[1].rpartition("_")[0]

    def _joints_of(self, pair: int) -> list[int]:
        shapes = [self.geometry.geometryObjects[self._shape(pair, side)] for side in (0, 1)]
        return [int(shape.parentJoint) for shape in shapes]

    def _drop_pairs(self, numbers: set[int]) -> None:
        pin = import_pinocchio()
        pairs = [(int(pair.first), int(pair.second)) for pair in self.geometry.collisionPairs]
        self.geometry.removeAllCollisionPairs()
        for number, pair in enumerate(pairs):
            if number not in numbers:
                self.geometry.addCollisionPair(pin.CollisionPair(*pair))

    def _add_obstacles(self, obstacles: Sequence[Obstacle], moved: set[str]) -> None:
        pin = import_pinocchio()
        own = [
            number
            for number, shape in enumerate(self.geometry.geometryObjects)
            if shape.name.rpartition("_")[0] in moved
        ]
        for obstacle in obstacles:
            place = placement_of(obstacle.shape)
            pose = pin.SE3(place[:, :3], place[:, 3])
            solid = collision.coal_shape(obstacle.shape)
            added = self.geometry.addGeometryObject(
                pin.GeometryObject(f"{obstacle.name}_0", 0, 0, pose, solid)
            )
            for number in own:
                self.geometry.addCollisionPair(pin.CollisionPair(number, added))


def _moved_links(arms: ArmModel) -> set[str]:
    """Links that at least one commanded joint moves."""
    children: dict[str, list[str]] = {}
    for joint in arms.robot.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    by_name = {joint.name: joint for joint in arms.robot.joints}
    front = [by_name[name].child for name in arms.names]
    moved: set[str] = set()
    while front:
        link = front.pop()
        if link not in moved:
            moved.add(link)
            front += children.get(link, [])
    return moved


def never_touching(arms: ArmModel, geometry: Any) -> set[int]:
    """Pairs of one limb, at most three joints apart, that no angles of these bring together."""
    pin = import_pinocchio()
    model, data = arms.model, geometry.createData()
    neutral = arms.config.copy()
    ranges = {
        int(model.getJointId(joint.name)): (joint.lower, joint.upper) for joint in arms.robot.joints
    }
    dropped = set()
    for number, pair in enumerate(geometry.collisionPairs):
        shapes = [geometry.geometryObjects[int(which)] for which in (pair.first, pair.second)]
        chains = [
            {int(joint) for joint in model.supports[int(shape.parentJoint)]} for shape in shapes
        ]
        between = sorted(chains[0] ^ chains[1])
        is_limb = chains[0] <= chains[1] or chains[1] <= chains[0]
        ends = [ranges.get(joint, (None, None)) for joint in between]
        if not is_limb or len(between) > _LIMB_JOINTS or any(None in end for end in ends):
            continue
        grids = [np.linspace(low or 0.0, high or 0.0, _TRIED) for low, high in ends]
        least = np.inf
        for angles in product(*grids):
            config = neutral.copy()
            for joint, angle in zip(between, angles, strict=True):
                config[model.joints[joint].idx_q] = angle
            pin.forwardKinematics(model, arms.data, config)
            pin.updateGeometryPlacements(model, arms.data, geometry, data)
            pin.computeDistance(geometry, data, number)
            least = min(least, data.distanceResults[number].min_distance)
            if least <= 0:
                break
        if least > 0:
            dropped.add(number)
    arms.place(arms.angles)
    return dropped
