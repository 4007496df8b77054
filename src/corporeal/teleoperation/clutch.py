"""The clutch between a person's hand and a robot's: taken up and let go without a jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.teleoperation.hand_objective import HandGoal
from corporeal.teleoperation.pose_filter import MovingPose


@dataclass(frozen=True, eq=False)
class _Latch:
    """Where both hands were when the clutch was taken up, and which way the person looked."""

    person: MovingPose
    position: Array
    rotation: Array
    heading: Array


@dataclass
class Clutch:
    """One hand's clutch; `scale` is the robot's way for a metre of the person's.

    While it is held, the robot's hand goes where the person's went since. Whoever lost the hand,
    or took another device, takes the clutch up anew where it then is.
    """

    scale: float = 1.0
    _latch: _Latch | None = None
    _source: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether the robot's hand follows."""
        return self._latch is not None

    def release(self) -> None:
        """Let go; the robot's hand stays."""
        self._latch = None

    def follow(
        self, person: MovingPose, source: int, robot: tuple[Array, Array], heading: Array
    ) -> HandGoal:
        """Where the robot's hand is to be, in the axes of its base.

        `robot` is where it is now and `heading` (3, 3) turns the operator's room into the axes of
        the base; both count only at the moment when the clutch is taken up.
        """
        latch = self._latch
        if latch is None or source != self._source:
            still = MovingPose(person.position, person.rotation)
            latch = self._latch = _Latch(still, robot[0], robot[1], heading)
            self._source = source
        turn, first = latch.heading, latch.person
        return HandGoal(
            latch.position + self.scale * turn @ (person.position - first.position),
            turn @ person.rotation @ first.rotation.T @ turn.T @ latch.rotation,
            self.scale * turn @ person.velocity,
            turn @ person.turning,
        )


def heading_of(head: Array | None) -> Array:
    """Turns (3, 3) the operator's room so that the way the head (7,) looks is ahead."""
    if head is None or not np.isfinite(head).all():
        return np.eye(3)
    ahead = matrix_from_quaternion(head[3:])[:, 0]
    yaw = np.arctan2(ahead[1], ahead[0])
    cosine, sine = np.cos(yaw), np.sin(yaw)
    return np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])
