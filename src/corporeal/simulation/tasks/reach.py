"""Bring a hand to a target in the air and hold it there."""

from __future__ import annotations

import numpy as np

from corporeal.simulation.arm_motion import HandPose, hand_rotation
from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.gripper import SIDES
from corporeal.simulation.run import RunOutcome
from corporeal.simulation.task import SimulatedTask
from corporeal.simulation.trace import Trace, stumble
from corporeal.simulation.variation import SceneLayout

TOLERANCE_M = 0.02
HOLD_S = 0.5


def perform(operator: Demonstrator) -> None:
    """Raise the hand, go to the target, hold, and come back."""
    variation = operator.physics.world.variation
    side = variation.hand
    sign = 1.0 if side == "left" else -1.0
    target = HandPose(np.array(variation.goal), hand_rotation(pitch_rad=0.2, yaw_rad=-0.25 * sign))
    home = operator.hand(side)
    operator.move({side: target.moved(np.array([-0.08, 0.0, 0.03]))}, speed_m_s=0.16)
    operator.move({side: target}, speed_m_s=0.07)
    operator.hold(1.6)
    operator.move({side: home}, speed_m_s=0.16)


def judge(course: Trace) -> RunOutcome:
    """A success is within 2 cm of the target for half a second."""
    bad = stumble(course)
    hand = SIDES.index(course.world.variation.hand)
    apart = np.linalg.norm(course.hands[:, hand] - course.world.variation.goal, axis=1)
    near = apart < TOLERANCE_M
    window = round(HOLD_S / float(course.time_s[1] - course.time_s[0]))
    held = np.convolve(near, np.ones(window), "valid").max() >= window
    measures = {**course.measures, "reach_error_m": float(apart.min())}
    if bad is not None:
        return RunOutcome(False, bad.failure, measures)
    return RunOutcome(bool(held), None if held else "timeout", measures)


TASK = SimulatedTask(
    perform,
    judge,
    instructions=(
        "Reach the target with your {hand} hand.",
        "Move the {hand} hand to the turquoise ball and hold it there.",
    ),
    layout=SceneLayout(objects=False, ahead_m=(0.26, 0.38), aside_m=(0.05, 0.28)),
    faults=("fall",),
)
