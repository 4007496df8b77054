"""How a foot lies in its joint's axes, learnt from the frames in which it stands on the ground."""

from __future__ import annotations

import numpy as np

from corporeal.geometry import (
    Array,
    matrix_from_rpy,
    normalise,
    rotation_angle,
    rpy_from_matrix,
)

_ABOVE_M = 0.02
_MIN_FRAMES = 10
_SPREAD_RAD = np.radians(8.0)
_MOST_ROLL_RAD = np.radians(20.0)
_MOST_PITCH_RAD = np.radians(15.0)


def standing_axes(turns: Array, ankle: Array, toe: Array) -> Array | None:
    """Axes (3, 3) of a foot as columns in the axes of its joint, None if it hardly ever stands.

    `turns` (T, 3, 3) are of the joint, the points (T, 3) in metres and z up. Where heel and toes
    are lowest the sole is taken as flat.
    """
    known = np.all(np.isfinite(turns), axis=(1, 2)) & np.all(np.isfinite(ankle + toe), axis=1)
    if not known.any():
        return None
    low = known.copy()
    for heights in (ankle[:, 2], toe[:, 2]):
        low &= heights <= np.percentile(heights[known], 10) + _ABOVE_M
    if np.count_nonzero(low) < _MIN_FRAMES:
        return None
    up = np.array([0.0, 0.0, 1.0])
    x = normalise((toe - ankle)[low] * [1.0, 1.0, 0.0])
    flat = np.stack([x, np.cross(up, x), np.broadcast_to(up, x.shape)], axis=-1)
    local = np.swapaxes(turns[low], 1, 2) @ flat
    mean = _mean(local)
    apart = rotation_angle(local, mean)
    if float(np.median(apart)) > _SPREAD_RAD:
        return None
    # A toe-off among the low frames would tilt the mean: once more without what is far from it.
    return _mean(local[apart <= max(float(np.median(apart)), 1e-6) * 2])


def levelling(learnt: Array) -> Array:
    """The turn (3, 3) about its own length that levels a standing foot, none where that is far.

    `learnt` are the foot's axes from standing, in those that were taken for it before. Markers that
    sat askew leave a foot rolled by up to 15 degrees in every frame; the pitch of a foot that is
    low is less sure, since a dancer may never put the heel down.
    """
    roll, pitch, _ = rpy_from_matrix(learnt)
    believable = abs(roll) < _MOST_ROLL_RAD and abs(pitch) < _MOST_PITCH_RAD
    return matrix_from_rpy([roll if believable else 0.0, 0.0, 0.0])


def _mean(rotations: Array) -> Array:
    """The rotation nearest to many (n, 3, 3)."""
    left, _, right = np.linalg.svd(rotations.mean(axis=0))
    sign = np.sign(np.linalg.det(left @ right))
    return np.asarray(left * [1.0, 1.0, sign] @ right)
