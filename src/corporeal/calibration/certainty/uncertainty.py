"""How sure a camera's pixels are: the spread of a projection over the picture, and two halves.

A point that stands still in the world is carried by the boards: where the lens's numbers move, so
do the poses that were solved with them, and only what is left of both is an error of the
projection. So it always belongs to a distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corporeal.calibration.board import Board
from corporeal.calibration.camera import (
    CameraSettings,
    CameraSolution,
    calibrate_camera,
    cross_matrices,
)
from corporeal.calibration.detection import BoardView
from corporeal.calibration.lens import Lens, pixel_grid, project_with_slopes, rays
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_vector

# A camera at "infinity": so far that a shift of the camera is no pixel any more.
FAR_M = 1e4


@dataclass(frozen=True)
class UncertaintyMap:
    """The standard deviation of a projection in pixels, on a grid of rows and columns.

    Each entry is the root of the mean variance over both directions; `worst` along the worst.
    """

    pixels: Array
    spread_px: Array
    worst_px: Array
    distance_m: float
    rows: int
    columns: int

    @property
    def mean_px(self) -> float:
        """The mean over the picture."""
        return float(self.spread_px.mean())

    @property
    def middle_px(self) -> float:
        """In the middle of the picture."""
        middle = (self.pixels.min(axis=0) + self.pixels.max(axis=0)) / 2
        return float(self.spread_px[np.linalg.norm(self.pixels - middle, axis=1).argmin()])

    @property
    def largest_px(self) -> float:
        """Where the camera is least sure."""
        return float(self.spread_px.max())


def projection_covariance(solution: CameraSolution, points: Array) -> Array:
    """The covariance (N, 2, 2) of the pixels of points (N, 3) in the camera's frame."""
    _, by_lens, by_point = project_with_slopes(solution.lens, points)
    count, first = len(solution.views), solution.globals_count
    slopes = np.zeros((len(points), 2, len(solution.covariance)))
    slopes[:, :, : by_lens.shape[2]] = by_lens
    for number in range(count):
        held = points - solution.poses[number, 3:]
        place = first + 6 * number
        slopes[:, :, place : place + 3] = by_point @ -cross_matrices(held) / count
        slopes[:, :, place + 3 : place + 6] = by_point / count
    return np.asarray(np.einsum("nik,kl,njl->nij", slopes, solution.covariance, slopes))


def uncertainty_map(
    solution: CameraSolution, distance_m: float | None = None, *, columns: int = 12, rows: int = 9
) -> UncertaintyMap:
    """The spread over the picture at a distance, by default that of the boards."""
    away = float(np.median(solution.distances_m())) if distance_m is None else distance_m
    pixels = pixel_grid(solution.lens, columns, rows)
    covariance = projection_covariance(solution, rays(solution.lens, pixels) * away)
    spread = np.sqrt(np.einsum("nii->n", covariance) / 2)
    worst = np.sqrt(np.linalg.eigvalsh(covariance)[:, -1])
    return UncertaintyMap(pixels, spread, worst, away, rows, columns)


@dataclass(frozen=True)
class HalvesDifference:
    """How far two halves of the same views disagree, beside what they claim of themselves."""

    mean_px: float
    largest_px: float
    claimed_px: float

    @property
    def is_explained(self) -> bool:
        """Whether the disagreement is no more than three times what both claim."""
        return self.mean_px <= 3 * self.claimed_px


def compare_halves(
    views: Sequence[BoardView], board: Board, width: int, height: int, settings: CameraSettings
) -> HalvesDifference | None:
    """Every second view against the others; None where there are too few views."""
    halves = [list(views[0::2]), list(views[1::2])]
    try:
        first, second = (calibrate_camera(half, board, width, height, settings) for half in halves)
    except CorporealError:
        return None
    away = float(np.median(np.concatenate([first.distances_m(), second.distances_m()])))
    difference = lens_difference(first.lens, second.lens, away)
    claimed = np.hypot(uncertainty_map(first, away).mean_px, uncertainty_map(second, away).mean_px)
    return HalvesDifference(float(difference.mean()), float(difference.max()), float(claimed))


def lens_difference(first: Lens, second: Lens, distance_m: float, *, steps: int = 12) -> Array:
    """How far pixels (N,) of two lenses differ, once the camera is turned and moved to fit."""
    pixels = pixel_grid(first)
    points = rays(first, pixels) * distance_m
    turn, shift = np.eye(3), np.zeros(3)
    for _ in range(steps):
        placed = points @ turn.T
        seen, _, by_point = project_with_slopes(second, placed + shift)
        slopes = by_point @ np.concatenate(
            [-cross_matrices(placed), np.tile(np.eye(3), (len(placed), 1, 1))], axis=2
        )
        error = (seen - pixels).ravel()
        scale = np.array([1, 1, 1, *(3 * [1 / distance_m])])
        step = np.linalg.lstsq(slopes.reshape(-1, 6) / scale, error, rcond=1e-9)[0] / scale
        turn = matrix_from_vector(-step[None, :3])[0] @ turn
        shift = shift - step[3:]
    seen = project_with_slopes(second, points @ turn.T + shift)[0]
    distances: Array = np.linalg.norm(seen - pixels, axis=1)
    return distances
