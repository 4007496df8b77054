"""A floating robot with its derivatives over many frames at once: loops over joints, not frames."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import (
    Array,
    continuous_quaternions,
    normalise,
    quaternion_from_vector,
    quaternion_product,
)
from corporeal.retargeting.goal.robot_map import RobotMap

Numbers = NDArray[np.int64]
# Unknowns of the base: its place, then a rotation about the axes of the world.
BASE = 6


@dataclass(frozen=True, eq=False)
class MotionState:
    """T frames of a robot: `base` (T, 7) as x y z qw qx qy qz, `q` (T, J)."""

    base: Array
    q: Array

    def __len__(self) -> int:
        return len(self.q)

    @property
    def rows(self) -> Array:
        """Everything as columns (T, 7 + J); quaternions of neighbours are on the same side."""
        turned = continuous_quaternions(self.base[:, 3:])
        return np.concatenate([self.base[:, :3], turned, self.q], axis=1)

    @classmethod
    def from_rows(cls, rows: Array) -> MotionState:
        """The state with these `rows`, whose quaternions need not be of unit length."""
        base = np.concatenate([rows[:, :3], normalise(rows[:, 3:7])], axis=1)
        return cls(base, rows[:, 7:])

    def part(self, frames: slice | Numbers) -> MotionState:
        """Some of the frames."""
        return MotionState(self.base[frames], self.q[frames])

    def stepped(self, step: Array, columns: Numbers) -> MotionState:
        """The state after a step (T, 6 + columns) of its unknowns."""
        turned = quaternion_product(quaternion_from_vector(step[:, 3:6]), self.base[:, 3:])
        base = np.concatenate([self.base[:, :3] + step[:, :3], normalise(turned)], axis=1)
        q = self.q.copy()
        q[:, columns] += step[:, BASE:]
        return MotionState(base, q)


@dataclass(frozen=True, eq=False)
class ChainPose:
    """A state with all links in the world: what rows of derivatives are made from.

    `links` is (L, 3, 4, T); `axes` and `origins` (T, N, 3) are those of the unknowns' joints.
    """

    links: Array
    axes: Array
    origins: Array
    base: Array

    def point(self, link: int, offset: Array) -> Array:
        """Where (T, 3) a point of a link is."""
        pose = self.links[link]
        return np.asarray(np.einsum("ikt,k->ti", pose[:, :3], offset) + pose[:, 3].T)

    def rotation(self, link: int) -> Array:
        """Rotations (T, 3, 3) of a link."""
        return np.asarray(self.links[link][:, :3].transpose(2, 0, 1))

    def part(self, frames: slice) -> ChainPose:
        """Some of the frames, a view."""
        return ChainPose(
            self.links[..., frames], self.axes[frames], self.origins[frames], self.base[frames]
        )


@dataclass(frozen=True, eq=False)
class Chain:
    """One robot's joints as the unknowns of a solve; joints that move no goal are left alone."""

    robot: RobotMap

    @cached_property
    def kinematics(self) -> Kinematics:
        """The forward kinematics behind it."""
        return self.robot.kinematics

    @cached_property
    def columns(self) -> Numbers:
        """The columns of q that move a hand, a foot or the head: the unknowns after the base."""
        places = [*self.robot.robot.end_effectors.values(), *self.robot.robot.feet.values()]
        links = [self.kinematics.place(place)[0] for place in places]
        moved = {int(self._moves[step][1]) for link in links for step in self._above[link]}
        return np.array(sorted(moved), np.int64)

    @property
    def size(self) -> int:
        """The number of unknowns in a frame."""
        return BASE + len(self.columns)

    def weights(self, base: float, joint: float) -> Array:
        """One weight (size,) for all unknowns of the base, and one for all joints."""
        return np.where(np.arange(self.size) < BASE, base, joint)

    @cached_property
    def standing(self) -> Array:
        """Joint positions (J,) of the robot when it stands."""
        return standing_positions(self.robot.robot)

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Lower and upper limits (C,) of the unknown joints; infinite where none is stated."""
        joints = [self.robot.robot.actuated[column] for column in self.columns]
        lower = [-np.inf if joint.lower is None else joint.lower for joint in joints]
        upper = [np.inf if joint.upper is None else joint.upper for joint in joints]
        return np.array(lower), np.array(upper)

    @cached_property
    def speeds(self) -> Array:
        """Velocity limits (C,) of the unknown joints; infinite where none is stated."""
        joints = [self.robot.robot.actuated[column] for column in self.columns]
        return np.array([joint.velocity or np.inf for joint in joints], np.float64)

    def posed(self, state: MotionState) -> ChainPose:
        """All links and joint axes of a state."""
        links = self.kinematics.transforms(state.q, state.base)
        child = [step.child for step in self.kinematics.steps]
        axes = np.empty((len(state), len(child), 3))
        for number, step in enumerate(self.kinematics.steps):
            axes[:, number] = np.einsum("ikt,k->ti", links[step.child][:, :3], step.axis)
        origins = np.ascontiguousarray(links[child, :, 3].transpose(2, 0, 1))
        return ChainPose(links, axes, origins, state.base)

    def point_rows(self, posed: ChainPose, link: int, at: Array, out: Array) -> None:
        """Derivatives (T, 3, size) of a point `at` (T, 3) of a link, added into `out` (zeros)."""
        out[:, [0, 1, 2], [0, 1, 2]] = 1.0
        _turn_base(at - posed.base[:, :3], out)
        steps, places, gains, sliding = self._columns_above[link]
        if not len(steps):
            return
        axes = posed.axes[:, steps]
        moved = _across(axes, at[:, None] - posed.origins[:, steps])
        if sliding.any():
            moved[:, sliding] = axes[:, sliding]
        for number, place in enumerate(places):
            out[:, :, place] += gains[number] * moved[:, number]

    def limb_rows(
        self, posed: ChainPose, near: int, link: int, start: Array, end: Array, out: Array
    ) -> None:
        """Derivatives (T, 3, size) of the way from `start` to `end`, added into `out` (zeros).

        The start (T, 3) is a point of the link `near`, the end (T, 3) of `link`, farther out on
        the same limb: what moves both only turns the way between them.
        """
        along = end - start
        _turn_base(along, out)
        steps, places, gains, sliding = self._columns_above[link]
        both = np.isin(steps, self._columns_above[near][0])
        axes = posed.axes[:, steps]
        arms = np.where(both[:, None], along[:, None], end[:, None] - posed.origins[:, steps])
        moved = _across(axes, arms)
        if sliding.any():
            moved[:, sliding] = np.where(both[sliding][:, None], 0.0, axes[:, sliding])
        for number, place in enumerate(places):
            out[:, :, place] += gains[number] * moved[:, number]

    def rotation_rows(self, posed: ChainPose, link: int, out: Array) -> None:
        """Derivatives (T, 3, size) of the rotation of a link about the world's axes, into `out`."""
        out[:, [0, 1, 2], [3, 4, 5]] = 1.0
        steps, places, gains, sliding = self._columns_above[link]
        for number, (step, place) in enumerate(zip(steps, places, strict=True)):
            if not sliding[number]:
                out[:, :, place] += gains[number] * posed.axes[:, step]

    @cached_property
    def _moves(self) -> list[tuple[float, int]]:
        """Gain and column of q of every step of the kinematics; column -1 where nothing moves."""
        table = self.kinematics.joints
        return [
            (float(table.multiplier[step.joint]), int(table.column[step.joint]))
            for step in self.kinematics.steps
        ]

    @cached_property
    def _above(self) -> list[list[int]]:
        """The steps that move each link, from the base outwards."""
        above: list[list[int]] = [[] for _ in self.kinematics.names]
        for number, step in enumerate(self.kinematics.steps):
            own = [number] if self._moves[number][1] >= 0 else []
            above[step.child] = [*above[step.parent], *own]
        return above

    @cached_property
    def _columns_above(self) -> list[tuple[Numbers, list[int], Array, NDArray[np.bool_]]]:
        """For each link: steps, their places among the unknowns, gains, and which slide."""
        place = {int(column): BASE + number for number, column in enumerate(self.columns)}
        columns_above = []
        for steps in self._above:
            known = [step for step in steps if self._moves[step][1] in place]
            columns_above.append(
                (
                    np.array(known, np.int64),
                    [place[self._moves[step][1]] for step in known],
                    np.array([self._moves[step][0] for step in known]),
                    np.array([self.kinematics.steps[step].prismatic for step in known], bool),
                )
            )
        return columns_above


def _turn_base(away: Array, out: Array) -> None:
    """The rotation of the base about the world's axes, e x away, into rows (T, 3, size)."""
    out[:, 0, 4], out[:, 0, 5] = away[:, 2], -away[:, 1]
    out[:, 1, 3], out[:, 1, 5] = -away[:, 2], away[:, 0]
    out[:, 2, 3], out[:, 2, 4] = away[:, 1], -away[:, 0]


def _across(axes: Array, arms: Array) -> Array:
    """Cross products (T, n, 3), component by component: quicker than numpy's own."""
    moved = np.empty(arms.shape)
    for first, second, third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.multiply(axes[..., second], arms[..., third], out=moved[..., first])
        moved[..., first] -= axes[..., third] * arms[..., second]
    return moved
