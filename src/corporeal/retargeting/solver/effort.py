"""What a motion asks of the motors, how near each is to its limit, and what would change it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.dynamics import Efforts, inverse_dynamics
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.engines import (
    PinocchioModel,
    compile_pinocchio,
    import_pinocchio,
)
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, matrix_from_quaternion, rotation_vectors
from corporeal.retargeting.goal.soles import sole_corners, soles_of
from corporeal.retargeting.result import Supports
from corporeal.retargeting.solver.chain import BASE, Chain, MotionState, Numbers

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

    `poses` (L, 3, 4, T) are those of the links, `corners` (T, n, 4, 3) those of the two soles and
    the points of what else may rest on the ground, on `links` (n,). `grip` (T, n, 4, 3, 6) says
    which forces there resist each unit of a wrench on the base, `forces` (T, n, 4, 3) are those
    that do.
    """

    rates: Rates
    poses: Array
    links: Numbers
    corners: Array
    grip: Array
    forces: Array
    efforts: Array


def has_masses(robot: Embodiment) -> bool:
    """Whether it can be told what a motion asks of the motors of a robot."""
    return robot.floating and robot.mass > 0


def efforts_of(
    robot: Embodiment,
    rate_hz: float,
    q: Array,
    base: Array,
    contacts: NDArray[np.bool_],
    supports: Supports | None = None,
) -> Array | None:
    """Efforts (T, J) of a motion, or None where there are no masses or too few frames."""
    if not has_masses(robot) or len(q) < SHORTEST:
        return None
    return demand_of(robot, rate_hz, q, base, contacts, supports).efforts


def demand_of(
    robot: Embodiment,
    rate_hz: float,
    q: Array,
    base: Array,
    contacts: NDArray[np.bool_],
    supports: Supports | None = None,
) -> Demand:
    """What a motion of three frames or more asks of the motors.

    The wrench that it needs is shared by the corners of the soles whose heel or toe is in
    `contacts` (T, 2, 2) and by what rests on the ground besides them, by the least forces, which
    may pull: a motion that would tip over then asks an ankle for more than a standing sole could
    pass on, never for less. What no contact can give is left to the base, as if someone held the
    pelvis: a flight takes nothing from the legs.
    """
    rates = rates_of(q, base, rate_hz)
    free = free_efforts(robot, rates, q, base)
    poses = model_of(robot, Kinematics).transforms(q, base)
    soles = model_of(robot, soles_of)
    links, points = soles.link, sole_corners(soles, poses)
    touching = np.repeat(contacts, 2, axis=2)
    if supports is not None:
        located = supports.located(poses)
        resting = supports.touching(located)
        used = resting.any(axis=(0, 2))
        links = np.concatenate([links, supports.links[used]])
        points = np.concatenate([points, located[:, used]], axis=1)
        touching = np.concatenate([touching, resting[:, used]], axis=1)
    grip = grip_of(points - base[:, None, None, :3], touching)
    forces = np.einsum("tspkw,tw->tspk", grip, free.base)
    efforts = free.joints - carried_by(robot, poses, links, points, forces[..., None])[0]
    return Demand(rates, poses, links, points, grip, forces, efforts)


def rates_of(q: Array, base: Array, rate_hz: float) -> Rates:
    """The rates of a motion, by central differences."""
    return Rates(*_derivatives(q, rate_hz), *_base_derivatives(base, rate_hz))


def free_efforts(robot: Embodiment, rates: Rates, q: Array, base: Array) -> Efforts:
    """What a motion takes when the base alone is held, by whoever it may be."""
    return inverse_dynamics(
        model_of(robot, compile_pinocchio),
        q,
        rates.speed,
        rates.gain,
        base=base,
        base_velocity=rates.base_speed,
        base_acceleration=rates.base_gain,
    )


