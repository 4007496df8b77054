"""Follows a person frame by frame: Gauss-Newton steps within limits, links kept apart, smoothed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.engines import import_pinocchio
from corporeal.embodiment.joints import standing_positions
from corporeal.geometry import Array, quaternion_from_matrix
from corporeal.retargeting.goal.robot_map import RobotMap
from corporeal.retargeting.live.frame_goals import FrameGoals, GoalMaker
from corporeal.retargeting.live.frame_tasks import FrameTasks, cross_matrix
from corporeal.retargeting.live.live_person import LiveSize, PointFilter, SizeEstimate
from corporeal.retargeting.result import ENDS, FAR_M

# Joints (J,), and the base's origin (3,) and rotation (3, 3).
Posture = tuple[Array, Array, Array]
# Marker systems scatter less than this: their poses pass as they are.
CALM_M = 0.003
# 2 cm of scatter are smoothed at 6 Hz.
_HZ_M, _LEAST_HZ = 0.12, 3.0


class PoseSmoother:
    """Two low-passes in a row: every output is a mean of inputs, so that limits still hold."""

    def __init__(self) -> None:
        self._pin = import_pinocchio()
        self._stages: list[Posture] = []

    def take(self, pose: Posture, scatter_m: float, dt_s: float) -> Posture:
        """The pose smoothed as the scatter of the points asks for."""
        if not self._stages:
            self._stages = [pose, pose]
        share = 1.0
        if scatter_m > CALM_M:
            phase = 2 * np.pi * max(_HZ_M / scatter_m, _LEAST_HZ) * dt_s
            share = phase / (1 + phase)
        for index, (q, origin, turned) in enumerate(self._stages):
            rest = self._pin.log3(pose[2] @ turned.T)
            pose = (
                q + share * (pose[0] - q),
                origin + share * (pose[1] - origin),
                pose[2] if share == 1.0 else self._pin.exp3(share * rest) @ turned,
            )
            self._stages[index] = pose
        return pose


# Links nearer than this are pushed apart; many pass each other by a centimetre by design.
MARGIN_M = 0.008
# How far a pair can come nearer within one frame.
_LOOK_M = 0.03
_WEIGHT = 8.0
_MOST_PAIRS = 12


@dataclass(frozen=True, eq=False)
class Guarded:
    """Pairs of links as they were at a pose: how joints part them (n, J), how far they are (n,)."""

    q: Array
    rows: Array
    gaps: Array

    def add(self, q: Array, normal: Array, slope: Array) -> None:
        """Add what pushes apart the pairs that are too near at `q`; the base has no part in it."""
        gaps = self.gaps + self.rows @ (q - self.q)
        close = gaps < MARGIN_M
        if close.any():
            rows = self.rows[close] * _WEIGHT
            normal[6:, 6:] += rows.T @ rows
            slope[6:] += rows.T @ (_WEIGHT * (MARGIN_M - gaps[close]))


class BodyGuard:
    """Looks once per frame which links are near each other."""

    def __init__(self, robot: RobotMap, tasks: FrameTasks) -> None:
        self._tasks = tasks
        self._names = robot.kinematics.names
        self._model = CollisionModel(robot.robot)

    def look(self, q: Array) -> Guarded:
        """The nearest pairs at a pose."""
        near = self._model.near(q[None], _LOOK_M)
        first = np.argsort(near.distance)[:_MOST_PAIRS]
        self._tasks.pose(q, np.zeros(3), np.eye(3))
        rows = np.empty((len(first), len(q)))
        for row, index in zip(rows, first, strict=True):
            a, b = map(self._way, near.links[index], near.points[index])
            row[:] = near.normal[index] @ (a - b)
        return Guarded(q.copy(), rows, near.distance[first])

    def _way(self, link: int, point: Array) -> Array:
        """How a point (3,) on a link moves with the joints (3, J), in the axes of the base."""
        jacobian, place = self._tasks.link_jacobian(self._names[link])
        return np.asarray(jacobian[:3] - cross_matrix(point - place) @ jacobian[3:])


# Motors could do more; a live target that asks for it is a fault of the input.
FASTEST_RAD_S = 12.0
BASE_FASTEST = np.array([4.0, 4.0, 4.0, 8.0, 8.0, 8.0])
# Kept inside, so that rounding never crosses a limit.
_INSIDE = 1e-4
_STEPS, _FIRST_STEPS = 3, 60
_DAMPING, _POSTURE = 1e-4, 2e-4
# Joints go on as they went, by this share of their pace, rather than jump for a goal.
_CALM, _CARRIED = 0.15, 0.9
_SMALL_RAD = 1e-3
_TRUSTED = 0.3


@dataclass(frozen=True, eq=False)
class LivePose:
    """One frame of the robot: `q` (J,), `base` (7,) x y z qw qx qy qz, `error_m` (4,) of the ENDS.

    The error is that of the pose as it is sent, so that smoothing noisy points shows in it; `ok`
    says whether the robot could reach all trusted goals within FAR_M.
    """

    q: Array
    base: Array
    error_m: Array
    ok: bool


class LiveSolver(Protocol):
    """Whatever turns poses of a person into poses of a robot, one at a time."""

    def step(
        self, positions: Array, confidence: Array, rotations: Mapping[str, Array], dt_s: float
    ) -> LivePose | None:
        """The robot's next pose, `dt_s` after the last; None while the person is not known."""
        ...

    def restart(self) -> None:
        """Forget the person, for a sender that begins anew; the robot stays where it is."""
        ...


