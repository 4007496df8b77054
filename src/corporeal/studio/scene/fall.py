"""Whether the robot of an episode lies down, and which way it went: a view goes across that."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel

from corporeal.embodiment import Embodiment
from corporeal.episode import Episode
from corporeal.geometry import matrix_from_quaternion
from corporeal.studio.scene.joint_motion import PoseTrack

MOST_ROWS = 2000
LOW_SHARE = 0.5
TILTED_UP = 0.7
"""The upright part of a body's own axis: less than this is a tilt of more than 45 degrees."""


class RobotFall(BaseModel):
    """When the base is low and tilted first, and the direction in which it went, rad."""

    time_ns: int
    heading_rad: float


def find_fall(
    episode: Episode, robot: Embodiment | None, base: PoseTrack | None
) -> RobotFall | None:
    """The first moment at which the base of a robot is below half its height, and tilted."""
    if robot is None or robot.standing is None or base is None or not robot.floating:
        return None
    reader = episode[base.stream]
    rows = np.unique(np.linspace(0, len(reader) - 1, MOST_ROWS).astype(np.int64))
    values = np.asarray(reader[rows], np.float64)
    turned = values[:, base.quaternion]
    length = np.linalg.norm(turned, axis=1)
    known = np.isfinite(values[:, base.position]).all(axis=1) & (length > 1e-6)
    up = np.zeros((len(rows), 3))
    up[known] = matrix_from_quaternion(turned[known] / length[known, None])[:, :, 2]
    low = values[:, base.position[2]] < LOW_SHARE * robot.standing.height
    down = np.flatnonzero(known & low & (up[:, 2] < TILTED_UP))
    if not len(down):
        return None
    row = int(down[0])
    x, y = up[row, :2]
    return RobotFall(time_ns=int(reader.time_ns[rows[row]]), heading_rad=float(np.arctan2(y, x)))
