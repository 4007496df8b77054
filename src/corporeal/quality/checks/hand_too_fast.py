"""Hands move no faster than hands can."""

import numpy as np

from corporeal.embodiment.kinematics import Poses, ancestors
from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.rigid_motion import poses_in_base
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs
from corporeal.signal.track import Array

# An arm that is led from fewer joints is not known.
MIN_JOINTS = 3
# A hand is stopped and started within this, s, by what it is judged by.
PUSH_S = 0.05
# As for a joint: what is measured may be above a limit by this share.
MARGIN = 1.05


def find(
    subject: Subject,
    *,
    max_speed_m_s: float = 5.0,
    max_acceleration_m_s2: float = 100.0,
    min_step_m: float = 0.04,
) -> Findings:
    """Yield the frames in which a hand moves faster than its arm can, against the robot's body.

    How fast that is the robot's own joints say: their stated speeds, each at its lever. Below that
    a hand over `max_speed_m_s` is found where it is also pushed by over `max_acceleration_m_s2`,
    ten times its weight, which no motor does; a quick motion that builds up is none. Where the
    robot states no speeds, it asks a human. Joints above the arm may be missing; steps below
    `min_step_m` do not count. The base's own motion is left out: it has a check of its own.

    Why: no arm moves so; the joints jumped, or stamps are too close together.
    Fix: drop the frames, or mend the joints or stamps that the other findings name.
    """
    posture = subject.posture
    if len(posture) < 3:
        raise NotAssessed(f"{posture.label} has {len(posture)} samples")
    poses = poses_in_base(subject)
    arms = _arms(subject)
    if not arms:
        raise NotAssessed(f"no arm of {subject.robot.name} is complete in {posture.label}")
    seconds = np.maximum(np.diff(posture.time_ns) / 1e9, 1e-9)
    for name, joints in arms.items():
        link, at = subject.kinematics.place(subject.robot.end_effectors[name])
        hand = poses.positions[:, link] + poses.rotations[:, link] @ at[:, 3]
        way = np.diff(hand, axis=0)
        step = np.linalg.norm(way, axis=1)
        speed = step / seconds
        quick = (speed > max_speed_m_s) & (step > min_step_m)
        if not quick.any():
            continue
        own = MARGIN * _reachable(subject, poses, hand, joints)[1:]
        pushed = _pushes(way / seconds[:, None], seconds) > max_acceleration_m_s2
        stated = bool(np.isfinite(own).any())
        beyond = quick & ((speed > own) | pushed) if stated else quick
        if beyond.any():
            worst = int(np.nanargmax(np.where(beyond, speed, 0.0)))
            limit = float(own[worst]) if speed[worst] > own[worst] else max_speed_m_s
            sure = stated or bool(pushed[beyond].any())
            yield _finding(subject, name, speed, beyond, worst, limit, sure=sure)


def _arms(subject: Subject) -> dict[str, list[str]]:
    """The joints of the data on the way to each end effector; of joints above them, none."""
    robot, posture = subject.robot, subject.posture
    present = dict(zip(robot.joint_names, posture.present.tolist(), strict=True))
    found = {}
    for name, at in robot.end_effectors.items():
        link = subject.kinematics.names[subject.kinematics.place(at)[0]]
        chain = [joint for joint in ancestors(robot, link) if joint in present]
        missing = [number for number, joint in enumerate(chain) if not present[joint]]
        known = chain[missing[-1] + 1 :] if missing else chain
        if len(known) >= MIN_JOINTS:
            found[name] = known
    return found


def _reachable(subject: Subject, poses: Poses, hand: Array, joints: list[str]) -> Array:
    """How fast the hand is (T,) where every joint moves as fast as it can, m/s."""
    total: Array = np.zeros(len(hand))
    for joint in (joint for joint in subject.robot.joints if joint.name in joints):
        if not joint.velocity:
            return np.full(len(hand), np.inf)
        number = subject.kinematics.names.index(joint.child)
        axis = poses.rotations[:, number] @ np.asarray(joint.axis, np.float64)
        lever = np.linalg.norm(np.cross(axis, hand - poses.positions[:, number]), axis=1)
        total += joint.velocity * (1.0 if joint.type == "prismatic" else lever)
    return total


def _pushes(velocity: Array, seconds: Array) -> Array:
    """Change of the velocity (T - 1, 3) within `PUSH_S` about each step, per second."""
    width = max(1, round(PUSH_S / float(np.median(seconds))))
    before = np.concatenate((np.repeat(velocity[:1], width, axis=0), velocity))[: len(velocity)]
    after = np.concatenate((velocity, np.repeat(velocity[-1:], width, axis=0)))[width:]
    span = width * float(np.median(seconds))
    change = np.maximum(
        np.linalg.norm(velocity - before, axis=1), np.linalg.norm(after - velocity, axis=1)
    )
    return np.asarray(change / span)


def _finding(
    subject: Subject, name: str, speed: Array, fast: Array, worst: int, limit: float, *, sure: bool
) -> Finding:
    posture = subject.posture
    window = slice(max(0, worst - 60), worst + 61)
    return Finding(
        f"{name} in {posture.label} moves at {speed[worst]:.1f} m/s at "
        f"{posture.time_ns[worst + 1] / 1e9:.3f} s; a hand reaches {limit:.3g} m/s.",
        stream=posture.label,
        frames=runs(np.append(False, fast)),
        value=float(speed[worst]),
        limit=limit,
        severity=None if sure else "quarantine",
        evidence={"time_s": posture.time_ns[1:][window] / 1e9, name: speed[window]},
    )


CHECK = Check(
    find,
    topic="frames",
    severity="fail",
    rests_on=("rate_hz", "robot"),
    unit="m/s",
    formerly=("end_effector_speed",),
)
