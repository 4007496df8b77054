"""The loop of a tracker: the network sees, the servos act, physics answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.tracking.attempt import Attempt, Progress, begin
from corporeal.retargeting.tracking.reference import ReferenceMotion
from corporeal.retargeting.tracking.scene import PhysicsScene, Servos
from corporeal.retargeting.tracking.tracker import SensedState, TrackingPolicy

TELL_EVERY = 25


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
    given = policy.tracker.servos
    robot = reference.robot
    limits = np.array(
        [np.inf if joint.effort is None else joint.effort for joint in robot.actuated]
    )
    return replace(
        given,
        stiffness=_spread(given.stiffness, policy),
        damping=_spread(given.damping, policy),
        effort=np.minimum(_spread(given.effort, policy), limits),
    )


def _spread(values: Array, policy: TrackingPolicy) -> Array:
    out = np.empty_like(values)
    out[policy.columns] = values
    return out


def _state(scene: PhysicsScene, policy: TrackingPolicy) -> SensedState:
    rates: Array = scene.data.qvel[scene.rates[policy.columns]]
    return SensedState(scene.q[policy.columns], rates, scene.base[3:], scene.data.qvel[3:6].copy())
