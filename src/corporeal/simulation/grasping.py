"""Picking up and putting down with one hand, and what goes wrong when it is meant to."""

from __future__ import annotations

import numpy as np

from corporeal.geometry import Array
from corporeal.simulation.arm_motion import HandPose, hand_rotation
from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.gripper import OPENING_M
from corporeal.simulation.variation import SceneObject

# How the fingers point for each approach, and how they point while an object is carried.
PITCH_RAD = {"top": 0.6, "side": 0.2}
CARRY_PITCH_RAD = 0.3
# Metres that the gripper is asked to close beyond the object: the squeeze, about 12 N a finger.
SQUEEZE_M, WEAK_SQUEEZE_M = 0.03, (0.006, 0.03)
LIFT_M = 0.18
UP = np.array([0.0, 0.0, 1.0])


def grasp_pose(
    thing: SceneObject, position: Array, side: str, approach: str, *, up_m: float | None = None
) -> HandPose:
    """Where a hand takes an object whose centre is at `position` (3,), `up_m` above it."""
    sign = 1.0 if side == "left" else -1.0
    yaw = thing.yaw_rad if thing.shape == "box" else -0.3 * sign
    rotation = hand_rotation(pitch_rad=PITCH_RAD[approach], yaw_rad=yaw)
    half = thing.size[2] / 2
    # From above near the top, so that the palm stays clear; from the side at the middle.
    up = half - 0.025 if approach == "top" else max(0.055 - half, 0.0)
    if thing.shape == "ball":
        up = 0.008
    if up_m is not None:
        up = up_m
    return HandPose(position + up * UP, rotation)


def pick(operator: Demonstrator, side: str, *, up_m: float | None = None) -> bool:
    """Take the object and lift it; False when the operator sees that it stayed behind."""
    variation = operator.physics.world.variation
    thing = variation.things[0]
    start = operator.object_position()
    pose = grasp_pose(thing, start, side, variation.approach, up_m=up_m)
    if variation.fault == "missed_grasp":
        pose = pose.moved(pose.rotation @ np.array([-0.075, 0.0, 0.0]) + 0.015 * UP)
    ahead = pose.rotation[:, 0]
    back = -0.09 * ahead if variation.approach == "side" else -0.10 * ahead + 0.05 * UP
    operator.move({side: pose.moved(back + 0.06 * UP)})
    operator.move({side: pose.moved(back)}, speed_m_s=0.14)
    operator.move({side: pose}, speed_m_s=0.09, free=False)
    operator.hold(0.2)
    weak = float(operator.rng.uniform(*WEAK_SQUEEZE_M))
    squeeze = weak if variation.fault == "slip" else SQUEEZE_M
    operator.grip(side, opening_m=thing.size[1] - squeeze)
    operator.hold(0.3)
    raised = HandPose(pose.position + LIFT_M * UP, level(pose))
    operator.move({side: raised}, speed_m_s=0.13, free=False)
    return bool(operator.object_position()[2] - start[2] > 0.5 * LIFT_M)


def level(pose: HandPose) -> Array:
    """Axes (3, 3) of a hand that carries: pointing down no more than is easy when raised."""
    pitch = float(np.arcsin(-pose.rotation[2, 0]))
    yaw = float(np.arctan2(pose.rotation[1, 0], pose.rotation[0, 0]))
    return hand_rotation(pitch_rad=min(pitch, CARRY_PITCH_RAD), yaw_rad=yaw)


def place(operator: Demonstrator, side: str, goal: Array) -> None:
    """Carry the held object over `goal` (3,), correct by eye, put it down and let go."""
    variation = operator.physics.world.variation
    thing = variation.things[0]
    raised = operator.goals[side]
    assert raised is not None
    over = _above(operator, side, goal, raised)
    if variation.fault == "drop":
        middle = raised.at((raised.position + over.position) / 2)
        operator.move({side: middle}, speed_m_s=0.15)
        operator.grip(side, opening_m=OPENING_M, seconds=0.3)
        return
    if variation.fault == "collision":
        # Straight at the post instead of over it, until it is hit; then up and on.
        operator.move({side: raised.moved(-0.1 * UP)}, speed_m_s=0.15)
        operator.move({side: over.moved(-0.1 * UP)}, speed_m_s=0.2, until_bump=True)
        operator.move({side: raised}, speed_m_s=0.15)
        if not holding(operator, side):
            return
    operator.move({side: over}, speed_m_s=0.15)
    down = over
    for left in (0.06, 0.02, 0.003):
        if not holding(operator, side):
            return
        down = _corrected(operator, side, goal, left, thing)
        operator.move({side: down}, speed_m_s=0.09, free=False)
    operator.hold(0.3)
    operator.grip(side, opening_m=min(thing.size[1] + 0.03, OPENING_M), seconds=0.4)
    operator.hold(0.2)
    back = -0.09 * down.rotation[:, 0] + (0.05 if variation.approach == "top" else 0.01) * UP
    operator.move({side: down.moved(back)}, speed_m_s=0.12, free=False)


def holding(operator: Demonstrator, side: str) -> bool:
    """Whether the object is still near the grasp point, as an operator would see it."""
    thing = operator.physics.world.variation.things[0]
    apart = operator.hand(side).position - operator.object_position()
    return bool(np.linalg.norm(apart) < 0.05 + thing.size[2] / 2)


def retreat(operator: Demonstrator, side: str) -> None:
    """Open the hand and bring it back beside the body, above the table."""
    here = operator.goals[side] or operator.hand(side)
    sign = 1.0 if side == "left" else -1.0
    top = operator.physics.world.variation.table_height_m or 0.7
    operator.move({side: here.at(np.array([0.24, 0.24 * sign, top + 0.2]))})


def _above(operator: Demonstrator, side: str, goal: Array, raised: HandPose) -> HandPose:
    offset = operator.hand(side).position - operator.object_position()
    target = goal + offset
    return raised.at(np.array([target[0], target[1], raised.position[2]]))


def _corrected(
    operator: Demonstrator, side: str, goal: Array, left_m: float, thing: SceneObject
) -> HandPose:
    """The hand that has the object `left_m` above its place, by what the eye sees now."""
    now, held = operator.goals[side], operator.object_position()
    assert now is not None
    off = goal + left_m * UP - held
    # The last move is straight down: the object may already touch.
    pitch = PITCH_RAD[operator.physics.world.variation.approach] if left_m < 0.05 else None
    yaw = float(np.arctan2(now.rotation[1, 0], now.rotation[0, 0]))
    rotation = now.rotation if pitch is None else hand_rotation(pitch_rad=pitch, yaw_rad=yaw)
    if thing.shape == "ball":
        rotation = now.rotation
    return HandPose(operator.hand(side).position + off, rotation)
