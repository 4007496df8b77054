"""Tasks of a solve: goals with a weight in every frame, and those of one person on one robot.

A task pulls at links: for each of its `links` it writes `pulls` (rows, 6, T), how its residuals
change with the motion of the link where the base is, and with its turning about the world's axes.
A task that is given no room for them writes its residuals alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from corporeal.geometry import Array, matrix_from_quaternion, rotation_vectors
from corporeal.retargeting.goal.footholds import Footholds
from corporeal.retargeting.motion import SIDES, HumanMotion
from corporeal.retargeting.result import Goals
from corporeal.retargeting.solver.chain import Chain, ChainPose, MotionState, Numbers

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class PointTask:
    """A point of a link is to be at `goal` (T, 3); `weight` (T, 3) along the world's axes."""

    link: int
    offset: Array
    goal: Array
    weight: Array

    rows = 3

    @property
    def links(self) -> tuple[int, ...]:
        """The links that it pulls at."""
        return (self.link,)

    def fill(
        self, posed: ChainPose, frames: slice, pulls: Sequence[Array] | None, rest: Array
    ) -> None:
        """Write weighted pulls (3, 6, T) and residuals (T, 3)."""
        at, weight = posed.point(self.link, self.offset), self.weight[frames]
        if pulls is not None:
            np.multiply(_at_point(posed, at), weight.T[:, None], out=pulls[0])
        np.multiply(at - self.goal[frames], weight, out=rest)


@dataclass(frozen=True, eq=False)
class RotationTask:
    """A link with axes `own` (3, 3) on it is to be turned as `goal` (T, 3, 3)."""

    link: int
    own: Array
    goal: Array
    weight: Array

    rows = 3

    @property
    def links(self) -> tuple[int, ...]:
        """The links that it pulls at."""
        return (self.link,)

    def fill(
        self, posed: ChainPose, frames: slice, pulls: Sequence[Array] | None, rest: Array
    ) -> None:
        """Write weighted pulls (3, 6, T) and residuals (T, 3)."""
        now, weight = posed.rotation(self.link) @ self.own, self.weight[frames]
        if pulls is not None:
            for axis in range(3):
                pulls[0][axis, 3 + axis] = weight
        apart = rotation_vectors(now @ self.goal[frames].swapaxes(1, 2))
        np.multiply(apart, weight[:, None], out=rest)


@dataclass(frozen=True, eq=False)
class LimbTask:
    """The way from a point of a link to one of a link farther out is to point along `goal` (T, 3).

    This is what keeps a knee or an elbow on the side on which the person has it.
    """

    near: int
    start: Array
    link: int
    end: Array
    goal: Array
    weight: Array

    rows = 3

    @property
    def links(self) -> tuple[int, ...]:
        """The links that it pulls at."""
        return (self.near, self.link)

    def fill(
        self, posed: ChainPose, frames: slice, pulls: Sequence[Array] | None, rest: Array
    ) -> None:
        """Write weighted pulls (3, 6, T) and residuals (T, 3)."""
        start, end = posed.point(self.near, self.start), posed.point(self.link, self.end)
        length = np.linalg.norm(end - start, axis=1, keepdims=True)
        weight = self.weight[frames][:, None]
        if pulls is not None:
            share = (weight / length).T
            np.multiply(_at_point(posed, start), -share, out=pulls[0])
            np.multiply(_at_point(posed, end), share, out=pulls[1])
        np.multiply((end - start) / length - self.goal[frames], weight, out=rest)


@dataclass(frozen=True, eq=False)
class LevelTask:
    """An axis on a link is to be level: a sole does not stand on its edge."""

    link: int
    axis: Array
    weight: Array

    rows = 1

    @property
    def links(self) -> tuple[int, ...]:
        """The links that it pulls at."""
        return (self.link,)

    def fill(
        self, posed: ChainPose, frames: slice, pulls: Sequence[Array] | None, rest: Array
    ) -> None:
        """Write weighted pulls (1, 6, T) and residuals (T, 1)."""
        turned, weight = posed.rotation(self.link) @ self.axis, self.weight[frames]
        if pulls is not None:
            # The height of a turning axis changes by what lies across it and the vertical.
            pulls[0][0, 3], pulls[0][0, 4] = weight * turned[:, 1], -weight * turned[:, 0]
        rest[:, 0] = weight * turned[:, 2]


@dataclass(frozen=True, eq=False)
class FloorTask:
    """Points (K, 3) of a link are not to be below the ground."""

    link: int
    offsets: Array
    weight: float

    @property
    def rows(self) -> int:
        """One row for each point."""
        return len(self.offsets)

    @property
    def links(self) -> tuple[int, ...]:
        """The links that it pulls at."""
        return (self.link,)

    def fill(self, posed: ChainPose, _: slice, pulls: Sequence[Array] | None, rest: Array) -> None:
        """Write weighted pulls (K, 6, T) and residuals (T, K); zero above the ground."""
        for row, offset in enumerate(self.offsets):
            at = posed.point(self.link, offset)
            weight = np.where(at[:, 2] < 0, self.weight, 0.0)
            if weight.any():
                if pulls is not None:
                    np.multiply(_at_point(posed, at)[2], weight, out=pulls[0][row])
                rest[:, row] = weight * at[:, 2]