class FrameSolver:
    """The live solver: cleans points, learns the person's size, and steps within the limits."""

    def __init__(self, robot: RobotMap, *, size: LiveSize | None = None) -> None:
        self.robot = robot
        self._given = size
        self._tasks = FrameTasks(robot)
        self._guard = BodyGuard(robot, self._tasks)
        joints = robot.robot.actuated
        lower = np.array([-np.inf if j.lower is None else j.lower + _INSIDE for j in joints])
        upper = np.array([np.inf if j.upper is None else j.upper - _INSIDE for j in joints])
        middle = (np.maximum(lower, -1e9) + np.minimum(upper, 1e9)) / 2
        self._lower, self._upper = np.minimum(lower, middle), np.maximum(upper, middle)
        fastest = [FASTEST_RAD_S if j.velocity is None else j.velocity for j in joints]
        self._fastest = np.minimum(fastest, FASTEST_RAD_S) * (1 - 1e-3)
        self._rest = np.clip(standing_positions(robot.robot), self._lower, self._upper)
        self._last: Posture | None = None
        self._sent = (self._rest, np.zeros(3), np.eye(3))
        self._pace = np.zeros(len(joints))
        self._smoother = PoseSmoother()
        self.restart()

    def restart(self) -> None:
        """Forget the person; the robot goes on from where it is."""
        self._points = PointFilter()
        self._size = SizeEstimate()
        self._goals = GoalMaker(self.robot)

    @property
    def size(self) -> LiveSize | None:
        """The person's size, once it is known for good."""
        return self._given or self._size.known

    @property
    def human(self) -> Array:
        """The person's points (P, 3) as they were cleaned."""
        return self._points.positions

    def step(
        self, positions: Array, confidence: Array, rotations: Mapping[str, Array], dt_s: float
    ) -> LivePose | None:
        """The robot's next pose; raises MotionError for limbs that no person has."""
        self._points.take(positions, confidence, dt_s)
        if not self._points.is_whole:
            return None
        size = self._given or self._size.take(self._points.positions, dt_s)
        goals = self._goals.make(self._points, rotations, size, dt_s)
        if self._last is None:
            self._last = self._start(goals)
            self._sent = self._last
        before = self._last
        self._last = self._follow(goals, before, dt_s, _STEPS)
        self._pace = (self._last[0] - before[0]) / dt_s
        self._sent = self._calmed(self._last, dt_s)
        return self._posed(goals, self._last, self._sent)

    def _calmed(self, pose: Posture, dt_s: float) -> Posture:
        """The pose as it is sent: smoothed, and no further from the last one than limits allow."""
        q, origin, rotation = self._smoother.take(pose, self._points.scatter_m, dt_s)
        reach = self._fastest * dt_s
        return np.clip(q, self._sent[0] - reach, self._sent[0] + reach), origin, rotation

    def _start(self, goals: FrameGoals) -> Posture:
        """The first pose, from standing posture at the person's heading, without speed limits."""
        rotation = goals.rotations["pelvis"] @ self.robot.axes.T
        origin = goals.positions["hips"] - rotation @ self.robot.hip_centre
        return self._follow(goals, (self._rest.copy(), origin, rotation), None, _FIRST_STEPS)

    def _follow(self, goals: FrameGoals, last: Posture, dt_s: float | None, steps: int) -> Posture:
        q, origin, rotation = last
        low, high = self._lower, self._upper
        spare, calm = np.full(6, np.inf), 0.0
        if dt_s is not None:
            low = np.maximum(low, last[0] - self._fastest * dt_s)
            high = np.minimum(high, last[0] + self._fastest * dt_s)
            spare, calm = BASE_FASTEST * dt_s, _CALM
        ahead = np.clip(last[0] + _CARRIED * self._pace * (dt_s or 0.0), low, high)
        gone = np.zeros(6)
        guarded = self._guard.look(q)
        for count in range(steps):
            # A start goes far, so that it has to look again on its way.
            if count and count % _STEPS == 0:
                guarded = self._guard.look(q)
            normal, slope = self._tasks.normal_equations(q, origin, rotation, goals)
            guarded.add(q, normal, slope)
            normal[np.diag_indices_from(normal)] += _DAMPING
            joints = np.arange(6, 6 + len(q))
            normal[joints, joints] += _POSTURE + calm
            slope[6:] += _POSTURE * (self._rest - q) + calm * (ahead - q)
            floor = np.concatenate([-spare - gone, low - q])
            ceiling = np.concatenate([spare - gone, high - q])
            change = bounded_step(normal, slope, floor, ceiling)
            gone += change[:6]
            q = np.clip(q + change[6:], low, high)
            origin, rotation = self._tasks.moved(origin, rotation, change[:6])
            if np.abs(change).max() < _SMALL_RAD:
                break
        return q, origin, rotation

    def _posed(self, goals: FrameGoals, solved: Posture, sent: Posture) -> LivePose:
        trusted = np.array([goals.trust[end] > _TRUSTED for end in ENDS])
        reachable = self._errors(goals, solved)[trusted] <= FAR_M
        base = np.concatenate([sent[1], quaternion_from_matrix(sent[2])])
        return LivePose(sent[0].copy(), base, self._errors(goals, sent), bool(reachable.all()))

    def _errors(self, goals: FrameGoals, pose: Posture) -> Array:
        reached = self._tasks.places(*pose)
        apart = [np.linalg.norm(reached[end] - goals.positions[end]) for end in ENDS]
        return np.array(apart, np.float64)


