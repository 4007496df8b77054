"""A lens: how directions become pixels, with the slopes that solvers need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from corporeal.calibration.opencv import import_opencv
from corporeal.errors import CorporealError
from corporeal.geometry import Array

LensModel = Literal["pinhole", "rational", "fisheye"]
MODELS: tuple[LensModel, ...] = get_args(LensModel)
# k1 k2 p1 p2 k3, k4 k5 k6 behind them, or the four of a fisheye, each in OpenCV's order.
_DISTORTION = {"pinhole": 5, "rational": 8, "fisheye": 4}
_STEPS = 100


@dataclass(frozen=True)
class Lens:
    """Pixels of a picture `width` by `height`; x runs right, y down, z ahead of the camera."""

    model: LensModel
    width: int
    height: int
    values: Array

    def __post_init__(self) -> None:
        expected = 4 + _DISTORTION[self.model]
        if len(self.values) != expected:
            raise CorporealError(
                f"{self.model} lens, got {len(self.values)} numbers; expected fx, fy, cx, cy and "
                f"{expected - 4} of distortion."
            )

    @property
    def matrix(self) -> Array:
        """The 3 x 3 matrix of a pinhole camera."""
        fx, fy, cx, cy = self.values[:4]
        return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])

    @property
    def distortion(self) -> Array:
        """The distortion alone."""
        return self.values[4:]

    def with_values(self, values: Array) -> Lens:
        """The same model with other numbers."""
        return Lens(self.model, self.width, self.height, values)


def parameter_count(model: LensModel) -> int:
    """How many numbers a lens of this model has."""
    return 4 + _DISTORTION[model]


def project(lens: Lens, points: Array) -> Array:
    """Pixels (N, 2) of points (N, 3) in the camera's frame, in metres."""
    return project_with_slopes(lens, points)[0]


def project_with_slopes(lens: Lens, points: Array) -> tuple[Array, Array, Array]:
    """Pixels (N, 2), their slopes by the lens's numbers (N, 2, K) and by the points (N, 2, 3)."""
    if not len(points):
        return np.zeros((0, 2)), np.zeros((0, 2, len(lens.values))), np.zeros((0, 2, 3))
    if lens.model == "fisheye":
        return _project_fisheye(lens, points)
    shaped = np.ascontiguousarray(points, np.float64).reshape(-1, 1, 3)
    still = np.zeros((3, 1))
    pixels, slopes = import_opencv().projectPoints(
        shaped, still, still, lens.matrix, lens.distortion
    )
    # Columns: rotation, translation, focal lengths, centre, distortion.
    size = len(shaped)
    return (
        pixels.reshape(size, 2),
        slopes[:, 6:].reshape(size, 2, -1),
        slopes[:, 3:6].reshape(size, 2, 3),
    )


def _project_fisheye(lens: Lens, points: Array) -> tuple[Array, Array, Array]:
    """The same of a fisheye, also for what lies beside the camera, where x / z has no end."""
    x, y, z = np.asarray(points, np.float64).T
    across = np.hypot(x, y)
    near = across < 1e-9 * np.abs(z)
    safe = np.where(near, 1.0, across)
    angle = np.arctan2(across, z)
    bent = angle * np.polynomial.polynomial.polyval(angle**2, [1.0, *lens.distortion])
    powers = angle[:, None] ** np.array([2, 4, 6, 8])
    slope = 1 + powers @ (lens.distortion * [3, 5, 7, 9])
    stretch = np.where(near, 1 / np.where(near, z, 1.0), bent / safe)
    square = across**2 + z**2
    by_across = np.where(near, 0.0, (slope * z / square - stretch) / safe)
    by_z = np.where(near, -1 / np.where(near, z**2, 1.0), -slope / square)
    direction = np.stack([x, y], axis=1)
    by_point = np.zeros((len(x), 2, 3))
    outward = direction / safe[:, None]
    by_point[:, :, :2] = stretch[:, None, None] * np.eye(2) + (
        by_across[:, None, None] * direction[:, :, None] * outward[:, None, :]
    )
    by_point[:, :, 2] = by_z[:, None] * direction
    focal = lens.values[:2]
    flat = stretch[:, None] * direction
    by_lens = np.zeros((len(x), 2, 8))
    by_lens[:, 0, 0], by_lens[:, 1, 1] = flat[:, 0], flat[:, 1]
    by_lens[:, 0, 2] = by_lens[:, 1, 3] = 1
    by_lens[:, :, 4:] = focal[:, None] * outward[:, :, None] * (angle[:, None] * powers)[:, None, :]
    return focal * flat + lens.values[2:4], by_lens, focal[:, None] * by_point


def rays(lens: Lens, pixels: Array) -> Array:
    """Directions (N, 3) of unit length that pixels (N, 2) look along."""
    if lens.model == "fisheye":
        return _fisheye_rays(lens, pixels)
    cv = import_opencv()
    shaped = np.ascontiguousarray(pixels, np.float64).reshape(-1, 1, 2)
    stop = (cv.TERM_CRITERIA_MAX_ITER + cv.TERM_CRITERIA_EPS, _STEPS, 1e-12)
    flat = cv.undistortPointsIter(
        shaped, lens.matrix, lens.distortion, np.eye(3), np.eye(3), stop
    ).reshape(-1, 2)
    ahead = np.concatenate([flat, np.ones((len(flat), 1))], axis=1)
    unit: Array = ahead / np.linalg.norm(ahead, axis=1, keepdims=True)
    return unit


def _fisheye_rays(lens: Lens, pixels: Array) -> Array:
    flat = (np.asarray(pixels, np.float64) - lens.values[2:4]) / lens.values[:2]
    bent = np.linalg.norm(flat, axis=1)
    angle = bent.copy()
    for _ in range(_STEPS):
        powers = angle[:, None] ** np.array([2, 4, 6, 8])
        error = angle * (1 + powers @ lens.distortion) - bent
        step = error / np.maximum(1 + powers @ (lens.distortion * [3, 5, 7, 9]), 0.1)
        angle = np.clip(angle - step, 0, np.pi)
        if np.abs(step).max(initial=0) < 1e-13:
            break
    share = np.where(bent > 0, np.sin(angle) / np.where(bent > 0, bent, 1), 1.0)
    return np.concatenate([share[:, None] * flat, np.cos(angle)[:, None]], axis=1)


def pixel_grid(lens: Lens, columns: int = 12, rows: int = 9) -> Array:
    """Pixels (rows * columns, 2) spread evenly over the picture, its edges included."""
    x, y = np.meshgrid(
        np.linspace(0, lens.width - 1, columns), np.linspace(0, lens.height - 1, rows)
    )
    return np.stack([x.ravel(), y.ravel()], axis=1)