@dataclass(frozen=True, eq=False)
class RestingTask:
    """The lowest of the points (K, 3) of a link is to rest on the ground, `radii` (K,) below it."""

    link: int
    points: Array
    radii: Array
    weight: Array

    rows = 1

    @property
    def links(self) -> tuple[int, ...]:
        """The links that it pulls at."""
        return (self.link,)

    def fill(
        self, posed: ChainPose, frames: slice, pulls: Sequence[Array] | None, rest: Array
    ) -> None:
        """Write weighted pulls (1, 6, T) and residuals (T, 1)."""
        weight = self.weight[frames]
        if not weight.any():
            return
        at = np.stack([posed.point(self.link, point) for point in self.points], axis=1)
        heights = at[:, :, 2] - self.radii
        own = np.arange(len(at)), heights.argmin(axis=1)
        if pulls is not None:
            np.multiply(_at_point(posed, at[own])[2], weight, out=pulls[0][0])
        rest[:, 0] = weight * heights[own]


def _at_point(posed: ChainPose, at: Array) -> Array:
    """How a point `at` (T, 3) of a link moves along each axis (3, 6, T) with the link."""
    x, y, z = (at - posed.base[:, :3]).T
    pulls = np.zeros((3, 6, len(at)))
    pulls[[0, 1, 2], [0, 1, 2]] = 1.0
    pulls[0, 4], pulls[0, 5] = z, -y
    pulls[1, 3], pulls[1, 5] = -z, x
    pulls[2, 3], pulls[2, 4] = y, -x
    return pulls


Task = PointTask | RotationTask | LimbTask | LevelTask | FloorTask | RestingTask


# Square roots of weights: per metre for places, per radian for rotations.
PELVIS, KNEE, SHOULDER, ELBOW, HAND, FOOT = 6.0, 8.0, 10.0, 8.0, 25.0, 20.0
PELVIS_ROTATION, CHEST_ROTATION, FOOT_ROTATION = 2.0, 3.0, 3.0
HEAD_ROTATION, HAND_ROTATION = 1.5, 0.6
LIMB = 1.0
# What else rests on the ground is held so firmly, and comes down within about this time, s.
RESTING, SOFTLY_S = 150.0, 0.08
HELD, LEVEL, BELOW = 400.0, 20.0, 400.0
KEPT_PLACE, KEPT_ROTATION = 18.0, 12.0
# Nothing is left without any pull: what is not seen is better guessed than free.
LEAST_SEEN = 0.005


