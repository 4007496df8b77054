"""Jerk both hands sharply, again and again, with stillness between: food for the sync test."""

from __future__ import annotations

import numpy as np

from corporeal.simulation.arm_motion import hand_rotation
from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.gripper import SIDES
from corporeal.simulation.physics import TICK_S
from corporeal.simulation.run import RunOutcome
from corporeal.simulation.task import SimulatedTask
from corporeal.simulation.trace import Trace, stumble
from corporeal.simulation.variation import SceneLayout

JERKS = 6
STROKE_M = 0.10
STILL_S = 1.2
# A sharp start and stop: the hands are over there after this time.
STROKE_S = 0.12


def perform(operator: Demonstrator) -> None:
    """Raise both hands to where the cameras see them, then jerk them up and down."""
    home = {side: operator.hand(side) for side in SIDES}
    ready = {}
    for side in SIDES:
        pose = home[side].moved(np.array([0.12, 0.0, 0.18]))
        sign = 1.0 if side == "left" else -1.0
        ready[side] = type(pose)(pose.position, hand_rotation(pitch_rad=0.0, yaw_rad=-0.2 * sign))
    operator.move(ready, speed_m_s=0.16, free=False)
    operator.hold(1.0)
    for number in range(JERKS):
        way = STROKE_M * np.array([0.0, 0.0, 1.0 if number % 2 == 0 else -1.0])
        starts = {side: ready[side] for side in SIDES}
        for tick in range(1, round(STROKE_S / TICK_S) + 1):
            part = tick * TICK_S / STROKE_S
            for side in SIDES:
                operator.goals[side] = starts[side].moved(part * way)
            operator.tick()
        ready = {side: starts[side].moved(way) for side in SIDES}
        # Never the same pause twice, so that a lag of one whole pause cannot look like none.
        operator.hold(STILL_S + 0.07 * number)
    operator.move(home, speed_m_s=0.16, free=False)


def judge(course: Trace) -> RunOutcome:
    """A success is upright to the end."""
    bad = stumble(course)
    if bad is not None:
        return RunOutcome(False, bad.failure, course.measures)
    return RunOutcome(True, None, course.measures)


TASK = SimulatedTask(
    perform,
    judge,
    instructions=("Jerk both hands sharply, with pauses.",),
    layout=SceneLayout(objects=False),
    faults=("fall",),
)