def grip_of(arms: Array, touching: NDArray[np.bool_]) -> Array:
    """The least forces (T, n, 4, 3, 6) at points `arms` from the base, per unit of a wrench.

    Only points that touch (T, n, 4) push or pull.
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
    flat = np.any(np.all(touching, axis=2), axis=1) | (np.any(touching, axis=2).sum(axis=1) > 2)
    least = np.where(flat, _FLAT, _EDGES)[:, None, None] * np.eye(6)
    square = np.matmul(rows.swapaxes(1, 2), rows) + least
    return np.asarray(np.matmul(rows, np.linalg.inv(square)).reshape(grasp.shape))


def carried_by(
    robot: Embodiment, poses: Array, links: Numbers, points: Array, forces: Array
) -> Array:
    """What (U, T, J) each of U sets of forces (T, n, 4, 3, U) at points of links (n,) gives.

    It is taken from the motors between these links and the base.
    """
    kinematics = model_of(robot, Kinematics)
    frames, sets = len(points), forces.shape[-1]
    carried = np.zeros((len(robot.joints), frames, sets))
    total = forces.sum(axis=2)
    moment = _across(points[..., None], forces, axis=3).sum(axis=2)
    for number, link in enumerate(links):
        _carry(kinematics, poses, int(link), total[:, number], moment[:, number], carried)
    count = len(robot.actuated)
    flat = carried.transpose(0, 2, 1).reshape(len(robot.joints), -1)
    return kinematics.joints.efforts(flat, count).reshape(sets, frames, count)


def _carry(
    kinematics: Kinematics, poses: Array, link: int, total: Array, moment: Array, efforts: Array
) -> None:
    """Add to `efforts` (N, T, U) what a force (T, 3, U) on a link gives at the joints above.

    The moment (T, 3, U) is that about the world's origin.
    """
    by_child = {step.child: step for step in kinematics.steps}
    while link in by_child:
        step = by_child[link]
        axis = np.einsum("k,ikt->ti", step.axis, poses[link][:, :3])
        if step.prismatic:
            efforts[step.joint] += np.einsum("ti,tiu->tu", axis, total)
        else:
            lever = _across(axis, poses[link][:, 3].T, axis=1)
            efforts[step.joint] += np.einsum("ti,tiu->tu", axis, moment)
            efforts[step.joint] -= np.einsum("ti,tiu->tu", lever, total)
        link = step.parent


def _across(one: Array, other: Array, axis: int) -> Array:
    """Cross products along an axis, component by component: quicker than numpy's own."""
    first, second = (np.moveaxis(each, axis, 0) for each in (one, other))
    parts = [
        first[(number + 1) % 3] * second[(number + 2) % 3]
        - first[(number + 2) % 3] * second[(number + 1) % 3]
        for number in range(3)
    ]
    return np.stack(parts, axis=axis)


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
    rotations = matrix_from_quaternion(base[:, 3:])
    # From each frame to the next; a frame has what is before and after it in equal parts.
    spin = rotation_vectors(rotations[1:] @ rotations[:-1].swapaxes(1, 2)) * rate_hz
    speed[1:-1, 3:] = (spin[1:] + spin[:-1]) / 2
    gain[1:-1, 3:] = np.diff(spin, axis=0) * rate_hz
    speed[0, 3:], speed[-1, 3:] = spin[0], spin[-1]
    gain[0, 3:], gain[-1, 3:] = gain[1, 3:], gain[-2, 3:]
    return speed, gain


@dataclass(frozen=True, eq=False)
class Shares:
    """Efforts as shares of their limits: `values` (n,) in `frames` (n,).

    `rows` (n, 3 x size) are their derivatives: of the frame before, the frame, and that after.
    """

    frames: Numbers
    values: Array
    rows: Array


@dataclass(frozen=True, eq=False)
class Load:
    """What a motion asks of every motor, and the same as `shares` (T, J) of what it has."""

    demand: Demand
    shares: Array


