"""Keeps links of a robot from touching each other while it follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.embodiment.collision import CollisionModel
from corporeal.geometry import Array
from corporeal.retargeting.goal.robot_map import RobotMap
from corporeal.retargeting.live.frame_tasks import FrameTasks, cross_matrix

# Links nearer than this are pushed apart; many pass each other by a centimetre by design.
MARGIN_M = 0.008
# How far a pair can come nearer within one frame.
_LOOK_M = 0.03
_WEIGHT = 8.0
_MOST_PAIRS = 12


@dataclass(frozen=True, eq=False)
class Guarded:
    """Pairs of links as they were at a pose: how joints part them (n, J), how far they are (n,)."""

    q: Array
    rows: Array
    gaps: Array

    def add(self, q: Array, normal: Array, slope: Array) -> None:
        """Add what pushes apart the pairs that are too near at `q`; the base has no part in it."""
        gaps = self.gaps + self.rows @ (q - self.q)
        close = gaps < MARGIN_M
        if close.any():
            rows = self.rows[close] * _WEIGHT
            normal[6:, 6:] += rows.T @ rows
            slope[6:] += rows.T @ (_WEIGHT * (MARGIN_M - gaps[close]))


class BodyGuard:
    """Looks once per frame which links are near each other."""

    def __init__(self, robot: RobotMap, tasks: FrameTasks) -> None:
        self._tasks = tasks
        self._names = robot.kinematics.names
        self._model = CollisionModel(robot.robot)

    def look(self, q: Array) -> Guarded:
        """The nearest pairs at a pose."""
        near = self._model.near(q[None], _LOOK_M)
        first = np.argsort(near.distance)[:_MOST_PAIRS]
        self._tasks.pose(q, np.zeros(3), np.eye(3))
        rows = np.empty((len(first), len(q)))
        for row, index in zip(rows, first, strict=True):
            a, b = (
                self._way(int(link), point)
                for link, point in zip(near.links[index], near.points[index], strict=True)
            )
            row[:] = near.normal[index] @ (a - b)
        return Guarded(q.copy(), rows, near.distance[first])

    def _way(self, link: int, point: Array) -> Array:
        """How a point (3,) on a link moves with the joints (3, J), in the axes of the base."""
        jacobian, place = self._tasks.link_jacobian(self._names[link])
        return np.asarray(jacobian[:3] - cross_matrix(point - place) @ jacobian[3:])
