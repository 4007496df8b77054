"""How sure a camera's pixels are: the spread of a projection over the picture, and two halves.

A point that stands still in the world is carried by the boards: where the lens's numbers move, so
do the poses that were solved with them, and only what is left of both is an error of the
projection. So it always belongs to a distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
# Two halves are too different where they differ by so many times what they claim, and by so many
# times what errors of corners make of it (`bench.calibration.halves`).
_FAR_TIMES, _ODD = 3.0, 4.0
# How many halves are drawn at random, and of how many views at most.
_DRAWN, _MOST_COMPARED = 3, 40


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
    """How far two halves of the same views disagree, beside what they claim of themselves.

    `odds` is the squared difference of both lenses in their own covariance, over how many numbers
    a lens has: about 1 where the halves are as sure as they say. `in_order` where the halves are
    the first and the last views, and differ more than halves that were drawn at random.
    """

    mean_px: float
    largest_px: float
    claimed_px: float
    odds: float
    in_order: bool = False

    @property
    def is_explained(self) -> bool:
        """Whether the disagreement is of the size that both claim, as chance goes."""
        is_far = self.mean_px > _FAR_TIMES * self.claimed_px and self.odds > _ODD
        return not (self.in_order or is_far)


def compare_halves(
    views: Sequence[BoardView], board: Board, width: int, height: int, settings: CameraSettings
) -> HalvesDifference | None:
    """Halves of the views against each other; None where there are too few views.

    Halves that are drawn at random are as different as errors of corners, board and lens make
    them: the median of some of them is told. The first half against the last one differs by more
    where the camera changed in between, or another one took the rest; then that is told.
    """
    if len(views) > _MOST_COMPARED:
        kept = np.linspace(0, len(views) - 1, _MOST_COMPARED).round().astype(int)
        views = [views[number] for number in kept]

    def difference(order: Sequence[int]) -> HalvesDifference | None:
        middle = len(views) // 2
        halves = [[views[number] for number in part] for part in (order[:middle], order[middle:])]
        try:
            first, second = (calibrate_camera(half, board, width, height, settings)
                             for half in halves)  # fmt: skip
        except CorporealError:
            return None
        return _difference(first, second)

    draw = np.random.default_rng(len(views))
    drawn = [difference(draw.permutation(len(views)).tolist()) for _ in range(_DRAWN)]
    usual = sorted((each for each in drawn if each is not None), key=_times)
    in_order = difference(range(len(views)))
    if not usual:
        return in_order
    median = usual[len(usual) // 2]
    odds = max(1.0, float(np.median([each.odds for each in usual])))
    if (in_order is not None and in_order.odds > _ODD * odds
            and in_order.mean_px > in_order.claimed_px):  # fmt: skip
        return replace(in_order, in_order=True)
    return median


def _times(difference: HalvesDifference) -> float:
    return difference.mean_px / difference.claimed_px


def _difference(first: CameraSolution, second: CameraSolution) -> HalvesDifference:
    away = float(np.median(np.concatenate([first.distances_m(), second.distances_m()])))
    pixels = lens_difference(first.lens, second.lens, away)
    claimed = np.hypot(uncertainty_map(first, away).mean_px, uncertainty_map(second, away).mean_px)
    count = len(first.lens.values)
    spread = first.covariance[:count, :count] + second.covariance[:count, :count]
    scale = 1 / np.sqrt(np.diag(spread))
    apart = (first.lens.values - second.lens.values) * scale
    odds = float(apart @ np.linalg.solve(spread * scale * scale[:, None], apart)) / count
    return HalvesDifference(float(pixels.mean()), float(pixels.max()), float(claimed), odds)


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
