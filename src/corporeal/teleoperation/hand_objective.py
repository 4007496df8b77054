"""What hands or joints are to do, as the cost of one step for the safety filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from corporeal.embodiment.engines import import_pinocchio
from corporeal.geometry import Array, matrix_from_vector
from corporeal.teleoperation.arm_model import ArmModel
from corporeal.teleoperation.operator_input import Side

# Goals are reached exponentially with this time constant, beside the speed that they have.
_REACH_S = 0.045
_MOST_M_S, _MOST_RAD_S = 1.5, 6.0
# What is farther off than this turn is turned to at full speed but no faster.
_ROTATION = 0.06
_POSTURE, _POSTURE_HZ = 3e-4, 1.0
_DAMPING, _SMOOTH = 2e-4, 3e-3


@dataclass(frozen=True, eq=False)
class HandGoal:
    """Where a hand is to be: position (3,), axes (3, 3), and how fast both move there."""

    position: Array
    rotation: Array
    velocity: Array = field(default_factory=lambda: np.zeros(3))
    turning: Array = field(default_factory=lambda: np.zeros(3))

    def moved_on(self, seconds: float) -> HandGoal:
        """Where it is after a while at its speed."""
        if seconds == 0:
            return self
        turned = matrix_from_vector(self.turning * seconds) @ self.rotation
        place = self.position + seconds * self.velocity
        return HandGoal(place, turned, self.velocity, self.turning)

    @property
    def is_finite(self) -> bool:
        """Whether it is a place at all."""
        parts = (self.position, self.rotation, self.velocity, self.turning)
        return all(np.isfinite(part).all() for part in parts)


@dataclass(frozen=True, eq=False)
class HandObjective:
    """Hands towards their goals; an arm without a goal stays; what is free tends to `rest` (n,).

    `turn_weight` is what a turn of a radian costs beside a place that is a metre away,
    `smoothness` what a change of speed costs.
    """

    goals: Mapping[Side, HandGoal]
    rest: Array
    turn_weight: float = _ROTATION
    smoothness: float = _SMOOTH

    def cost(self, arms: ArmModel, rates: Array) -> tuple[Array, Array]:
        """H and f of joint speeds; see Objective."""
        log3 = import_pinocchio().log3
        count = len(rates)
        hessian = np.diag(np.full(count, _POSTURE + _DAMPING + self.smoothness))
        angles = arms.angles
        gradient = -_POSTURE * _POSTURE_HZ * (self.rest - angles) - self.smoothness * rates
        for side, number in arms.hands.items():
            goal = self.goals.get(side)
            if goal is None or not goal.is_finite:
                # An arm without a goal stays where it is, whatever the other pulls at.
                hessian += np.diag(arms.supports[arms.model.frames[number].parentJoint])
                continue
            position, rotation = arms.hand(side)
            rows = arms.hand_jacobian(side, position)
            move = _limited(goal.velocity + (goal.position - position) / _REACH_S, _MOST_M_S)
            turn = np.asarray(log3(goal.rotation @ rotation.T))
            turn = _limited(goal.turning + turn / _REACH_S, _MOST_RAD_S)
            for weight, part, speed in (
                (1.0, rows[:3], move), (self.turn_weight, rows[3:], turn)
            ):  # fmt: skip
                hessian += weight * part.T @ part
                gradient -= weight * part.T @ speed
        return hessian, gradient


@dataclass(frozen=True, eq=False)
class JointObjective:
    """Joints (n,) towards where a leader arm, a policy or a recording has them."""

    positions: Array
    rates: Array

    def cost(self, arms: ArmModel, rates: Array) -> tuple[Array, Array]:
        """H and f of joint speeds; see Objective."""
        wanted = self.rates + (self.positions - arms.angles) / _REACH_S
        return np.eye(len(rates)), -wanted


def _limited(vector: Array, most: float) -> Array:
    length = float(np.sqrt(vector @ vector))
    return vector * (most / length) if length > most else vector