@dataclass(frozen=True, eq=False)
class ClipTasks:
    """One person on one robot, with the places where the feet stand."""

    chain: Chain
    person: HumanMotion
    goals: Goals
    footholds: Footholds

    def following(self) -> list[Task]:
        """Everything that follows the person."""
        goals, robot, kinematics = self.goals, self.chain.robot, self.chain.kinematics
        pelvis = kinematics.place(robot.pelvis)[0]
        hips, shoulders = self._seen("hip").min(axis=1), self._seen("shoulder", "hip").min(axis=1)
        chest = kinematics.place(robot.chest)[0]
        weight = _weights(PELVIS, hips)
        tasks: list[Task] = [
            PointTask(pelvis, robot.pelvis_point, goals.positions["pelvis"], weight),
            RotationTask(
                pelvis,
                robot.axes_on(robot.pelvis),
                goals.rotations["pelvis"],
                PELVIS_ROTATION * hips,
            ),
            RotationTask(
                chest, robot.chest_axes, goals.rotations["chest"], CHEST_ROTATION * shoulders
            ),
        ]
        for number, side in enumerate(SIDES):
            for part, usual, above in (
                ("knee", KNEE, "hip"),
                ("shoulder", SHOULDER, "hip"),
                ("elbow", ELBOW, "shoulder"),
            ):
                name = f"{side}_{part}"
                link, place = kinematics.place(robot.places[name])
                seen = self._seen(part, above)[:, number]
                weight = _weights(usual * robot.weights.get(name, 1.0), seen)
                tasks.append(PointTask(link, place[:, 3], goals.positions[name], weight))
            tasks += self._end(number)
        tasks += self.limbs()
        if robot.head is not None and "head" in goals.rotations:
            link, axes = kinematics.place(robot.head)[0], robot.axes_on(robot.head)
            rotation = np.full(len(self.person), HEAD_ROTATION)
            tasks.append(RotationTask(link, axes, goals.rotations["head"], rotation))
        return [*tasks, *self.standing()]

    def keeping(self, wanted: MotionState, firmness: float = 1.0) -> list[Task]:
        """A base that stays with a smooth motion, and soles that stand, so firmly."""
        base = self.chain.kinematics.names.index(self.chain.robot.robot.base)
        rotations = matrix_from_quaternion(wanted.base[:, 3:])
        place = np.full((len(wanted), 3), KEPT_PLACE)
        return [
            PointTask(base, np.zeros(3), wanted.base[:, :3], place),
            RotationTask(base, np.eye(3), rotations, np.full(len(wanted), KEPT_ROTATION)),
            *self.standing(firmness),
        ]

    def limbs(self) -> list[Task]:
        """Shanks and forearms that point as the person's; knees and elbows are placed already."""
        place, tasks = self.chain.kinematics.place, list[Task]()
        for name, limb in self.goals.limbs.items():
            if name.endswith(("shank", "forearm")):
                (near, start), (link, end) = place(limb.near), place(limb.far)
                weight = LIMB * np.maximum(limb.confidence, LEAST_SEEN)
                task = LimbTask(near, start[:, 3], link, end[:, 3], limb.direction, weight)
                tasks.append(task)
        return tasks

    def ends(self) -> list[Task]:
        """Hands and feet that follow the person's."""
        return [task for number in range(2) for task in self._end(number)]

    def _end(self, number: int) -> list[Task]:
        """Hand and foot of one side."""
        hand = self._hand(SIDES[number], self._seen("wrist", "elbow", "shoulder")[:, number])
        return hand + self._foot(number, self._seen("ankle")[:, number])

    def _hand(self, side: str, seen: Array) -> list[Task]:
        robot = self.chain.robot
        name = f"{side}_hand"
        link, place = self.chain.kinematics.place(robot.robot.end_effectors[name])
        weight = HAND * robot.weights.get(name, 1.0)
        goal = self.goals.positions[name]
        tasks: list[Task] = [PointTask(link, place[:, 3], goal, _weights(weight, seen))]
        if side in robot.hands and name in self.goals.rotations:
            own = place[:, :3] @ robot.hands[side].matrix
            tasks.append(RotationTask(link, own, self.goals.rotations[name], HAND_ROTATION * seen))
        return tasks

    def _foot(self, foot: int, seen: Array) -> list[Task]:
        soles, feet = self.chain.robot.soles, self.footholds
        link = int(soles.link[foot])
        weight = FOOT * self.chain.robot.weights.get(f"{SIDES[foot]}_foot", 1.0)
        return [
            PointTask(link, soles.centre[foot], feet.centre[:, foot], _weights(weight, seen)),
            RotationTask(link, soles.rotations[foot], feet.rotation[:, foot], FOOT_ROTATION * seen),
        ]

    def standing(self, firmness: float = 1.0) -> list[Task]:
        """Soles that stand, stand level, and are never below the ground."""
        soles, feet = self.chain.robot.soles, self.footholds
        tasks: list[Task] = []
        for foot in range(2):
            link = int(soles.link[foot])
            for part, (own, goal) in enumerate(((soles.heel, feet.heel), (soles.toe, feet.toe))):
                held = HELD * firmness * feet.stands[:, foot, part].astype(np.float64)
                tasks.append(PointTask(link, own[foot], goal[:, foot], np.tile(held[:, None], 3)))
            stands = feet.stands[:, foot, 0] | feet.stands[:, foot, 1]
            level = np.where(stands, LEVEL, 0.0)
            tasks.append(LevelTask(link, soles.rotations[foot][:, 1], level))
            tasks.append(FloorTask(link, soles.corners[foot], BELOW * firmness))
        return tasks + self._resting(firmness)

    def _resting(self, firmness: float) -> list[Task]:
        """What rests on the ground besides the feet, coming down and up gently."""
        supports = self.goals.supports
        if supports is None:
            return []
        gently = SOFTLY_S * self.person.rate_hz
        held = gaussian_filter1d(supports.touches.astype(np.float64), gently, axis=0)
        return [
            RestingTask(
                int(link), supports.points[number], supports.radii[number],
                RESTING * firmness * held[:, number],
            )
            for number, link in enumerate(supports.links) if held[:, number].any()
        ]  # fmt: skip

    def _seen(self, *parts: str) -> Array:
        """The least confidence (T, 2) of points, left and right."""
        sides = [
            np.min([self.person.seen(f"{side}_{part}") for part in parts], axis=0) for side in SIDES
        ]
        return np.asarray(np.maximum(np.stack(sides, axis=1), LEAST_SEEN))


def pick_frames(task: Task, frames: Numbers) -> Task:
    """The task in some of the frames only."""
    if isinstance(task, FloorTask):
        return task
    if isinstance(task, LevelTask | RestingTask):
        return replace(task, weight=task.weight[frames])
    return replace(task, goal=task.goal[frames], weight=task.weight[frames])


def _weights(weight: float, seen: Array) -> Array:
    return np.tile((weight * seen)[:, None], 3)
