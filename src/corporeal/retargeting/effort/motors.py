"""The motors of a robot under a motion: how near each is to its limit, and what would change it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.engines import PinocchioModel, import_pinocchio
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.retargeting.effort.demand import Demand, Rates, carried_by, demand_of
from corporeal.retargeting.robot_models import RobotModels, models_of
from corporeal.retargeting.solver.chain import BASE, Chain, MotionState, Numbers


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
    """The motors behind a chain, under a motion whose heels and toes stand (T, 2, 2)."""

    chain: Chain
    rate_hz: float
    stands: NDArray[np.bool_]

    def load(self, state: MotionState) -> Load:
        """The load of a state; none at both ends, where the acceleration is not known."""
        robot = self.chain.robot.robot
        demand = demand_of(robot, self.rate_hz, state.q, state.base, self.stands)
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
    def _models(self) -> RobotModels:
        return models_of(self.chain.robot.robot)

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
        pin, dynamics, rate = import_pinocchio(), self._models.dynamics, self.rate_hz
        own, place = np.unique(frames, return_inverse=True)
        first = np.searchsorted(place, np.arange(len(own) + 1))
        turns = matrix_from_quaternion(state.base[own, 3:])
        position = dynamics.configurations(state.q[own], state.base[own])
        speed, gain = _in_base_axes(dynamics, demand.rates, own, turns)
        through = self._through_feet(demand, own)
        pushed = self._pushed(demand, own)
        model, data = dynamics.model, dynamics.model.createData()
        load = _no_load(pin, model)
        motors = dynamics.velocities(np.eye(len(self._limits))).T
        size = self.chain.size
        moved = np.zeros((model.nv, size))
        moved[:, BASE:] = motors[:, self.chain.columns]
        turning = _turning(speed)
        upper = np.triu(np.ones((model.nv, model.nv)))
        rows = np.empty((len(joints), 3 * size))
        for number, turn in enumerate(turns):
            here = slice(first[number], first[number + 1])
            for side, joint in enumerate(self._feet):
                load[joint] = pin.Force(pushed[number, side])
            pin.computeRNEADerivatives(
                model, data, position[number], speed[number], gain[number], load
            )
            chosen = motors[:, joints[here]].T
            held = through[number, joints[here]]
            chosen[:, :3], chosen[:, 3:6] = -held[:, :3] @ turn, -held[:, 3:] @ turn
            moved[:3, :3] = moved[3:6, 3:6] = turn.T
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
        """Efforts (n, J, 6) that the feet take for every unit of a wrench on the base."""
        poses, corners = demand.poses[..., frames], demand.corners[frames]
        grip = demand.grip[frames]
        units = [carried_by(self._models, poses, corners, grip[..., unit]) for unit in range(6)]
        return np.stack(units, axis=2)

    def _pushed(self, demand: Demand, frames: Numbers) -> Array:
        """Force and moment (n, 2, 6) of the ground on the feet, in the axes of their links."""
        soles = self._models.soles
        turns = np.moveaxis(demand.poses[soles.link][:, :, :3][..., frames], -1, 0)
        forces = np.einsum("tspi,tsij->tspj", demand.forces[frames], turns)
        moments = np.cross(soles.corners, forces)
        return np.concatenate([forces.sum(axis=2), moments.sum(axis=2)], axis=2)

    @cached_property
    def _feet(self) -> list[int]:
        """Pinocchio's joints that carry the soles."""
        model, names = self._models.dynamics.model, self._models.kinematics.names
        frames = [model.getFrameId(names[link]) for link in self._models.soles.link]
        return [int(model.frames[frame].parentJoint) for frame in frames]


def _in_base_axes(
    dynamics: PinocchioModel, rates: Rates, frames: Numbers, turns: Array
) -> tuple[Array, Array]:
    """Velocities and accelerations (n, nv) as Pinocchio takes them."""
    speed, gain = (dynamics.velocities(each[frames]) for each in (rates.speed, rates.gain))
    for part in (slice(0, 3), slice(3, 6)):
        speed[:, part] = np.einsum("tji,tj->ti", turns, rates.base_speed[frames, part])
        gain[:, part] = np.einsum("tji,tj->ti", turns, rates.base_gain[frames, part])
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