@dataclass(frozen=True, eq=False)
class Motors:
    """The motors behind a chain, under a motion whose heels and toes stand (T, 2, 2).

    `supports` is what rests on the ground besides them.
    """

    chain: Chain
    rate_hz: float
    stands: NDArray[np.bool_]
    supports: Supports | None = None

    def load(self, state: MotionState) -> Load:
        """The load of a state; none at both ends, where the acceleration is not known."""
        robot = self.chain.robot.robot
        demand = demand_of(robot, self.rate_hz, state.q, state.base, self.stands, self.supports)
        shares = demand.efforts / self._limits
        shares[[0, -1]] = 0.0
        return Load(demand, shares)

    def shares(self, state: MotionState, load: Load, least: float) -> Shares:
        """Those that reach `least`, and what would change them."""
        frames, joints = np.nonzero(np.abs(load.shares) >= least)
        rows = self._rows(state, load.demand, frames, joints)
        rows /= self._limits[joints][:, None]
        return Shares(frames, load.shares[frames, joints], rows)

    @cached_property
    def _dynamics(self) -> PinocchioModel:
        return model_of(self.chain.robot.robot, compile_pinocchio)

    @cached_property
    def _limits(self) -> Array:
        """What motors have (J,); infinite where it is not stated."""
        joints = self.chain.robot.robot.actuated
        return np.array([joint.effort or np.inf for joint in joints], np.float64)

    def _rows(self, state: MotionState, demand: Demand, frames: Numbers, joints: Numbers) -> Array:
        """Derivatives (n, 3 x size) of the efforts of joints (n,) in frames (n,).

        An effort is that of the free robot, less what the feet take of the wrench on its base:
        the forces of the feet follow that wrench. That the axes in which the base's rates are
        written turn with it is left out, which is little within a frame.
        """
        pin, dynamics, rate = import_pinocchio(), self._dynamics, self.rate_hz
        own, place = np.unique(frames, return_inverse=True)
        first = np.searchsorted(place, np.arange(len(own) + 1))
        rotations = matrix_from_quaternion(state.base[own, 3:])
        position = dynamics.configurations(state.q[own], state.base[own])
        speed, gain = _in_base_axes(dynamics, demand.rates, own, rotations)
        through = self._through_feet(demand, own)
        pushed, carriers = self._pushed(demand, own), self._carriers(demand.links)
        model, data = dynamics.model, dynamics.model.createData()
        load = _no_load(pin, model)
        motors = dynamics.velocities(np.eye(len(self._limits))).T
        size = self.chain.size
        moved = np.zeros((model.nv, size))
        moved[:, BASE:] = motors[:, self.chain.columns]
        turning = _turning(speed)
        upper = np.triu(np.ones((model.nv, model.nv)))
        rows = np.empty((len(joints), 3 * size))
        for number, rotation in enumerate(rotations):
            here = slice(first[number], first[number + 1])
            for joint in carriers:
                load[joint] = pin.Force.Zero()
            for side, joint in enumerate(carriers):
                load[joint] = load[joint] + pin.Force(pushed[number, side])
            pin.computeRNEADerivatives(
                model, data, position[number], speed[number], gain[number], load
            )
            chosen = motors[:, joints[here]].T
            held = through[number, joints[here]]
            chosen[:, :3], chosen[:, 3:6] = -held[:, :3] @ rotation, -held[:, 3:] @ rotation
            moved[:3, :3] = moved[3:6, 3:6] = rotation.T
            # Pinocchio fills the upper half of the symmetric matrix of masses.
            half = data.M * upper
            weighed = chosen @ half + chosen @ half.T - chosen * half.diagonal()
            still = chosen @ data.dtau_dq @ moved
            faster = chosen @ data.dtau_dv
            faster[:, :6] += weighed[:, :3] @ turning[number]
            faster = faster @ moved * (rate / 2)
            harder = weighed @ moved * rate**2
            rows[here, :size] = harder - faster
            rows[here, size : 2 * size] = still - 2 * harder
            rows[here, 2 * size :] = harder + faster
        return rows

    def _through_feet(self, demand: Demand, frames: Numbers) -> Array:
        """Efforts (n, J, 6) that what touches takes for every unit of a wrench on the base."""
        poses, corners = demand.poses[..., frames], demand.corners[frames]
        robot, grip = self.chain.robot.robot, demand.grip[frames]
        return np.moveaxis(carried_by(robot, poses, demand.links, corners, grip), 0, 2)

    def _pushed(self, demand: Demand, frames: Numbers) -> Array:
        """Force and moment (n, F, 6) of the ground on what touches, in the axes of the links."""
        own = demand.poses[demand.links][..., frames]
        rotations, origins = own[:, :, :3].transpose(3, 0, 1, 2), own[:, :, 3].transpose(2, 0, 1)
        forces = np.einsum("tspi,tsij->tspj", demand.forces[frames], rotations)
        arms = np.einsum("tspi,tsij->tspj", demand.corners[frames] - origins[:, :, None], rotations)
        moments = _across(arms, forces, axis=3)
        return np.concatenate([forces.sum(axis=2), moments.sum(axis=2)], axis=2)

    def _carriers(self, links: Numbers) -> list[int]:
        """Pinocchio's joints that carry links."""
        model, names = self._dynamics.model, self.chain.kinematics.names
        frames = [model.getFrameId(names[link]) for link in links]
        return [int(model.frames[frame].parentJoint) for frame in frames]


def _in_base_axes(
    dynamics: PinocchioModel, rates: Rates, frames: Numbers, rotations: Array
) -> tuple[Array, Array]:
    """Velocities and accelerations (n, nv) as Pinocchio takes them."""
    speed, gain = (dynamics.velocities(each[frames]) for each in (rates.speed, rates.gain))
    for part in (slice(0, 3), slice(3, 6)):
        speed[:, part] = np.einsum("tji,tj->ti", rotations, rates.base_speed[frames, part])
        gain[:, part] = np.einsum("tji,tj->ti", rotations, rates.base_gain[frames, part])
    # Pinocchio's acceleration is that of the turning axes' components, not of the point.
    gain[:, :3] -= np.cross(speed[:, 3:6], speed[:, :3])
    return speed, gain


def _turning(speed: Array) -> Array:
    """What (n, 3, 6) a change of the base's velocities adds to Pinocchio's linear acceleration."""
    sides = np.cross(speed[:, :6].reshape(-1, 2, 3)[:, :, None], np.eye(3)).swapaxes(2, 3)
    return np.concatenate([-sides[:, 1], sides[:, 0]], axis=2)


def _no_load(pin: Any, model: Any) -> Any:
    """Forces of Pinocchio on every joint, all zero."""
    load = pin.StdVec_Force()
    load.extend([pin.Force.Zero()] * model.njoints)
    return load
