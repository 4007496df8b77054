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

    `links` is (L, 3, 4, T). `motions` (N, 6, T) are what each joint does at a speed of one: how it
    moves a body where the base is, and how it turns it.
    """

    links: Array
    motions: Array
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
        return ChainPose(self.links[..., frames], self.motions[..., frames], self.base[frames])


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
        """All links and the motions of all joints of a state."""
        links = self.kinematics.transforms(state.q, state.base)
        children, axes, sliding = self._joint_axes
        own = links[children]
        motions = np.zeros((len(children), 6, len(state)))
        np.einsum("nikt,nk->nit", own[:, :, :3], axes, out=motions[:, 3:])
        arms = state.base[:, :3].T - own[:, :, 3]
        motions[:, :3] = across(motions[:, 3:].swapaxes(0, 1), arms.swapaxes(0, 1)).swapaxes(0, 1)
        motions[sliding, :3], motions[sliding, 3:] = motions[sliding, 3:], 0.0
        return ChainPose(links, motions, state.base)

    @cached_property
    def _joint_axes(self) -> tuple[Numbers, Array, NDArray[np.bool_]]:
        """Of every step the link that it moves (N,), its axis (N, 3), and whether it slides."""
        steps = self.kinematics.steps
        return (
            np.array([step.child for step in steps], np.int64),
            np.array([step.axis for step in steps]),
            np.array([step.prismatic for step in steps], bool),
        )

    def derivatives(self, motions: Array, link: int, pulls: Array) -> Array:
        """Derivatives (R, size, T) of what pulls (R, 6, T) say of a link's motion."""
        rows = np.zeros((len(pulls), self.size, pulls.shape[2]))
        rows[:, :BASE] = pulls
        for step in self._above[link]:
            place, gain = self.unknowns[step]
            if place >= 0:
                rows[:, place] += gain * np.einsum("rat,at->rt", pulls, motions[step])
        return rows

    def add_pulls(
        self, posed: ChainPose, pulls: dict[int, tuple[Array, Array]], matrix: Array, slope: Array
    ) -> None:
        """Add to matrix (n, n, T) and slope (n, T) what is pulled at links.

        By link: the squares (6, 6, T) of its pulls, and (6, T) their products with residuals. They
        are summed from the outermost links inwards, as masses are for composite bodies: a joint
        feels the sum of all that is farther out, and so do the joints further in. They are used up.
        """
        for number in reversed(range(len(self.kinematics.steps))):
            step = self.kinematics.steps[number]
            if step.child not in pulls:
                continue
            squares, pull = pulls.pop(step.child)
            place, gain = self.unknowns[number]
            if place >= 0:
                motion = gain * posed.motions[number]
                felt = np.einsum("abt,bt->at", squares, motion)
                slope[place] += np.einsum("at,at->t", motion, pull)
                matrix[:BASE, place] += felt
                matrix[place, :BASE] += felt
                matrix[place, place] += np.einsum("at,at->t", motion, felt)
                steps, places, gains = self._inner[number]
                felt = gains @ np.einsum("kat,at->kt", posed.motions[steps], felt)
                matrix[place, places] += felt
                matrix[places, place] += felt
            if step.parent in pulls:
                pulls[step.parent][0][...] += squares
                pulls[step.parent][1][...] += pull
            else:
                pulls[step.parent] = squares, pull
        for squares, pull in pulls.values():
            matrix[:BASE, :BASE] += squares
            slope[:BASE] += pull

    def add_tied(
        self, posed: ChainPose, pulls: dict[int, Array], rest: Array, matrix: Array, slope: Array
    ) -> None:
        """Add to matrix and slope rows with residuals (T, R) that pull at several links at once."""
        rows = np.zeros((rest.shape[1], self.size, len(rest)))
        for link, own in pulls.items():
            rows += self.derivatives(posed.motions, link, own)
        moved = np.flatnonzero(rows.any(axis=(0, 2)))
        rows = rows[:, moved]
        matrix[np.ix_(moved, moved)] += np.einsum("rit,rjt->ijt", rows, rows)
        slope[moved] += np.einsum("rit,tr->it", rows, rest)

    @cached_property
    def _inner(self) -> list[tuple[Numbers, Numbers, Array]]:
        """For every step those further in: their numbers (k,), the places (m,) of their unknowns
        and how much (m, k) each moves with each."""
        inner = []
        for step in self.kinematics.steps:
            steps = [above for above in self._above[step.parent] if self.unknowns[above][0] >= 0]
            own = np.array([self.unknowns[above][0] for above in steps], np.int64)
            places = np.unique(own)
            gains = np.array([self.unknowns[above][1] for above in steps])
            inner.append((np.array(steps, np.int64), places, (places[:, None] == own) * gains))
        return inner

    @cached_property
    def unknowns(self) -> list[tuple[int, float]]:
        """For every step its place among the unknowns, -1 where it has none, and its gain."""
        place = {int(column): BASE + number for number, column in enumerate(self.columns)}
        return [(place.get(column, -1), gain) for gain, column in self._moves]

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


def across(one: Array, other: Array) -> Array:
    """Cross products (3, ...) of columns, component by component: quicker than numpy's own."""
    product = np.empty(other.shape)
    for first, second, third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.multiply(one[second], other[third], out=product[first])
        product[first] -= one[third] * other[second]
    return product
