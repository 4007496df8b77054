"""Which foot stands, decided while it happens, and where a standing foot is kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.geometry import Array

# A foot that is slower and lower than the first stands; above the second it has left.
_SLOW_M_S = (0.25, 0.45)
_LOW_M = (0.035, 0.06)
# How quickly a foot that lands comes down to its place, and one that has left to the person's.
_LANDING_S, _RELEASE_S = 0.035, 0.12
_TURN_S = 0.03


@dataclass(frozen=True, eq=False)
class FootGoal:
    """Where a sole should be: its position (3,), its rotation (3, 3), and whether it stands."""

    position: Array
    turn: Array
    stands: bool


class Stance:
    """One foot: while it stands its sole stays flat on the ground in one place."""

    def __init__(self) -> None:
        self._kept: FootGoal | None = None
        self._offset = np.zeros(3)
        self._above = np.zeros(3)
        self._turn: Array | None = None

    def follow(
        self, wanted: Array, turn: Array, *, speed_m_s: float, height_m: float, dt_s: float
    ) -> FootGoal:
        """The sole's goal, from where the person has it, and how quick and high that foot is."""
        state = 0 if self._kept is None else 1
        if speed_m_s < _SLOW_M_S[state] and height_m < _LOW_M[state]:
            if self._kept is None:
                place = wanted + self._offset
                self._kept = FootGoal(np.array([place[0], place[1], 0.0]), level(turn), True)
                self._above = np.array([0.0, 0.0, max(place[2], 0.0)])
            self._above = self._above * np.exp(-dt_s / _LANDING_S)
            down = FootGoal(self._kept.position + self._above, self._kept.turn, True)
            return self._eased(down, dt_s)
        if self._kept is not None:
            self._offset = self._kept.position + self._above - wanted
            self._kept = None
        self._offset = self._offset * np.exp(-dt_s / _RELEASE_S)
        place = wanted + self._offset
        raised = np.array([place[0], place[1], max(place[2], 0.0)])
        return self._eased(FootGoal(raised, turn, False), dt_s)

    def _eased(self, goal: FootGoal, dt_s: float) -> FootGoal:
        """The goal with a rotation that changes smoothly when the foot begins or ends to stand."""
        last = goal.turn if self._turn is None else self._turn
        mixed = last + (1 - np.exp(-dt_s / _TURN_S)) * (goal.turn - last)
        ahead = mixed[:, 0] / np.linalg.norm(mixed[:, 0])
        up = np.cross(ahead, mixed[:, 1])
        up = up / np.linalg.norm(up)
        self._turn = np.column_stack([ahead, np.cross(up, ahead), up])
        return FootGoal(goal.position, self._turn, goal.stands)


def level(turn: Array) -> Array:
    """The same heading with an upright z axis."""
    heading = np.arctan2(turn[1, 0], turn[0, 0])
    cosine, sine = np.cos(heading), np.sin(heading)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
