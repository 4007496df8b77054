"""What a calibrated camera sees of points, and along which rays its pixels look."""

from __future__ import annotations

import numpy as np

from corporeal.calibration.lens import pixel_grid, project, rays
from corporeal.calibration.verification.marker_check import camera_pose, lens_of
from corporeal.geometry import Array
from corporeal.protocol.calibration import CameraCalibration

# Nothing nearer to a camera is seen, m.
_NEAREST_M = 0.02
# Beyond the picture a model of a lens soon bends back; so far beside it nothing is drawn.
_BESIDE = 1.25


def pixels_of(camera: CameraCalibration, points: Array) -> Array:
    """Pixels (N, 2) of points (N, 3) in the camera's frame; NaN where it does not see them."""
    pose, lens = camera_pose(camera), lens_of(camera)
    seen = (np.asarray(points, np.float64) - pose[:3, 3]) @ pose[:3, :3]
    angle = np.arctan2(np.hypot(seen[:, 0], seen[:, 1]), seen[:, 2])
    widest = float(np.arccos(np.clip(rays(lens, pixel_grid(lens))[:, 2].min(), -1.0, 1.0)))
    with np.errstate(invalid="ignore"):
        kept = (np.linalg.norm(seen, axis=1) > _NEAREST_M) & (angle < _BESIDE * widest)
    pixels = np.full((len(seen), 2), np.nan)
    pixels[kept] = project(lens, seen[kept])
    return pixels


def rays_of(camera: CameraCalibration, pixels: Array) -> tuple[Array, Array]:
    """Where the camera is (3,) and the unit directions (N, 3) of pixels (N, 2), in its frame."""
    pose = camera_pose(camera)
    known = np.isfinite(pixels).all(axis=1)
    directions = np.full((len(pixels), 3), np.nan)
    if known.any():
        directions[known] = rays(lens_of(camera), pixels[known]) @ pose[:3, :3].T
    return pose[:3, 3].copy(), directions
