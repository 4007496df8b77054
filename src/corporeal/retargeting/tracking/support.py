"""What the ground would have to do for a motion: contact forces, and the torques that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from corporeal.embodiment import Embodiment
from corporeal.embodiment.engines import import_mujoco
from corporeal.geometry import Array
from corporeal.retargeting.tracking.reference import ReferenceMotion
from corporeal.retargeting.tracking.scene import FLOOR, FRICTION, PhysicsScene, Servos

# Points of the robot this near to the floor may push against it.
NEAR_M = 0.02
# Metres by which a torque is divided to weigh as much as a force, and how much even forces count.
ARM_M, EVENNESS = 0.3, 0.02
# The friction cone as a pyramid: directions along the floor.
EDGES = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))


@dataclass(frozen=True, eq=False)
class Support:
    """Per sample: torques (N, J) of the joints, and the wrench (N, 6) that the floor cannot give.

    The wrench is on the base: force in the world's axes, torque in the base's.
    """

    torque: Array
    lacking: Array

    def overloaded(self, robot: Embodiment) -> Array:
        """Whether each sample (N,) asks a joint for more than its effort."""
        limits = [np.inf if joint.effort is None else joint.effort for joint in robot.actuated]
        over = np.any(np.abs(self.torque) > np.array(limits), axis=1)
        return np.asarray(over, np.float64)


def support_of(reference: ReferenceMotion, servos: Servos) -> Support:
    """Inverse dynamics of the motion, its weight on what is near the floor, by least squares."""
    mujoco = import_mujoco()
    scene = PhysicsScene(reference.robot, servos, rate_hz=reference.rate_hz)
    model, data = scene.model, scene.data
    model.geom_margin[model.geom(FLOOR).id] = NEAR_M
    velocity = np.column_stack([reference.velocity, reference.turning, reference.rates])
    acceleration = np.gradient(velocity, 1 / reference.rate_hz, axis=0)
    wanted, inertial = np.empty(model.nv), np.empty(model.nv)
    torque, lacking = [], []
    for frame in range(len(reference)):
        scene.pose(reference.q[frame], reference.base[frame])
        data.qvel[:6] = velocity[frame, :6]
        data.qvel[scene.rates] = velocity[frame, 6:]
        data.qacc[:] = 0.0
        data.qacc[:6] = acceleration[frame, :6]
        data.qacc[scene.rates] = acceleration[frame, 6:]
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_rne(model, data, 1, wanted)
        np.multiply(model.dof_armature, data.qacc, out=inertial)
        left = wanted + inertial - _pushed(scene, wanted[:6])
        torque.append(left[scene.rates])
        lacking.append(left[:6])
    return Support(np.array(torque), np.array(lacking))


def _pushed(scene: PhysicsScene, wanted: Array) -> Array:
    """Generalised forces (V,) of the contacts that come nearest to the base's wrench (6,)."""
    columns = _generators(scene)
    if not columns:
        return np.zeros(scene.model.nv)
    generators = np.array(columns).T
    scale = np.array([1.0, 1.0, 1.0, 1 / ARM_M, 1 / ARM_M, 1 / ARM_M])
    count = generators.shape[1]
    rows = np.vstack([scale[:, None] * generators[:6], EVENNESS * np.eye(count)])
    sizes, _ = nnls(rows, np.concatenate([scale * wanted, np.zeros(count)]))
    pushed: Array = generators @ sizes
    return pushed


def _generators(scene: PhysicsScene) -> list[Array]:
    mujoco = import_mujoco()
    jacobian = np.empty((3, scene.model.nv))
    columns: list[Array] = []
    for contact in scene.on_floor():
        body = scene.body_of(contact)
        mujoco.mj_jac(scene.model, scene.data, jacobian, None, _point(contact), body)
        for x, y in EDGES:
            columns.append(jacobian[2] + FRICTION * (x * jacobian[0] + y * jacobian[1]))
    return columns


def _point(contact: Any) -> Array:
    point: Array = np.asarray(contact.pos, np.float64).copy()
    return point
