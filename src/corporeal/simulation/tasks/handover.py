"""Pick a cylinder up with one hand, pass it to the other in the air and put it down."""

from __future__ import annotations

import numpy as np

from corporeal.simulation.arm_motion import HandPose, hand_rotation
from corporeal.simulation.demonstrator import Demonstrator
from corporeal.simulation.grasping import SQUEEZE_M, UP, pick, place, retreat
from corporeal.simulation.gripper import OPENING_M, SIDES
from corporeal.simulation.physics import TICK_S
from corporeal.simulation.run import RunOutcome
from corporeal.simulation.task import SimulatedTask
from corporeal.simulation.trace import Trace, how_lost, stumble
from corporeal.simulation.variation import SceneLayout

TOLERANCE_M = 0.02
# The giver holds this far below the top, the taker this far below the giver.
BELOW_TOP_M, APART_M = 0.03, 0.085
# How the hands point when they meet: a little down, and inward.
PITCH_RAD, TURN_RAD = 0.2, 0.45


def perform(operator: Demonstrator) -> None:
    """Pick, meet in the middle, take over, let go, place with the other hand."""
    variation = operator.physics.world.variation
    giver = variation.hand
    taker = SIDES[1 - SIDES.index(giver)]
    up = variation.things[0].size[2] / 2 - BELOW_TOP_M
    if not pick(operator, giver, up_m=up):
        retreat(operator, giver)
        return
    if _pass(operator, giver, taker):
        place(operator, taker, np.array(variation.goal))
    retreat(operator, taker)


def _pass(operator: Demonstrator, giver: str, taker: str) -> bool:
    variation = operator.physics.world.variation
    sign = 1.0 if giver == "left" else -1.0
    top = (variation.table_height_m or 0.7) + 0.30
    inward = hand_rotation(pitch_rad=PITCH_RAD, yaw_rad=-TURN_RAD * sign)
    meet = HandPose(np.array([0.33, 0.03 * sign, top]), inward)
    operator.move({giver: meet}, speed_m_s=0.15)
    operator.hold(0.3)
    where = operator.object_position()
    where[2] = operator.hand(giver).position[2] - APART_M
    take = HandPose(where, hand_rotation(pitch_rad=PITCH_RAD, yaw_rad=TURN_RAD * sign))
    if variation.fault == "missed_grasp":
        take = take.moved(-0.08 * take.rotation[:, 0])
    away = -0.12 * take.rotation[:, 0]
    operator.move({taker: take.moved(away)})
    operator.move({taker: take}, speed_m_s=0.08, free=False)
    operator.grip(taker, opening_m=variation.things[0].size[1] - SQUEEZE_M)
    operator.hold(0.3)
    operator.grip(giver, opening_m=OPENING_M, seconds=0.4)
    back = -0.12 * meet.rotation[:, 0]
    operator.move({giver: meet.moved(back)}, speed_m_s=0.12, free=False)
    held = float(np.linalg.norm(operator.object_position() - operator.hand(taker).position))
    operator.move({giver: meet.moved(back + np.array([-0.05, 0.12 * sign, 0.0]) - 0.03 * UP)})
    return held < 0.12


def judge(course: Trace) -> RunOutcome:
    """A success was in the one hand, then in the other, and rests within 2 cm of the mark."""
    giver = SIDES.index(course.world.variation.hand)
    goal = np.array(course.world.variation.goal)
    air = course.lift_m > 0.05
    first, second = course.pinched[:, giver] & air, course.pinched[:, 1 - giver] & air
    alone = second & ~course.touched[:, giver]
    measures = {
        **course.measures,
        "lift_height_m": float(course.lift_m.max()),
        "placement_error_m": float(np.linalg.norm(course.obj[-1, :2] - goal[:2])),
        "giver_s": float(first.sum() * TICK_S),
        "taker_s": float(alone.sum() * TICK_S),
    }
    bad = stumble(course)
    failure = bad.failure if bad is not None else _failure(course, measures, float(goal[2]))
    return RunOutcome(failure is None, failure, measures)


def _failure(course: Trace, measures: dict[str, float], rest_m: float) -> str | None:
    lost = how_lost(course)
    if lost is not None:
        return lost
    if measures["lift_height_m"] < 0.15:
        return "slip" if course.pinched.any(axis=1).sum() > 25 else "missed_grasp"
    if measures["taker_s"] < 0.5:
        return "missed_grasp"
    resting = abs(float(course.obj[-1, 2]) - rest_m) < 0.01 and not course.touched[-1].any()
    return None if resting and measures["placement_error_m"] < TOLERANCE_M else "misplaced"


TASK = SimulatedTask(
    perform,
    judge,
    instructions=(
        "Pick up the {colour} {shape}, pass it to the other hand and put it on the mark.",
        "Hand the {colour} {shape} from your {hand} hand to the other and place it.",
    ),
    layout=SceneLayout(
        shapes=("cylinder",),
        width_m=(0.045, 0.055),
        height_m=(0.17, 0.20),
        mass_kg=(0.2, 0.35),
        approaches=("side",),
        aside_m=(0.12, 0.20),
        goal_across=True,
    ),
    faults=("missed_grasp", "slip", "drop", "fall"),
)
