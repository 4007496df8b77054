"""Lift a crate by its two handles with both hands, hold it level and put it back."""

from __future__ import annotations

import numpy as np

from corporeal.geometry import Array
from corporeal.simulation.arm_motion import HandPose, hand_rotation
from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.grasping import SQUEEZE_M, UP, WEAK_SQUEEZE_M
from corporeal.simulation.gripper import OPENING_M, SIDES
from corporeal.simulation.room import HANDLE_M
from corporeal.simulation.run import RunOutcome
from corporeal.simulation.task import SimulatedTask
from corporeal.simulation.trace import Trace, how_lost, stumble
from corporeal.simulation.variation import SceneLayout

CLEARANCE_M, PITCH_RAD, OPEN_M = 0.15, 0.25, 0.06


def perform(operator: Demonstrator) -> None:
    """Both hands to the handles, close, lift, hold, lower, let go."""
    variation = operator.physics.world.variation
    poses = {side: _handle(operator, side) for side in SIDES}
    if variation.fault == "missed_grasp":
        poses[variation.hand] = poses[variation.hand].moved(np.array([-0.085, 0.0, 0.0]))
    back = -0.10 * poses["left"].rotation[:, 0]
    operator.grip(*SIDES, opening_m=OPEN_M)
    operator.move(_all(poses, back + 0.05 * UP), speed_m_s=0.16)
    operator.move(_all(poses, back), speed_m_s=0.12)
    operator.move(poses, speed_m_s=0.08, free=False)
    weak = float(operator.rng.uniform(*WEAK_SQUEEZE_M)) * 0.6
    squeeze = weak if variation.fault == "slip" else SQUEEZE_M
    operator.grip(*SIDES, opening_m=HANDLE_M[1] - squeeze)
    operator.hold(0.3)
    operator.move(_all(poses, 0.175 * UP), speed_m_s=0.10, free=False)
    operator.hold(1.0)
    if variation.fault == "drop":
        operator.grip(*SIDES, opening_m=OPENING_M, seconds=0.25)
    operator.move(_all(poses, 0.002 * UP), speed_m_s=0.08, free=False)
    operator.hold(0.3)
    operator.grip(*SIDES, opening_m=OPEN_M)
    operator.move(_all(poses, back + 0.02 * UP), speed_m_s=0.14, free=False)


def _handle(operator: Demonstrator, side: str) -> HandPose:
    thing = operator.physics.world.variation.things[0]
    sign = 1.0 if side == "left" else -1.0
    across = sign * (thing.size[1] / 2 - HANDLE_M[1] / 2)
    axes = np.asarray(operator.physics.data.body("object").xmat, np.float64).reshape(3, 3)
    local = np.array([-0.015, across, thing.size[2] / 2 + 0.6 * HANDLE_M[2]])
    rotation = hand_rotation(pitch_rad=PITCH_RAD, yaw_rad=thing.yaw_rad)
    return HandPose(operator.object_position() + axes @ local, rotation)


def _all(poses: dict[str, HandPose], offset: Array) -> dict[str, HandPose]:
    return {side: pose.moved(offset) for side, pose in poses.items()}


def judge(course: Trace) -> RunOutcome:
    """A success was 15 cm up in both hands for half a second and is back on the table."""
    both = course.pinched.all(axis=1) & (course.lift_m > CLEARANCE_M)
    measures = {
        **course.measures,
        "lift_height_m": float(course.lift_m.max()),
        "held_high_s": float(both.sum() * (course.time_s[1] - course.time_s[0])),
        "placement_error_m": float(np.linalg.norm(course.obj[-1, :2] - course.obj[0, :2])),
    }
    bad = stumble(course)
    failure = bad.failure if bad is not None else _failure(course, measures)
    return RunOutcome(failure is None, failure, measures)


def _failure(course: Trace, measures: dict[str, float]) -> str | None:
    lost = how_lost(course)
    if lost is not None:
        return lost
    if measures["held_high_s"] < 0.5:
        gripped = course.pinched.sum(axis=0).min() > 25
        return "slip" if gripped else "missed_grasp"
    back = abs(float(course.obj[-1, 2] - course.obj[0, 2])) < 0.01
    return None if back and measures["placement_error_m"] < 0.05 else "misplaced"


TASK = SimulatedTask(
    perform,
    judge,
    instructions=(
        "Lift the {colour} crate with both hands and put it back.",
        "Take the crate by its two handles, raise it and set it down.",
    ),
    layout=SceneLayout(
        shapes=("crate",),
        width_m=(0.25, 0.31),
        height_m=(0.05, 0.075),
        mass_kg=(0.5, 1.0),
        ahead_m=(0.35, 0.38),
        aside_m=(-0.02, 0.02),
        yaw_rad=(-0.06, 0.06),
        distractors=(0, 1),
        mark=False,
    ),
    faults=("missed_grasp", "slip", "drop", "fall"),
)
