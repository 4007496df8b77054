"""Take an object from the table and carry it away on foot, by a walking policy."""

from __future__ import annotations

import numpy as np

from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.grasping import pick
from corporeal.simulation.gripper import OPENING_M
from corporeal.simulation.physics import TICK_S
from corporeal.simulation.run import RunOutcome
from corporeal.simulation.task import SimulatedTask
from corporeal.simulation.trace import Trace, how_lost, stumble
from corporeal.simulation.variation import SceneLayout

LEAST_M = 0.6


def perform(operator: Demonstrator) -> None:
    """Pick while standing, draw the hand in, step back, turn, stop."""
    variation = operator.physics.world.variation
    side = variation.hand
    sign = 1.0 if side == "left" else -1.0
    pick(operator, side)
    raised = operator.goals[side]
    assert raised is not None
    near = np.array([0.27, 0.2 * sign, raised.position[2]])
    operator.move({side: raised.at(near)}, speed_m_s=0.15)
    # From here the arm keeps its shape: the hand goes where the body goes.
    operator.start_walking(arms=False)
    operator.walk((0.0, 0.0, 0.0), 0.4)
    operator.walk((-0.4, 0.0, 0.0), float(operator.rng.uniform(2.0, 3.0)))
    if variation.fault == "drop":
        operator.openings[:] = OPENING_M
    operator.walk((-0.3, 0.0, 0.3 * sign), float(operator.rng.uniform(1.0, 2.0)))
    operator.walk((0.0, 0.0, 0.0), 1.2)


def judge(course: Trace) -> RunOutcome:
    """A success has the object in the hand at the end, carried at least 60 cm, upright."""
    carried = float(np.linalg.norm(course.obj[-1, :2] - course.obj[0, :2]))
    window = round(0.5 / TICK_S)
    measures = {
        **course.measures,
        "lift_height_m": float(course.lift_m.max()),
        "carried_m": carried,
        "held_at_end": float(course.touched[-window:].any(axis=1).all()),
    }
    bad = stumble(course)
    failure = bad.failure if bad is not None else _failure(course, measures)
    return RunOutcome(failure is None, failure, measures)


def _failure(course: Trace, measures: dict[str, float]) -> str | None:
    lost = how_lost(course)
    if lost is not None:
        return lost
    if measures["lift_height_m"] < 0.05:
        return "slip" if course.pinched.any(axis=1).sum() > 25 else "missed_grasp"
    return None if measures["held_at_end"] and measures["carried_m"] > LEAST_M else "timeout"


TASK = SimulatedTask(
    perform,
    judge,
    instructions=(
        "Take the {colour} {shape} from the table and step back with it.",
        "Carry the {colour} {shape} away from the table.",
    ),
    layout=SceneLayout(shapes=("box", "cylinder"), approaches=("side",), mark=False),
    needs_policy=True,
    faults=("missed_grasp", "slip", "drop", "fall"),
)
