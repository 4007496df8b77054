"""Pick an object up from the table and put it down on a mark."""

from __future__ import annotations

import numpy as np

from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.grasping import pick, place, retreat
from corporeal.simulation.run import RunOutcome
from corporeal.simulation.task import SimulatedTask
from corporeal.simulation.trace import Trace, how_lost, stumble
from corporeal.simulation.variation import SceneLayout

TOLERANCE_M, CLEARANCE_M = 0.02, 0.15


def perform(operator: Demonstrator) -> None:
    """Pick, carry, place; give up when the object is not in the hand."""
    variation = operator.physics.world.variation
    if pick(operator, variation.hand):
        place(operator, variation.hand, np.array(variation.goal))
    retreat(operator, variation.hand)


def judge(course: Trace) -> RunOutcome:
    """A success was 15 cm up and rests within 2 cm of the mark, let go of."""
    goal = np.array(course.world.variation.goal)
    last = course.obj[-1]
    measures = {
        **course.measures,
        "lift_height_m": float(course.lift_m.max()),
        "placement_error_m": float(np.linalg.norm(last[:2] - goal[:2])),
    }
    bad = stumble(course)
    failure = bad.failure if bad is not None else _failure(course, measures, float(goal[2]))
    return RunOutcome(failure is None, failure, measures)


def _failure(course: Trace, measures: dict[str, float], rest_m: float) -> str | None:
    lost = how_lost(course)
    if lost is not None:
        return lost
    if measures["lift_height_m"] < CLEARANCE_M:
        # Fingers that had it and lost it slipped; fingers that never had it missed.
        return "slip" if course.pinched.any(axis=1).sum() > 25 else "missed_grasp"
    resting = abs(float(course.obj[-1, 2]) - rest_m) < 0.01 and not course.touched[-1].any()
    if measures["placement_error_m"] > TOLERANCE_M or not resting:
        return "misplaced"
    return None


TASK = SimulatedTask(
    perform,
    judge,
    instructions=(
        "Pick up the {colour} {shape} with your {hand} hand and put it on the mark.",
        "Move the {colour} {shape} onto the turquoise disc.",
        "Take the {colour} {shape} and place it on the target.",
    ),
    layout=SceneLayout(shapes=("box", "box", "cylinder", "ball")),
    faults=("missed_grasp", "slip", "drop", "collision", "fall"),
)
