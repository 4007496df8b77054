"""The camera of a preview: from the front, far enough away to see both bodies whole."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, degrees, radians, sin, tan

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.preview.stage import Stage

FIELD_OF_VIEW_DEG = 28.0
# Seen from the front, from a little to the side and above.
TURN_DEG, DOWN_DEG = 28.0, 9.0
# The part of the picture's height, and width, that the bodies may fill: captions need room.
CLEAR_HEIGHT, CLEAR_WIDTH = 0.84, 0.94
LEAST_DISTANCE_M = 1.0


@dataclass(frozen=True, eq=False)
class PreviewCamera:
    """`right` (3,) is the picture's, `away` (3,) level from the camera to what it looks at."""

    right: Array
    away: Array
    distance_m: float

    @property
    def azimuth_deg(self) -> float:
        """The direction of `away` about z."""
        return degrees(float(np.arctan2(self.away[1], self.away[0])))


def camera_for(
    stage: Stage, size: tuple[int, int], *, clear: float = CLEAR_HEIGHT
) -> PreviewCamera:
    """The camera that has both bodies in a picture of this size at every moment."""
    turn, down = radians(TURN_DEG), radians(DOWN_DEG)
    x, y = -stage.forward[0], -stage.forward[1]
    level = np.array([x * cos(turn) - y * sin(turn), x * sin(turn) + y * cos(turn), 0.0])
    right = np.cross(level, (0.0, 0.0, 1.0))
    away = cos(down) * level - np.array([0.0, 0.0, sin(down)])
    up = np.cross(right, away)
    half = tan(radians(FIELD_OF_VIEW_DEG) / 2)
    wide, high = half * size[1] / size[0] * CLEAR_WIDTH, half * clear
    needed, first = LEAST_DISTANCE_M, 0
    for points, radii in stage.outlines():
        seen = points - stage.centres[first : first + len(points), None]
        across, above = np.abs(seen @ right) + radii, np.abs(seen @ up) + radii
        wanted = np.maximum(across / wide, above / high) - seen @ away
        needed, first = max(needed, float(np.nanmax(wanted))), first + len(points)
    return PreviewCamera(right, level, needed)
