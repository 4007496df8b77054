"""Project Aria's glasses: where they were at any instant, and how a head looks out of them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from corporeal.geometry import Array, matrix_from_quaternion, slerp

# The device's frame is that of its left camera: x down, z out of a lens that looks 39 degrees to
# the left.
_OUTWARD = np.radians(39.0)
HEAD_FROM_DEVICE: Final = np.array(
    [
        [0.0, 0.0, -1.0],
        [-np.sin(_OUTWARD), np.cos(_OUTWARD), 0.0],
        [np.cos(_OUTWARD), np.sin(_OUTWARD), 0.0],
    ]
)
"""Columns ahead, left and up of the head, between both lenses."""


def device_poses(
    stamps: NDArray[np.int64], poses: Array, times: NDArray[np.int64], near: int
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Places (T, 3) and rotations (T, 3, 3) at `times` from poses (n, 7) at `stamps`, in between
    by the shortest way, and whether (T,) a stamp is at most `near` away.
    """
    after = np.clip(np.searchsorted(stamps, times), min(1, len(stamps) - 1), len(stamps) - 1)
    before = np.maximum(after - 1, 0)
    span = np.maximum(stamps[after] - stamps[before], 1)
    part = np.clip((times - stamps[before]) / span, 0.0, 1.0)
    place = poses[before, :3] + part[:, None] * (poses[after, :3] - poses[before, :3])
    turn = matrix_from_quaternion(slerp(poses[before, 3:], poses[after, 3:], part))
    off = np.minimum(np.abs(times - stamps[before]), np.abs(stamps[after] - times))
    return place, turn, off <= near
