"""Walk ahead, turn and stop, by a walking policy."""

from __future__ import annotations

import numpy as np

from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.run import RunOutcome
from corporeal.simulation.task import SimulatedTask
from corporeal.simulation.trace import Trace, stumble
from corporeal.simulation.variation import SceneLayout

LEAST_M = 1.0


def perform(operator: Demonstrator) -> None:
    """Start from a stand, walk, turn while walking, walk on and stop."""
    rng = operator.rng
    operator.start_walking(arms=True)
    operator.walk((0.0, 0.0, 0.0), 0.6)
    pace = 0.5 * operator.speed
    operator.walk((pace, 0.0, 0.0), float(rng.uniform(1.5, 2.5)))
    turn = float(rng.uniform(-0.4, 0.4))
    operator.walk((0.8 * pace, 0.0, turn), float(rng.uniform(1.0, 2.0)))
    operator.walk((pace, 0.0, 0.0), float(rng.uniform(1.0, 1.5)))
    operator.walk((0.0, 0.0, 0.0), 1.0)


def judge(course: Trace) -> RunOutcome:
    """A success went at least a metre and stands at the end."""
    path = np.diff(course.base[:, :2], axis=0)
    measures = {
        **course.measures,
        "distance_m": float(np.linalg.norm(course.base[-1, :2] - course.base[0, :2])),
        "path_m": float(np.linalg.norm(path, axis=1).sum()),
        "end_speed_m_s": float(np.linalg.norm(course.base[-1, :2] - course.base[-26, :2]) / 0.5),
    }
    bad = stumble(course)
    if bad is not None:
        return RunOutcome(False, bad.failure, measures)
    good = measures["path_m"] > LEAST_M and measures["end_speed_m_s"] < 0.1
    return RunOutcome(good, None if good else "timeout", measures)


TASK = SimulatedTask(
    perform,
    judge,
    instructions=("Walk ahead and stop.", "Take a few steps forward, then stand still."),
    layout=SceneLayout(table=False, objects=False),
    needs_policy=True,
    faults=("fall",),
)
