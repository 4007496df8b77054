"""A simulated robot tries a motion: led by a spring at its base, or by itself; until it falls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import nnls

from corporeal.embodiment import Embodiment
from corporeal.embodiment.engines import import_mujoco
from corporeal.embodiment.joints import outward_joints
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, matrix_from_quaternion, slerp
from corporeal.retargeting.goal.places import chain_to
from corporeal.retargeting.tracking.physics import (
    FLOOR,
    FRICTION,
    GRAVITY,
    PhysicsScene,
    Servos,
    usual_armature,
)
from corporeal.retargeting.tracking.reference import MotionTrackingError, ReferenceMotion
from corporeal.retargeting.tracking.tracker import SensedState, TrackingPolicy

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
        over = np.any(np.abs(self.torque) > _effort_limits(robot), axis=1)
        return np.asarray(over, np.float64)


def _effort_limits(robot: Embodiment) -> Array:
    return np.array([np.inf if one.effort is None else one.effort for one in robot.actuated])


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
        point = np.array(contact.pos, np.float64)
        mujoco.mj_jac(scene.model, scene.data, jacobian, None, point, body)
        for x, y in EDGES:
            columns.append(jacobian[2] + FRICTION * (x * jacobian[0] + y * jacobian[1]))
    return columns


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


RATE_HZ = 50.0
# N m/rad of a joint per newton that hangs on it, the least, and how the damping follows (s).
STIFFNESS_M, LEAST_STIFFNESS, DAMPING_S = 3.0, 20.0, 0.027
# The springs on the base are those of a body of the robot's mass, spread this far from the base
# as a share of its height, which swings at these rates with no overshoot. Turning is held harder:
# below about 1 Hz a body on its feet would tip over in spite of the spring.
SPREAD = 0.4
MOVING_HZ, TURNING_HZ = 1.5, 4.0
# The most that the springs pull with, in weights of the robot; the distance of the base from
# where it should be at which they have failed; and the error in rad at which a joint that states
# no effort pushes as hard as it can.
MOST_WEIGHTS, LOST_M, FULL_EFFORT_RAD = 10.0, 0.5, 1.0
TELL_EVERY = 25


def replay(reference: ReferenceMotion, *, progress: Progress | None) -> Attempt:
    """The robot is led through the motion; `help` says what the spring on its base did."""
    servos = usual_servos(reference.robot)
    support = support_of(reference, servos)
    scene = PhysicsScene(reference.robot, servos, rate_hz=reference.rate_hz)
    spring = _Spring(scene, reference)
    attempt = begin(scene, reference)
    attempt.support = support
    for frame in range(len(reference)):
        if not attempt.note(scene, reference, within_m=LOST_M):
            break
        after = min(frame + 1, len(reference) - 1)
        helped = np.zeros(6)
        # What the servos must be told beyond the angle to carry the weight and not to lag.
        pushing = support.torque[frame] + servos.damping * reference.rates[frame]
        ahead = np.clip(pushing, -servos.effort, servos.effort) / servos.stiffness
        for step in range(scene.steps):
            part = (step + 1) / scene.steps
            helped += spring.pull(frame, after, part) / scene.steps
            q = reference.q[frame] + part * (reference.q[after] - reference.q[frame])
            scene.act(q + ahead, 1)
        attempt.help.append(helped)
        if progress is not None and frame % TELL_EVERY == 0:
            progress(frame / len(reference))
    return attempt


def usual_servos(robot: Embodiment) -> Servos:
    """Servos for a robot of which only the document is known, as stiff as its weight asks for."""
    masses, _, _ = Kinematics(robot).inertias
    if masses.sum() <= 0:
        raise MotionTrackingError(
            f"robot {robot.name!r} has no mass; expected links with an inertia. "
            "Add their masses to the document."
        )
    hanging = _hanging_mass(robot)
    joints = robot.actuated
    whole = GRAVITY * float(masses.sum())
    legs = {joint.name for foot in robot.feet.values() for joint in chain_to(robot, foot)}
    stiffness = np.array(
        [
            whole
            if joint.name in legs
            else min(max(STIFFNESS_M * GRAVITY * hanging[joint.child], LEAST_STIFFNESS), whole)
            for joint in joints
        ]
    )
    usual = FULL_EFFORT_RAD * stiffness
    known = np.array([np.nan if joint.effort is None else joint.effort for joint in joints])
    effort = np.where(np.isnan(known), usual, known)
    armature = {joint.name: usual_armature(joint) for joint in robot.joints}
    return Servos(stiffness, DAMPING_S * stiffness, effort, armature)


class _Spring:
    """A spring and damper between the base and where the motion has it."""

    def __init__(self, scene: PhysicsScene, reference: ReferenceMotion) -> None:
        self.scene, self.reference = scene, reference
        linear, angular = 2 * np.pi * MOVING_HZ, 2 * np.pi * TURNING_HZ
        mass = scene.weight_n / GRAVITY
        inertia = mass * (SPREAD * float(reference.base[:, 2].max())) ** 2
        self.stiffness = np.repeat([mass * linear**2, inertia * angular**2], 3)
        self.damping = np.repeat([2 * mass * linear, 2 * inertia * angular], 3)
        self.most = MOST_WEIGHTS * scene.weight_n
        # As the base's own damping it is integrated implicitly: stable however light the base.
        scene.model.dof_damping[:6] = self.damping

    def pull(self, frame: int, after: int, part: float) -> Array:
        """Set the spring to a time between two samples; the wrench (6,) that it exerts now."""
        reference, data = self.reference, self.scene.data
        base = reference.base
        position = base[frame, :3] + part * (base[after, :3] - base[frame, :3])
        rotation = slerp(base[frame, 3:], base[after, 3:], part)
        moving = np.concatenate([reference.velocity[frame], reference.angular_velocity[frame]])
        away = np.empty(6)
        away[:3] = position - data.qpos[:3]
        import_mujoco().mju_subQuat(away[3:], rotation, data.qpos[3:7])
        pulled = np.clip(self.stiffness * away + self.damping * moving, -self.most, self.most)
        data.qfrc_applied[:6] = pulled
        return np.asarray(pulled - self.damping * data.qvel[:6])


def _hanging_mass(robot: Embodiment) -> dict[str, float]:
    kinematics = Kinematics(robot)
    masses = dict(zip(kinematics.names, kinematics.inertias[0].tolist(), strict=True))
    for joint in reversed(outward_joints(robot)):
        masses[joint.parent] += masses[joint.child]
    return masses


def follow(
    policy: TrackingPolicy, reference: ReferenceMotion, *, progress: Progress | None
) -> Attempt:
    """The robot follows the motion by itself; the attempt ends where it falls."""
    scene = PhysicsScene(reference.robot, _servos(policy, reference), rate_hz=reference.rate_hz)
    follower = policy.tracker.follow(reference)
    attempt = begin(scene, reference)
    target = np.empty(len(reference.robot.joint_names))
    for frame in range(len(reference)):
        if not attempt.note(scene, reference):
            break
        action = policy.answer(follower.observe(_state(scene, policy), frame))
        if not np.isfinite(action).all():
            attempt.fell = frame
            break
        target[policy.columns] = follower.targets(action)
        scene.act(target, scene.steps)
        if progress is not None and frame % TELL_EVERY == 0:
            progress(frame / len(reference))
    return attempt


def _servos(policy: TrackingPolicy, reference: ReferenceMotion) -> Servos:
    # The document's efforts hold too: a tracker's own limits may be those of a stronger motor.
    given, order = policy.tracker.servos, np.argsort(policy.columns)
    return replace(
        given,
        stiffness=given.stiffness[order],
        damping=given.damping[order],
        effort=np.minimum(given.effort[order], _effort_limits(reference.robot)),
    )


def _state(scene: PhysicsScene, policy: TrackingPolicy) -> SensedState:
    rates: Array = scene.data.qvel[scene.rates[policy.columns]]
    return SensedState(scene.q[policy.columns], rates, scene.base[3:], scene.data.qvel[3:6].copy())
