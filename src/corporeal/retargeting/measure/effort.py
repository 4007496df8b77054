"""The torques that a motion asks of the motors, with the ground carrying the feet that stand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.dynamics import inverse_dynamics
from corporeal.embodiment.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.retargeting.measure.contact_metrics import sole_corners
from corporeal.retargeting.measure.robot_models import models_of
from corporeal.retargeting.measure.violations import Violations, violations

# Share of the limit by which an estimate may exceed it: inertias are known to a few per cent.
EFFORT_SLACK = 0.05
# A rubber sole on a dry floor.
FRICTION = 1.0
# Rounds in which points that would have to pull at the ground are let go.
_ROUNDS = 4
_SHORTEST = 3


def efforts_of(
    robot: Embodiment, rate_hz: float, q: Array, base: Array, contacts: NDArray[np.bool_]
) -> Array | None:
    """Efforts (T, J) in N m (N for sliding joints) of a motion; None without masses or too short.

    The wrench that the motion needs is shared by the corners of the soles whose heel or toe is in
    `contacts` (T, 2, 2), by least squares, none of them pulling. What no contact can give is left
    to the base, as if someone held the pelvis: a flight takes nothing from the legs.
    """
    if not robot.floating or robot.mass <= 0 or len(q) < _SHORTEST:
        return None
    models = models_of(robot)
    model, kinematics, soles = models.dynamics, models.kinematics, models.soles
    speed, gain = _derivatives(q, rate_hz)
    base_speed, base_gain = _base_derivatives(base, rate_hz)
    free = inverse_dynamics(
        model, q, speed, gain, base=base, base_velocity=base_speed, base_acceleration=base_gain
    )
    poses = kinematics.transforms(q, base)
    corners = sole_corners(soles, poses)
    touching = np.repeat(contacts, 2, axis=2)
    forces = ground_forces(corners - base[:, None, None, :3], touching, free.base)
    carried = np.zeros((len(robot.joints), len(q)))
    for side in range(2):
        _carry(kinematics, poses, int(soles.link[side]), corners[:, side], forces[:, side], carried)
    efforts: Array = free.joints - kinematics.joints.efforts(carried, q.shape[1])
    return efforts


def effort_violations(robot: Embodiment, efforts: Array) -> Violations:
    """Efforts (T, J) above their limits by more than EFFORT_SLACK, as a share of the limit."""
    limit = np.array([joint.effort or np.inf for joint in robot.actuated])
    over = np.maximum(np.abs(efforts) / limit - 1, 0.0)
    return violations(robot, over, EFFORT_SLACK, np.isfinite(limit))


def ground_forces(arms: Array, touching: NDArray[np.bool_], wrench: Array) -> Array:
    """Forces (T, 2, 4, 3) at points `arms` from the base that together give `wrench` (T, 6).

    The ground is level. Points that touch (T, 2, 4) share the weight by least squares, and one
    that would have to pull is let go; each holds against sliding with what it carries at most.
    """
    frames = len(wrench)
    places = arms.reshape(frames, -1, 3)
    active = touching.reshape(frames, -1).astype(np.float64)
    forces = np.zeros_like(places)
    waiting = np.flatnonzero(active.any(axis=1))
    for _ in range(_ROUNDS):
        if not waiting.size:
            break
        weight = _upward(places[waiting], active[waiting], wrench[waiting])
        pulls = (weight < 0) & (active[waiting] > 0)
        forces[waiting, :, 2] = np.maximum(weight, 0.0)
        some = pulls.any(axis=1)
        active[waiting[some]] *= ~pulls[some]
        waiting = waiting[some & active[waiting].any(axis=1)]
    total = forces[..., 2].sum(axis=1)
    # What was let go last may leave the others with more than there is to carry.
    surplus = total > np.maximum(wrench[:, 2], 0.0)
    forces[surplus, :, 2] *= (np.maximum(wrench[surplus, 2], 0.0) / total[surplus])[:, None]
    carrying = np.flatnonzero(forces[..., 2].sum(axis=1) > 0)
    sideward = _sideward(places[carrying], forces[carrying, :, 2], wrench[carrying])
    length = np.linalg.norm(sideward, axis=2)
    grip = FRICTION * forces[carrying, :, 2] / np.where(length > 0, length, 1.0)
    forces[carrying, :, :2] = sideward * np.minimum(grip, 1.0)[..., None]
    return forces.reshape(arms.shape)


def _upward(places: Array, active: Array, wrench: Array) -> Array:
    """The least vertical forces (T, P) of active points for the weight, and against tilting."""
    arms, moment = _about_middle(places, active, wrench)
    grasp = np.stack([np.ones(active.shape), arms[..., 1], -arms[..., 0]], axis=1)
    grasp *= active[:, None]
    wanted = np.concatenate([wrench[:, 2:3], moment[:, :2]], axis=1)
    found: Array = np.einsum("tip,ti->tp", grasp, _solved(grasp @ grasp.swapaxes(1, 2), wanted))
    return found


def _sideward(places: Array, weight: Array, wrench: Array) -> Array:
    """Horizontal forces (T, P, 2) against sliding and turning, in proportion to the weight."""
    arms, moment = _about_middle(places, weight, wrench)
    share = weight / weight.sum(axis=1, keepdims=True)
    grasp = np.zeros((*weight.shape, 3, 2))
    grasp[..., 0, 0] = grasp[..., 1, 1] = 1.0
    grasp[..., 2, 0], grasp[..., 2, 1] = -arms[..., 1], arms[..., 0]
    square = np.einsum("tp,tpik,tpjk->tij", share, grasp, grasp, optimize=True)
    wanted = np.concatenate([wrench[:, :2], moment[:, 2:]], axis=1)
    answer = _solved(square, wanted)
    found: Array = np.einsum("tp,tpik,ti->tpk", share, grasp, answer, optimize=True)
    return found


def _about_middle(places: Array, weight: Array, wrench: Array) -> tuple[Array, Array]:
    """Points and moment about the weighted middle of the points, where the force is exact."""
    middle = (places * weight[..., None]).sum(axis=1) / weight.sum(axis=1)[:, None]
    return places - middle[:, None], wrench[:, 3:] - np.cross(middle, wrench[:, :3])


def _solved(square: Array, wanted: Array) -> Array:
    # One edge or point cannot resist every moment: that direction must stay solvable.
    found = np.linalg.solve(square + 1e-6 * np.eye(3), wanted[:, :, None])[..., 0]
    return np.asarray(found, np.float64)


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
    spin = np.gradient(turns, 1 / rate_hz, axis=0) @ turns.swapaxes(1, 2)
    # The skew part of dR/dt R^T is the angular velocity; differences leave a little that is not.
    speed[:, 3] = (spin[:, 2, 1] - spin[:, 1, 2]) / 2
    speed[:, 4] = (spin[:, 0, 2] - spin[:, 2, 0]) / 2
    speed[:, 5] = (spin[:, 1, 0] - spin[:, 0, 1]) / 2
    gain[:, 3:] = np.gradient(speed[:, 3:], 1 / rate_hz, axis=0)
    return speed, gain
