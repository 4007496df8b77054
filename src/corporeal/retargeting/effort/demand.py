"""What a motion asks of the motors, the feet that stand held by the ground as if glued to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.dynamics import Efforts, inverse_dynamics
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.retargeting.goal.soles import sole_corners
from corporeal.retargeting.robot_models import RobotModels, models_of
from corporeal.retargeting.solver.chain import vector_of

# Frames without which there is no acceleration.
SHORTEST = 3
# Directions that the feet cannot resist stay solvable, m2. Edges alone, of one foot or of two in a
# line, are not made to resist what would take forces many times the robot's weight.
_FLAT, _EDGES = 1e-6, 1e-2


@dataclass(frozen=True, eq=False)
class Rates:
    """First and second derivatives in time of joints (T, J) and of the base (T, 6), world axes."""

    speed: Array
    gain: Array
    base_speed: Array
    base_gain: Array


@dataclass(frozen=True, eq=False)
class Demand:
    """The efforts (T, J) of a motion in N m (N for sliding joints), and how they came about.

    `poses` (L, 3, 4, T) are those of the links, `corners` (T, 2, 4, 3) of the soles. `grip`
    (T, 2, 4, 3, 6) says which forces at the corners resist each unit of a wrench on the base, and
    `forces` (T, 2, 4, 3) are those that do.
    """

    rates: Rates
    poses: Array
    corners: Array
    grip: Array
    forces: Array
    efforts: Array


def has_masses(robot: Embodiment) -> bool:
    """Whether it can be told what a motion asks of the motors of a robot."""
    return robot.floating and robot.mass > 0


def efforts_of(
    robot: Embodiment, rate_hz: float, q: Array, base: Array, contacts: NDArray[np.bool_]
) -> Array | None:
    """Efforts (T, J) of a motion, or None where there are no masses or too few frames."""
    if not has_masses(robot) or len(q) < SHORTEST:
        return None
    return demand_of(robot, rate_hz, q, base, contacts).efforts


def demand_of(
    robot: Embodiment, rate_hz: float, q: Array, base: Array, contacts: NDArray[np.bool_]
) -> Demand:
    """What a motion of three frames or more asks of the motors.

    The wrench that it needs is shared by the corners of the soles whose heel or toe is in
    `contacts` (T, 2, 2), by the least forces, which may pull: a motion that would tip over then
    asks an ankle for more than a standing sole could pass on, never for less. What no contact can
    give is left to the base, as if someone held the pelvis: a flight takes nothing from the legs.
    """
    models = models_of(robot)
    rates = rates_of(q, base, rate_hz)
    free = free_efforts(models, rates, q, base)
    poses = models.kinematics.transforms(q, base)
    corners = sole_corners(models.soles, poses)
    grip = grip_of(corners - base[:, None, None, :3], np.repeat(contacts, 2, axis=2))
    forces = np.einsum("tspkw,tw->tspk", grip, free.base)
    efforts = free.joints - carried_by(models, poses, corners, forces)
    return Demand(rates, poses, corners, grip, forces, efforts)


def rates_of(q: Array, base: Array, rate_hz: float) -> Rates:
    """The rates of a motion, by central differences."""
    return Rates(*_derivatives(q, rate_hz), *_base_derivatives(base, rate_hz))


def free_efforts(models: RobotModels, rates: Rates, q: Array, base: Array) -> Efforts:
    """What a motion takes when the base alone is held, by whoever it may be."""
    return inverse_dynamics(
        models.dynamics,
        q,
        rates.speed,
        rates.gain,
        base=base,
        base_velocity=rates.base_speed,
        base_acceleration=rates.base_gain,
    )


def grip_of(arms: Array, touching: NDArray[np.bool_]) -> Array:
    """The least forces (T, 2, 4, 3, 6) at points `arms` from the base, per unit of a wrench.

    Only points that touch (T, 2, 4) push or pull.
    """
    grasp = np.zeros((*arms.shape, 6))
    grasp[..., [0, 1, 2], [0, 1, 2]] = 1.0
    x, y, z = np.moveaxis(arms, -1, 0)
    # The moment of a unit force along each axis: arm x force.
    grasp[..., 0, 4], grasp[..., 0, 5] = z, -y
    grasp[..., 1, 3], grasp[..., 1, 5] = -z, x
    grasp[..., 2, 3], grasp[..., 2, 4] = y, -x
    grasp *= touching[..., None, None]
    rows = grasp.reshape(len(arms), -1, 6)
    flat = np.any(np.all(touching, axis=2), axis=1)
    least = np.where(flat, _FLAT, _EDGES)[:, None, None] * np.eye(6)
    square = np.matmul(rows.swapaxes(1, 2), rows) + least
    found: Array = np.matmul(rows, np.linalg.inv(square)).reshape(grasp.shape)
    return found


def carried_by(models: RobotModels, poses: Array, corners: Array, forces: Array) -> Array:
    """What (T, J) forces (T, 2, 4, 3) at the corners of the soles take from the motors."""
    carried = np.zeros((len(models.robot.joints), len(corners)))
    for side in range(2):
        link = int(models.soles.link[side])
        _carry(models.kinematics, poses, link, corners[:, side], forces[:, side], carried)
    return models.kinematics.joints.efforts(carried, len(models.robot.actuated))


def _carry(
    kinematics: Kinematics, poses: Array, link: int, points: Array, forces: Array, efforts: Array
) -> None:
    """Add to `efforts` (N, T) what forces (T, 4, 3) at points of a link give at its joints."""
    by_child = {step.child: step for step in kinematics.steps}
    total = forces.sum(axis=1)
    while link in by_child:
        step = by_child[link]
        axis = np.einsum("k,ikt->ti", step.axis, poses[link][:, :3])
        if step.prismatic:
            efforts[step.joint] += (axis * total).sum(axis=1)
        else:
            arms = points - poses[link][:, 3].T[:, None]
            moment = np.cross(arms, forces).sum(axis=1)
            efforts[step.joint] += (axis * moment).sum(axis=1)
        link = step.parent


def _derivatives(values: Array, rate_hz: float) -> tuple[Array, Array]:
    """First and second derivative in time by central differences, the ends as their neighbours."""
    speed = np.gradient(values, 1 / rate_hz, axis=0)
    gain = np.empty_like(values)
    gain[1:-1] = (values[2:] - 2 * values[1:-1] + values[:-2]) * rate_hz**2
    gain[0], gain[-1] = gain[1], gain[-2]
    return speed, gain


def _base_derivatives(base: Array, rate_hz: float) -> tuple[Array, Array]:
    """Velocity and acceleration (T, 6) of the base, linear then angular, in world axes."""
    speed, gain = np.empty((len(base), 6)), np.empty((len(base), 6))
    speed[:, :3], gain[:, :3] = _derivatives(base[:, :3], rate_hz)
    turns = matrix_from_quaternion(base[:, 3:])
    # From each frame to the next; a frame has what is before and after it in equal parts.
    spin = vector_of(turns[1:] @ turns[:-1].swapaxes(1, 2)) * rate_hz
    speed[1:-1, 3:] = (spin[1:] + spin[:-1]) / 2
    gain[1:-1, 3:] = np.diff(spin, axis=0) * rate_hz
    speed[0, 3:], speed[-1, 3:] = spin[0], spin[-1]
    gain[0, 3:], gain[-1, 3:] = gain[1, 3:], gain[-2, 3:]
    return speed, gain
