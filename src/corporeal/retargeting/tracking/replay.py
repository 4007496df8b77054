"""A replay with help: servos follow the joints, a spring holds the base; how much was needed?"""

from __future__ import annotations

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.engines import import_mujoco
from corporeal.embodiment.joints import outward_joints
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, slerp
from corporeal.retargeting.tracking.attempt import Attempt, Progress, begin, support_of
from corporeal.retargeting.tracking.physics import GRAVITY, PhysicsScene, Servos, usual_armature
from corporeal.retargeting.tracking.reference import MotionTrackingError, ReferenceMotion

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
    legs = _bearing(robot)
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
        away = np.concatenate(
            [position - data.qpos[:3], _rotation_between(data.qpos[3:7], rotation)]
        )
        pulled = np.clip(self.stiffness * away + self.damping * moving, -self.most, self.most)
        data.qfrc_applied[:6] = pulled
        return np.asarray(pulled - self.damping * data.qvel[:6])


def _rotation_between(now: Array, wanted: Array) -> Array:
    """The rotation vector (3,), in the axes of `now`, that turns it to `wanted`."""
    mujoco = import_mujoco()
    out = np.empty(3)
    mujoco.mju_subQuat(out, wanted, now)
    return out


def _hanging_mass(robot: Embodiment) -> dict[str, float]:
    kinematics = Kinematics(robot)
    masses = dict(zip(kinematics.names, kinematics.inertias[0].tolist(), strict=True))
    for joint in reversed(outward_joints(robot)):
        masses[joint.parent] += masses[joint.child]
    return masses


def _bearing(robot: Embodiment) -> set[str]:
    """The joints between the base and the feet."""
    kinematics = Kinematics(robot)
    above = {joint.child: joint for joint in robot.joints}
    bearing: set[str] = set()
    for place in robot.feet.values():
        link = kinematics.names[kinematics.place(place)[0]]
        while link in above:
            bearing.add(above[link].name)
            link = above[link].parent
    return bearing
