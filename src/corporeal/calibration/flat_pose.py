"""The pose of a flat target from its corners: both that it may have, and the one that fits best."""

from __future__ import annotations

import numpy as np

from corporeal.calibration.camera import cross_matrices
from corporeal.calibration.lens import Lens, project_with_slopes, rays
from corporeal.calibration.opencv import import_opencv
from corporeal.geometry import Array, matrix_from_vector


def flat_poses(points: Array, pixels: Array, lens: Lens) -> list[Array]:
    """Both poses that a flat target may have."""
    cv = import_opencv()
    directions = rays(lens, pixels)
    if not np.isfinite(directions).all() or (directions[:, 2] < 1e-3).any():
        return []
    flat = np.ascontiguousarray(directions[:, :2] / directions[:, 2:])
    try:
        _, turns, places, _ = cv.solvePnPGeneric(
            np.ascontiguousarray(points), flat, np.eye(3), None, flags=cv.SOLVEPNP_IPPE
        )
    except cv.error:
        return []
    poses = []
    for turn, place in zip(turns, places, strict=True):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = matrix_from_vector(turn.reshape(1, 3))[0], place.ravel()
        poses.append(pose)
    return poses


def pose_slopes(pose: Array, points: Array, lens: Lens) -> tuple[Array, Array]:
    """Pixels (N, 2), and slopes (N, 2, 6) by a turn about the target's origin and a shift."""
    placed = points @ pose[:3, :3].T
    pixels, _, by_point = project_with_slopes(lens, placed + pose[:3, 3])
    return pixels, np.concatenate([by_point @ -cross_matrices(placed), by_point], axis=2)


def refined_pose(pose: Array, points: Array, pixels: Array, lens: Lens) -> tuple[Array, float]:
    """The pose after some steps of Gauss and Newton, and the rms that it leaves."""
    for _ in range(12):
        seen, slopes = pose_slopes(pose, points, lens)
        step = np.linalg.lstsq(slopes.reshape(-1, 6), (pixels - seen).ravel(), rcond=1e-12)[0]
        pose = pose.copy()
        pose[:3, :3] = matrix_from_vector(np.asarray(step[None, :3], np.float64))[0] @ pose[:3, :3]
        pose[:3, 3] += step[3:]
        if np.abs(step).max() < 1e-10:
            break
    left = pose_slopes(pose, points, lens)[0] - pixels
    return pose, float(np.sqrt((left**2).sum(axis=1).mean()))
