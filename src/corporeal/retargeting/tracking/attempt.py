"""What the ground must do for a motion, what a simulated robot did, and when it fell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import nnls

from corporeal.embodiment import Embodiment
from corporeal.embodiment.engines import import_mujoco
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.retargeting.tracking.physics import FLOOR, FRICTION, PhysicsScene, Servos
from corporeal.retargeting.tracking.reference import ReferenceMotion

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
    velocity = np.column_stack([reference.velocity, reference.angular_velocity, reference.rates])
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
    return np.asarray(generators @ sizes)


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
    return np.asarray(np.asarray(contact.pos, np.float64).copy())


Progress = Callable[[float], None]

# A fall: the base this far below where it should be, as a share of its height when standing, or
# leaning this much more than it should. The second is the usual limit of a robot's own watchdog.
FALLEN_DROP = 0.35
FALLEN_LEAN_RAD = 1.0
# rad/s and m/s: faster than any humanoid begins a motion.
USUAL_SPEED = 20.0


@dataclass
class Attempt:
    """One try, sample by sample beside the reference; `fell` is the sample in which it fell.

    `standing` (F,) per sample says which feet were down. In a replay, `help` (6,) per sample is
    the force and torque by which the base was held, and `support` what the motion asks for.
    """

    lifted_m: float
    q: list[Array] = field(default_factory=list)
    base: list[Array] = field(default_factory=list)
    standing: list[Array] = field(default_factory=list)
    help: list[Array] = field(default_factory=list)
    support: Support | None = None
    fell: int | None = None

    def note(
        self, scene: PhysicsScene, reference: ReferenceMotion, *, within_m: float = np.inf
    ) -> bool:
        """Keep where the robot is now; False once it has fallen, which ends the attempt.

        A base further than `within_m` from the motion's counts as fallen too.
        """
        frame = len(self.q)
        away = float(np.linalg.norm(scene.base[:3] - reference.base[frame, :3]))
        if has_fallen(scene.base, reference, frame) or away > within_m:
            self.fell = frame
            return False
        self.q.append(scene.q)
        self.base.append(scene.base)
        self.standing.append(scene.standing())
        return True


def begin(scene: PhysicsScene, reference: ReferenceMotion) -> Attempt:
    """Put the robot where the motion begins, moving as the motion does."""
    joints = reference.robot.actuated
    lower = [-np.inf if joint.lower is None else joint.lower for joint in joints]
    upper = [np.inf if joint.upper is None else joint.upper for joint in joints]
    fastest = np.array([USUAL_SPEED if one.velocity is None else one.velocity for one in joints])
    # A motion may begin with a leap: physics needs a state that a robot could be in.
    lifted = scene.place(
        np.clip(reference.q[0], lower, upper),
        reference.base[0],
        np.clip(reference.rates[0], -fastest, fastest),
        np.clip(reference.velocity[0], -USUAL_SPEED, USUAL_SPEED),
        np.clip(reference.angular_velocity[0], -USUAL_SPEED, USUAL_SPEED),
    )
    return Attempt(lifted)


def has_fallen(base: Array, reference: ReferenceMotion, frame: int) -> bool:
    """Whether a base (7,) is so low or so tilted, beside the motion's, that the robot fell."""
    if not np.isfinite(base).all():
        return True
    standing = reference.robot.standing
    height = reference.base[0, 2] if standing is None else standing.height
    wanted = reference.base[frame]
    up = matrix_from_quaternion(np.stack([base[3:], wanted[3:]]))[:, 2]
    # The third row is the world's up in the base's axes: free of heading.
    lean = np.arccos(np.clip(up[0] @ up[1], -1.0, 1.0))
    return bool(wanted[2] - base[2] > FALLEN_DROP * height or lean > FALLEN_LEAN_RAD)
