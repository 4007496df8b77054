"""Stand on two legs, sway, squat and be pushed."""

from __future__ import annotations

import numpy as np

from corporeal.geometry import Array
from corporeal.simulation.arm_motion import minimum_jerk
from corporeal.simulation.balance import Balance, Sway
from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.physics import TICK_S
from corporeal.simulation.run import RunOutcome
from corporeal.simulation.task import SimulatedTask
from corporeal.simulation.trace import Trace, stumble
from corporeal.simulation.variation import SceneLayout

DRIFT_M = 0.05


def perform(operator: Demonstrator) -> None:
    """Three sways and a squat, with two pushes that can be caught."""
    rng, legs = operator.rng, operator.legs
    assert isinstance(legs, Balance)
    for start in (2.0, 5.0):
        size, angle = rng.uniform(2.0, 6.0), rng.uniform(0.0, 2 * np.pi)
        operator.pushes.append((start, size * np.cos(angle), size * np.sin(angle)))
    here = np.zeros(4)
    for number in range(4):
        there = rng.uniform((-0.015, -0.03, -0.06, -0.15), (0.015, 0.03, 0.02, 0.15))
        here = _sway(operator, legs, here, np.zeros(4) if number == 3 else there)
        operator.hold(0.4)


def _sway(operator: Demonstrator, legs: Balance, here: Array, there: Array) -> Array:
    ticks = round(1.5 / operator.speed / TICK_S)
    for tick in range(1, ticks + 1):
        part = minimum_jerk(tick / ticks, abruptness=operator.style.jerk)
        legs.sway = Sway(*(here + part * (there - here)))
        operator.tick()
    return there


def judge(course: Trace) -> RunOutcome:
    """A success is upright to the end, within 5 cm of where it started."""
    drift = float(np.linalg.norm(course.base[-1, :2] - course.base[0, :2]))
    measures = {**course.measures, "drift_m": drift}
    bad = stumble(course)
    if bad is not None:
        return RunOutcome(False, bad.failure, measures)
    return RunOutcome(drift < DRIFT_M, None if drift < DRIFT_M else "misplaced", measures)


TASK = SimulatedTask(
    perform,
    judge,
    instructions=("Stand still and keep your balance.", "Shift your weight and stay standing."),
    layout=SceneLayout(table=False, objects=False),
    faults=("fall",),
)
