"""The tasks of one live frame: how far places are from their goals, and how joints move them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from corporeal.embodiment.engines import compile_pinocchio, import_pinocchio
from corporeal.geometry import Array
from corporeal.retargeting.goal.robot_map import RobotMap
from corporeal.retargeting.live.frame_goals import FrameGoals
from corporeal.retargeting.motion import SIDES

# Per metre of distance; rotations per radian. Hands and feet matter, the rest guides them.
_POSITION = {"hand": 1.0, "foot": 1.0, "elbow": 0.3, "shoulder": 0.15, "knee": 0.4}
_STANDING = 4.0
_HIPS = np.array([0.4, 0.4, 0.6])
_ROTATION = {"pelvis": 0.08, "chest": 0.12, "foot": 0.05, "hand": 0.04}
_STANDING_ROTATION = 0.5


class FrameTasks:
    """Weighted least squares of one frame: unknowns are base (3 + 3, in the world) and joints."""

    def __init__(self, robot: RobotMap) -> None:
        self._pin = import_pinocchio()
        self._robot = robot
        self._compiled = compile_pinocchio(robot.robot)
        self._model = self._compiled.model
        self._data = self._model.createData()
        names = {**robot.places, "chest": robot.chest}
        for side in SIDES:
            names[f"{side}_hand"] = robot.robot.end_effectors[f"{side}_hand"]
            names[f"{side}_foot"] = robot.robot.feet[side]
        self._frames = {name: self._model.getFrameId(place) for name, place in names.items()}
        self._placed = [name for name in self._frames if name.split("_")[-1] in _POSITION]
        columns = len(robot.robot.joint_names)
        # How the columns of the data move all joints, those that mimic others included.
        self._drive = self._compiled.kinematics.joints.rates(np.eye(columns))
        self._fingers = {side: axes.matrix for side, axes in robot.hands.items()}
        # Forward, left and up in the axes of the places that are turned as the person is.
        self._own = {"chest": robot.kinematics.place(robot.chest)[1][:, :3].T @ robot.chest_axes}
        for foot, side in enumerate(SIDES):
            place = robot.kinematics.place(robot.robot.feet[side])[1]
            self._own[f"{side}_foot"] = place[:, :3].T @ robot.soles.rotations[foot]

    def places(self, q: Array, origin: Array, rotation: Array) -> dict[str, Array]:
        """Positions (3,) of everything that has a goal."""
        self._pin.framesForwardKinematics(
            self._model, self._data, self._configuration(q, origin, rotation)
        )
        return {
            name: self._data.oMf[index].translation.copy() for name, index in self._frames.items()
        }

    def normal_equations(
        self, q: Array, origin: Array, rotation: Array, goals: FrameGoals
    ) -> tuple[Array, Array]:
        """J' W J (N, N) and J' W e (N,) at a pose, for unknowns in the order base, joints."""
        self.pose(q, origin, rotation)
        rows, misses, weights = zip(*self._rows(origin, rotation, goals), strict=True)
        stacked = np.concatenate(rows)
        heavy = stacked * np.concatenate(weights)[:, None]
        return heavy.T @ stacked, heavy.T @ np.concatenate(misses)

    def pose(self, q: Array, origin: Array, rotation: Array) -> None:
        """Take a pose, for the Jacobians that are asked for next."""
        configuration = self._configuration(q, origin, rotation)
        self._pin.computeJointJacobians(self._model, self._data, configuration)
        self._pin.updateFramePlacements(self._model, self._data)

    def link_jacobian(self, link: str) -> tuple[Array, Array]:
        """How the joints move and turn a link (6, J) at the pose taken, and where it is (3,)."""
        jacobian, placement = self._frame_jacobian(self._model.getFrameId(link))
        return jacobian, placement.translation.copy()

    def moved(self, origin: Array, rotation: Array, change: Array) -> tuple[Array, Array]:
        """The base moved by a step (6,) in the world: along, then about."""
        turned = self._pin.Quaternion(self._pin.exp3(change[3:]) @ rotation)
        turned.normalize()
        return origin + change[:3], turned.matrix()

    def _rows(
        self, origin: Array, rotation: Array, goals: FrameGoals
    ) -> Iterator[tuple[Array, Array, Array]]:
        """Derivatives (3, N), distances (3,) and weights (3,) of every task at the pose taken."""
        log3 = self._pin.log3
        for name in self._placed:
            jacobian, placement = self._jacobian(name, origin)
            weight = _position_weight(name, goals) * self._robot.weights.get(name, 1.0)
            miss = goals.positions[name] - placement.translation
            yield jacobian[:3], miss, np.full(3, weight**2)
            wanted = self._wanted_rotation(name, goals)
            if wanted is not None:
                miss = log3(wanted @ placement.rotation.T)
                yield jacobian[3:], miss, np.full(3, _rotation_weight(name, goals) ** 2)
        jacobian, placement = self._jacobian("chest", origin)
        miss = log3(goals.rotations["chest"] @ self._own["chest"].T @ placement.rotation.T)
        yield jacobian[3:], miss, np.full(3, _ROTATION["chest"] ** 2)
        along, about = np.zeros((2, *jacobian[:3].shape))
        along[:, :3], about[:, 3:6] = np.eye(3), np.eye(3)
        lever = rotation @ self._robot.hip_centre
        along[:, 3:6] = -cross_matrix(lever)
        miss = goals.positions["hips"] - origin - lever
        yield along, miss, (_HIPS * max(goals.trust["hips"], 0.1)) ** 2
        miss = log3(goals.rotations["pelvis"] @ self._robot.axes.T @ rotation.T)
        yield about, miss, np.full(3, _ROTATION["pelvis"] ** 2)

    def _jacobian(self, name: str, origin: Array) -> tuple[Array, Any]:
        """How a place moves and turns (6, N) in the world's axes, and where it is."""
        joints, placement = self._frame_jacobian(self._frames[name])
        jacobian = np.empty((6, 6 + self._drive.shape[1]))
        jacobian[:, :6] = 0.0
        jacobian[:3, :3] = jacobian[3:, 3:6] = np.eye(3)
        jacobian[:3, 3:6] = -cross_matrix(placement.translation - origin)
        jacobian[:, 6:] = joints
        return jacobian, placement

    def _frame_jacobian(self, frame: int) -> tuple[Array, Any]:
        whole = self._pin.getFrameJacobian(
            self._model, self._data, frame, self._pin.LOCAL_WORLD_ALIGNED
        )
        return np.asarray(whole[:, self._compiled.rates] @ self._drive), self._data.oMf[frame]

    def _wanted_rotation(self, name: str, goals: FrameGoals) -> Array | None:
        rotation = goals.rotations.get(name)
        if rotation is None or not name.endswith("_hand"):
            return None if rotation is None else rotation @ self._own[name].T
        side = name.split("_")[0]
        return rotation @ self._fingers[side].T if side in self._fingers else None

    def _configuration(self, q: Array, origin: Array, rotation: Array) -> Array:
        joints = self._compiled.kinematics.joints.positions(q[None])[:, 0]
        out = np.empty(self._model.nq)
        out[self._compiled.positions] = joints
        if self._robot.robot.floating:
            out[:3] = origin
            out[3:7] = self._pin.Quaternion(rotation).coeffs()
        return out


def _position_weight(name: str, goals: FrameGoals) -> float:
    side, part = name.split("_")
    if part == "foot" and goals.stands[side]:
        return _STANDING
    return _POSITION[part] * max(goals.trust[name], 0.02)


def _rotation_weight(name: str, goals: FrameGoals) -> float:
    side, part = name.split("_")
    if part == "foot" and goals.stands[side]:
        return _STANDING_ROTATION
    return _ROTATION[part]


def cross_matrix(vector: Array) -> Array:
    """The matrix (3, 3) that takes the cross product with a vector."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
