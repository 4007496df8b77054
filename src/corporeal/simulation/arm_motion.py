"""Hands to poses in the world: damped inverse kinematics of the arms, minimum-jerk paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corporeal.embodiment.engines import import_mujoco
from corporeal.geometry import (
    Array,
    matrix_from_quaternion,
    matrix_from_rpy,
    quaternion_from_matrix,
    slerp,
)
from corporeal.simulation.world import World

# A turn of one radian counts as much as this many metres.
TURN_WEIGHT_M = 0.12
DAMPING = 0.03
# Radians per second: what an arm is asked for at most, below the limits of its motors.
RATE_LIMIT = 4.0
# Radians: kept free before a joint's end.
MARGIN_RAD = 0.03


@dataclass(frozen=True, eq=False)
class HandPose:
    """Where a hand should be: the point between its pads, and its axes (fingers x, opening y)."""

    position: Array
    rotation: Array

    def at(self, position: Array) -> HandPose:
        """The same axes at another place."""
        return HandPose(np.asarray(position, np.float64), self.rotation)

    def moved(self, offset: Array) -> HandPose:
        """The same axes, moved by an offset in the world."""
        return HandPose(self.position + offset, self.rotation)


def hand_rotation(*, pitch_rad: float, yaw_rad: float = 0.0, roll_rad: float = 0.0) -> Array:
    """Axes (3, 3) of a hand that points forward, then down by `pitch_rad`, turned by `yaw_rad`."""
    return np.asarray(matrix_from_rpy((roll_rad, pitch_rad, yaw_rad)), np.float64)


def minimum_jerk(fraction: float, *, abruptness: float = 0.0) -> float:
    """How much of a motion is done (0..1) after `fraction` of its time.

    `abruptness` mixes in a straight ramp, whose start and stop are sudden.
    """
    t = min(max(fraction, 0.0), 1.0)
    smooth = t**3 * (10.0 - 15.0 * t + 6.0 * t * t)
    return (1.0 - abruptness) * smooth + abruptness * t


def between(start: HandPose, end: HandPose, part: float) -> HandPose:
    """The pose `part` of the way along the straight line and the shortest turn; part may pass 1."""
    position = start.position + part * (end.position - start.position)
    ends = quaternion_from_matrix(start.rotation), quaternion_from_matrix(end.rotation)
    turn = slerp(ends[0], ends[1], min(max(part, 0.0), 1.0))
    return HandPose(position, np.asarray(matrix_from_quaternion(turn), np.float64))


class ArmSolver:
    """Inverse kinematics of one arm of a world, one small step at a time.

    It keeps a copy of the physics' state to move about in, so that asking costs the physics
    nothing.
    """

    def __init__(self, world: World, side: str) -> None:
        mujoco = import_mujoco()
        self.world = world
        self.columns = world.joints(f"{side}_arm")
        self.site = int(world.model.site(f"{side}_grasp").id)
        joints = [world.embodiment.actuated[column] for column in self.columns]
        lower = [-np.pi if joint.lower is None else joint.lower for joint in joints]
        upper = [np.pi if joint.upper is None else joint.upper for joint in joints]
        self.lower, self.upper = np.array(lower) + MARGIN_RAD, np.array(upper) - MARGIN_RAD
        self.sign = 1.0 if side == "left" else -1.0
        self.rest = np.array([0.0, 0.25 * self.sign, 0.0, 0.3, 0.0, 0.0, 0.0])
        self._data: Any = mujoco.MjData(world.model)
        self._jacobian = np.zeros((6, world.model.nv))

    def pose(self, qpos: Array, angles: Array) -> HandPose:
        """Where the hand is with the arm at `angles` (7,) and all else as in `qpos`."""
        self._place(qpos, angles)
        rotation = self._data.site_xmat[self.site].reshape(3, 3).copy()
        return HandPose(self._data.site_xpos[self.site].copy(), rotation)

    def solve(
        self, qpos: Array, angles: Array, goal: HandPose, *, iterations: int = 60
    ) -> tuple[Array, float, float]:
        """Angles (7,) that bring the hand to a pose, and the errors left in metres and radians."""
        for _ in range(iterations):
            angles = self.step(qpos, angles, goal, limit_rad=0.3)
        error = self._error(self.pose(qpos, angles), goal)
        turn = float(np.linalg.norm(error[3:])) / TURN_WEIGHT_M
        return angles, float(np.linalg.norm(error[:3])), turn

    def step(self, qpos: Array, angles: Array, goal: HandPose, *, limit_rad: float) -> Array:
        """Angles (7,) one damped Gauss-Newton step nearer to the goal, inside the joint limits."""
        mujoco = import_mujoco()
        error = self._error(self.pose(qpos, angles), goal)
        rows = self._jacobian
        mujoco.mj_jacSite(self.world.model, self._data, rows[:3], rows[3:], self.site)
        jacobian = rows[:, self.world.joint_qvel[self.columns]].copy()
        jacobian[3:] *= TURN_WEIGHT_M
        squared = jacobian @ jacobian.T + DAMPING**2 * np.eye(6)
        change = jacobian.T @ np.linalg.solve(squared, error)
        # What is left free by the hand pulls the arm to its resting shape.
        toward = 0.03 * (self.rest - angles)
        change += toward - jacobian.T @ np.linalg.solve(squared, jacobian @ toward)
        most = float(np.max(np.abs(change)))
        if most > limit_rad:
            change *= limit_rad / most
        moved: Array = np.clip(angles + change, self.lower, self.upper)
        return moved

    def _place(self, qpos: Array, angles: Array) -> None:
        mujoco = import_mujoco()
        self._data.qpos[:] = qpos
        self._data.qpos[self.world.joint_qpos[self.columns]] = angles
        mujoco.mj_kinematics(self.world.model, self._data)
        mujoco.mj_comPos(self.world.model, self._data)

    def _error(self, here: HandPose, goal: HandPose) -> Array:
        turn = 0.5 * np.sum(np.cross(here.rotation.T, goal.rotation.T), axis=0)
        # Past a right angle the sine shrinks again: keep the push at full strength.
        if np.trace(here.rotation.T @ goal.rotation) < 1.0:
            turn = turn / max(float(np.linalg.norm(turn)), 1e-6)
        return np.concatenate([goal.position - here.position, TURN_WEIGHT_M * turn])