_MOST_GUESSES = 12
_MOST_SWEEPS = 40
_SMALL = 1e-9


def bounded_step(normal: Array, slope: Array, low: Array, high: Array) -> Array:
    """x with low <= x <= high that minimises x' normal x / 2 - slope' x.

    `normal` (N, N) is positive definite, and low <= high. A primal-dual active set finds it in a
    few solves nearly always; where its guesses go in circles, coordinates are improved in turn.
    """
    at_low, at_high = np.zeros(len(slope), bool), np.zeros(len(slope), bool)
    x = np.zeros(len(slope))
    for _ in range(_MOST_GUESSES):
        held = at_low | at_high
        free = ~held
        x = np.where(at_low, low, np.where(at_high, high, 0.0))
        rest = slope[free] - normal[np.ix_(free, held)] @ x[held]
        x[free] = np.linalg.solve(normal[np.ix_(free, free)], rest)
        # What a held coordinate pulls with: away from its bound, it is let go.
        pull = slope - normal @ x
        new_low = (at_low & (pull < _SMALL)) | (free & (x < low - _SMALL))
        new_high = (at_high & (pull > -_SMALL)) | (free & (x > high + _SMALL))
        if np.array_equal(new_low, at_low) and np.array_equal(new_high, at_high):
            return np.asarray(np.clip(x, low, high))
        at_low, at_high = new_low, new_high
    return _improved(normal, slope, low, high, np.asarray(np.clip(x, low, high)))


def _improved(normal: Array, slope: Array, low: Array, high: Array, x: Array) -> Array:
    """One coordinate at a time to its best value, until nothing moves."""
    diagonal = np.diagonal(normal)
    for _ in range(_MOST_SWEEPS):
        moved = 0.0
        for index in range(len(x)):
            wanted = x[index] + (slope[index] - normal[index] @ x) / diagonal[index]
            new = min(max(wanted, low[index]), high[index])
            moved = max(moved, abs(new - x[index]))
            x[index] = new
        if moved < 1e-6:
            break
    return x
