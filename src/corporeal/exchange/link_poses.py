"""Where every link of the robot is over an episode, at a rate for the eye."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode.recording import Recording, Signal
from corporeal.exchange.table import on_grid
from corporeal.geometry import quaternion_from_matrix
from corporeal.schema import roles

EYE_HZ = 30.0


@dataclass(frozen=True, eq=False)
class RobotPoses:
    """Poses of all links in the world: positions (T, L, 3) and quaternions wxyz (T, L, 4)."""

    links: tuple[str, ...]
    time_ns: NDArray[np.int64]
    positions: NDArray[np.float64]
    quaternions: NDArray[np.float64]


def link_poses_of(recording: Recording) -> RobotPoses | None:
    """The robot's links over time; None when the joints or the robot are not known."""
    robot, joints = recording.embodiment, _joints(recording)
    if robot is None or joints is None:
        return None
    numbers = _thinned(joints)
    grid = joints.time_ns[numbers]
    order = [joints.spec.names.index(name) for name in robot.joint_names]
    angles = np.asarray(joints[numbers], np.float64)[:, order]
    poses = Kinematics(robot).link_poses(np.nan_to_num(angles), _base(recording, grid))
    turned = quaternion_from_matrix(poses.rotations)
    return RobotPoses(poses.names, grid, np.ascontiguousarray(poses.positions), turned)


def _joints(recording: Recording) -> Signal | None:
    robot = recording.embodiment
    label = recording.named(*roles.MEASURED)
    if robot is None or label is None or not len(recording.signals[label]):
        return None
    signal = recording.signals[label]
    is_whole = set(robot.joint_names) <= set(signal.spec.names) and len(signal.spec.shape) == 1
    return signal if is_whole else None


def _thinned(signal: Signal) -> NDArray[np.int64]:
    """Every so many samples that no more than `EYE_HZ` are left; the last one stays."""
    step = max(1, round((signal.spec.rate_hz or EYE_HZ) / EYE_HZ))
    return np.arange(0, len(signal), step)


def _base(recording: Recording, grid: NDArray[np.int64]) -> NDArray[np.float64]:
    """The base in the world: as measured, else standing at the origin."""
    robot = recording.embodiment
    assert robot is not None
    label = recording.named(roles.BASE_POSE)
    signal = recording.signals[label] if label is not None else None
    if signal is not None and len(signal) and set(signal.spec.names) == set(roles.POSE):
        rows = np.asarray(on_grid(signal, grid)[0], np.float64)
        order = [signal.spec.names.index(name) for name in roles.POSE]
        pose: NDArray[np.float64] = rows[:, order]
        if np.isfinite(pose).all():
            return pose
    height = robot.standing.height if robot.floating and robot.standing is not None else 0.0
    return np.tile([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0], (len(grid), 1))
