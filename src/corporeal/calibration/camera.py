"""One camera from views of a board: a joint solve of lens, board poses and warp, with covariance.

The residual is seen minus predicted pixels; one weight for all corners. The covariance of what
was solved is s^2 (J^T J)^-1 with s from the residuals and their degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.board import Board
from corporeal.calibration.detection import BoardView
from corporeal.calibration.lens import (
    MODELS,
    Lens,
    LensModel,
    parameter_count,
    project_with_slopes,
    rays,
)
from corporeal.calibration.opencv import import_opencv
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.geometry import Array, matrix_from_vector, rotation_vectors

FEWEST_VIEWS = 4
# The board bends by these heights at the middle of its sides: x, then y.
WARP = 2
_STEPS = 60
_OUTLIER_SIGMAS = 4.0
_MOST_OUTLIERS = 0.2


@dataclass(frozen=True)
class CameraSettings:
    """How a camera is solved."""

    model: LensModel = "pinhole"
    with_warp: bool = True
    drop_outliers: bool = True


def camera_settings(lens: str) -> CameraSettings:
    """Those for a lens by its name; raises UnknownNameError."""
    model = next((model for model in MODELS if model == lens), None)
    if model is None:
        raise UnknownNameError("lens", lens, MODELS)
    return CameraSettings(model)


@dataclass(frozen=True)
class CameraSolution:
    """A camera, where its boards were, and how sure that is.

    `poses` are rotation vector and translation (V, 6) of the board in the camera's frame;
    `covariance` is of the lens's numbers, the warp and then the poses, view by view;
    `residuals` (V entries of (N, 2) pixels) are of the kept corners, `outliers` (V, names of
    corners) of those left out.
    """

    lens: Lens
    board: Board
    views: tuple[BoardView, ...]
    poses: Array
    warp_m: Array
    covariance: Array
    residuals: tuple[Array, ...]
    outliers: tuple[NDArray[np.int64], ...]
    sigma_px: float

    @property
    def rms_px(self) -> float:
        """Root mean square distance between seen and predicted corners, as OpenCV reports it."""
        squares = np.concatenate([(r**2).sum(axis=1) for r in self.residuals])
        return float(np.sqrt(squares.mean()))

    @property
    def globals_count(self) -> int:
        """How many numbers of the covariance come before the poses."""
        return len(self.covariance) - 6 * len(self.views)

    def view_rms_px(self) -> Array:
        """The same of each view."""
        return np.array([np.sqrt((r**2).sum(axis=1).mean()) for r in self.residuals])

    def distances_m(self) -> Array:
        """How far the middle of the board was in each view."""
        middle = self.board.points.mean(axis=0)
        return np.asarray(np.linalg.norm(transform(self.poses, middle), axis=1))


def transform(poses: Array, points: Array) -> Array:
    """Points of the board (..., 3) in the camera's frame, for each pose (V, ..., 3)."""
    rotations = matrix_from_vector(poses[:, :3])
    turned = np.einsum("vij,...j->v...i", rotations, points)
    places = poses[:, 3:].reshape(len(poses), *([1] * (points.ndim - 1)), 3)
    return np.asarray(turned + places)


def calibrate_camera(
    views: Sequence[BoardView], board: Board, width: int, height: int,
    settings: CameraSettings = CameraSettings(),
) -> CameraSolution:  # fmt: skip
    """Solve a camera of `width` by `height` pixels from views of one board."""
    usable = [view for view in views if len(view) >= 6]
    if len(usable) < FEWEST_VIEWS:
        raise CorporealError(
            f"{len(usable)} of {len(views)} pictures show the board; expected {FEWEST_VIEWS} or "
            "more. Take pictures of the whole board from several sides."
        )
    lens, poses = _first_guess(usable, board, width, height, settings.model)
    problem = _Problem(lens, board, usable, settings.with_warp)
    state = problem.solve(np.concatenate([lens.values, np.zeros(problem.warps)]), poses)
    if settings.drop_outliers:
        for _ in range(5):
            if not problem.drop_outliers(*state):
                break
            state = problem.solve(*state)
    return problem.solution(*state)


def _first_guess(
    views: Sequence[BoardView], board: Board, width: int, height: int, model: LensModel
) -> tuple[Lens, Array]:
    """A lens and poses close enough to start from: OpenCV's, or a search over focal lengths."""
    cv = import_opencv()
    points = [board.points[view.corners].astype(np.float32) for view in views]
    pixels = [view.pixels.astype(np.float32) for view in views]
    if model == "fisheye":
        return _fisheye_guess(views, board, width, height)
    # Without distortion first: a wide model goes astray from OpenCV's own start.
    plain = cv.CALIB_ZERO_TANGENT_DIST | cv.CALIB_FIX_K2 | cv.CALIB_FIX_K3
    try:
        _, matrix, bend, turns, places = cv.calibrateCamera(
            points, pixels, (width, height), None, None, flags=plain
        )
    except cv.error as error:
        raise CorporealError(
            f"the corners make no camera: {str(error.err).rstrip('.')}. Take pictures of the board "
            "tilted, from several sides."
        ) from None
    values = np.zeros(parameter_count(model))
    values[:4] = matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2]
    values[4] = bend.ravel()[0]
    poses = np.concatenate([np.array(turns).reshape(-1, 3), np.array(places).reshape(-1, 3)], 1)
    return Lens(model, width, height, values), poses


def _fisheye_guess(
    views: Sequence[BoardView], board: Board, width: int, height: int
) -> tuple[Lens, Array]:
    best: tuple[float, Lens, Array] | None = None
    for share in (0.25, 0.32, 0.4, 0.5, 0.65, 0.85):
        values = np.zeros(8)
        values[:4] = share * width, share * width, width / 2, height / 2
        lens = Lens("fisheye", width, height, values)
        poses = [board_pose(lens, view, board) for view in views]
        if any(pose is None for pose in poses):
            continue
        stacked = np.array(poses)
        problem = _Problem(lens, board, views, with_warp=False)
        start, end = problem.solve(lens.values, stacked, steps=15)
        cost = problem.cost(start, end)
        if best is None or cost < best[0]:
            best = (cost, lens.with_values(start), end)
    if best is None:
        raise CorporealError(
            "no focal length explains the corners as a fisheye. Try --lens pinhole or rational."
        )
    return best[1], best[2]


def board_pose(lens: Lens, view: BoardView, board: Board) -> Array | None:
    """Rotation vector and translation (6,) of the board in the camera's frame; None if none fits.

    Of the two poses that a flat target may have, the one that explains the corners better.
    """
    cv = import_opencv()
    directions = rays(lens, view.pixels)
    if not np.isfinite(directions).all() or (directions[:, 2] < 1e-3).any():
        return None
    flat = np.ascontiguousarray(directions[:, :2] / directions[:, 2:])
    points = np.ascontiguousarray(board.points[view.corners])
    try:
        count, turns, places, _ = cv.solvePnPGeneric(
            points, flat, np.eye(3), None, flags=cv.SOLVEPNP_IPPE
        )
    except cv.error:
        return None
    if not count:
        return None
    turn, place = cv.solvePnPRefineLM(points, flat, np.eye(3), None, turns[0], places[0])
    return np.concatenate([turn.ravel(), place.ravel()])


def bend_shape(board: Board) -> Array:
    """How high each corner (N, 2) lies for a bend of one metre in the middle, along x and y."""
    flat = board.points[:, :2]
    scaled = 2 * (flat - flat.min(axis=0)) / np.maximum(np.ptp(flat, axis=0), 1e-9) - 1
    return np.asarray(1 - scaled**2)


class _Problem:
    """The normal equations, view by view: lens and warp first, then six numbers a pose."""

    def __init__(
        self, lens: Lens, board: Board, views: Sequence[BoardView], with_warp: bool
    ) -> None:
        self.lens, self.board, self.views = lens, board, tuple(views)
        self.warps = WARP if with_warp else 0
        self.size = len(lens.values) + self.warps
        self._bend = bend_shape(board)
        self._kept = [np.ones(len(view), bool) for view in self.views]

    def residuals(self, common: Array, pose: Array, number: int) -> tuple[Array, Array, Array]:
        """Predicted minus seen (N, 2) of one view, its slopes by `common` and by the pose."""
        view, kept = self.views[number], self._kept[number]
        corners = view.corners[kept]
        points = self.board.points[corners].copy()
        lens = self.lens.with_values(common[: self.size - self.warps])
        if self.warps:
            points[:, 2] += self._bend[corners] @ common[-WARP:]
        rotation = matrix_from_vector(pose[:3])
        placed = points @ rotation.T
        pixels, by_lens, by_point = project_with_slopes(lens, placed + pose[3:])
        # A small turn w on the left moves a point by w x p: [p]x with the sign turned round.
        by_turn = np.einsum("nik,nkj->nij", by_point, -cross_matrices(placed))
        by_pose = np.concatenate([by_turn, by_point], axis=2)
        slopes = by_lens
        if self.warps:
            by_height = by_point @ rotation[:, 2]
            slopes = np.concatenate(
                [by_lens, by_height[:, :, None] * self._bend[corners][:, None, :]], axis=2
            )
        return pixels - view.pixels[kept], slopes, by_pose

    def cost(self, common: Array, poses: Array) -> float:
        total = 0.0
        for number in range(len(self.views)):
            residual, _, _ = self.residuals(common, poses[number], number)
            total += float((residual**2).sum())
        return total if np.isfinite(total) else np.inf

    def normal(self, common: Array, poses: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Blocks of J^T J and J^T r: common, between, poses (V, 6, 6), and both right sides."""
        count, size = len(self.views), self.size
        first = np.zeros((size, size))
        between = np.zeros((count, size, 6))
        last = np.zeros((count, 6, 6))
        right, right_pose = np.zeros(size), np.zeros((count, 6))
        for number in range(count):
            residual, slopes, by_pose = self.residuals(common, poses[number], number)
            a, b, r = slopes.reshape(-1, size), by_pose.reshape(-1, 6), residual.ravel()
            first += a.T @ a
            between[number], last[number] = a.T @ b, b.T @ b
            right += a.T @ r
            right_pose[number] = b.T @ r
        return first, between, last, right, right_pose

    def solve(self, common: Array, poses: Array, *, steps: int = _STEPS) -> tuple[Array, Array]:
        """Levenberg and Marquardt, with the poses eliminated."""
        damping, cost = 1e-4, self.cost(common, poses)
        for _ in range(steps):
            first, between, last, right, right_pose = self.normal(common, poses)
            improved = False
            while damping < 1e8:
                step, turns = _damped_step(first, between, last, right, right_pose, damping)
                tried, moved = common - step, _moved(poses, turns)
                new_cost = self.cost(tried, moved)
                if new_cost < cost:
                    improved = True
                    break
                damping *= 10
            if not improved:
                break
            gained, damping = cost - new_cost, max(damping / 10, 1e-12)
            common, poses, cost = tried, moved, new_cost
            if gained < 1e-12 * cost:
                break
        return common, poses

    def drop_outliers(self, common: Array, poses: Array) -> int:
        """Leave out corners that are too far off; says how many are new."""
        all_residuals = []
        for number in range(len(self.views)):
            residual, _, _ = self.residuals(common, poses[number], number)
            all_residuals.append(np.linalg.norm(residual, axis=1))
        joined = np.concatenate(all_residuals)
        # Of a two-dimensional normal error the median distance is 1.177 sigma.
        limit = _OUTLIER_SIGMAS * np.median(joined) / 1.177
        new = 0
        for number, distances in enumerate(all_residuals):
            bad = distances > limit
            kept = self._kept[number]
            allowed = int(_MOST_OUTLIERS * len(kept)) - int((~kept).sum())
            if not bad.any() or allowed <= 0:
                continue
            worst = np.argsort(-distances)[: min(int(bad.sum()), allowed)]
            kept[np.flatnonzero(kept)[worst]] = False
            new += len(worst)
        return new

    def solution(self, common: Array, poses: Array) -> CameraSolution:
        """What was solved, with its covariance."""
        first, between, last, _, _ = self.normal(common, poses)
        whole = _assembled(first, between, last)
        residuals = tuple(
            self.residuals(common, poses[number], number)[0] for number in range(len(self.views))
        )
        numbers = sum(residual.size for residual in residuals)
        freedom = numbers - len(whole)
        if freedom < 10:
            raise CorporealError(
                f"{numbers} coordinates for {len(whole)} unknowns; expected more. Take more "
                "pictures, or a lens with fewer numbers."
            )
        sigma = float(np.sqrt(sum((r**2).sum() for r in residuals) / freedom))
        covariance = sigma**2 * _inverse(whole)
        lens = self.lens.with_values(common[: self.size - self.warps])
        outliers = tuple(
            view.corners[~kept] for view, kept in zip(self.views, self._kept, strict=True)
        )
        warp = common[-WARP:] if self.warps else np.zeros(WARP)
        kept_views = tuple(
            replace(view, corners=view.corners[kept], pixels=view.pixels[kept])
            for view, kept in zip(self.views, self._kept, strict=True)
        )
        return CameraSolution(lens, self.board, kept_views, poses, warp, covariance, residuals,
                              outliers, sigma)  # fmt: skip


def cross_matrices(points: Array) -> Array:
    """[p]x (N, 3, 3): what turns a product with p into a matrix."""
    matrices = np.zeros((len(points), 3, 3))
    matrices[:, [2, 0, 1], [1, 2, 0]] = points
    matrices[:, [1, 2, 0], [2, 0, 1]] = -points
    return matrices


def _moved(poses: Array, turns: Array) -> Array:
    """Poses after a small turn on the left and a shift, each (V, 6), with the sign of a step."""
    rotations = matrix_from_vector(-turns[:, :3]) @ matrix_from_vector(poses[:, :3])
    return np.concatenate([rotation_vectors(rotations), poses[:, 3:] - turns[:, 3:]], axis=1)


def _damped_step(
    first: Array, between: Array, last: Array, right: Array, right_pose: Array, damping: float
) -> tuple[Array, Array]:
    grown = first + damping * np.diag(np.diag(first))
    solid = last + damping * np.einsum("vii->vi", last)[:, :, None] * np.eye(6)
    inverse = np.linalg.inv(solid)
    reach = between @ inverse
    reduced = grown - np.einsum("vik,vjk->ij", reach, between)
    step = _solve(reduced, right - np.einsum("vik,vk->i", reach, right_pose))
    turns = np.einsum("vij,vj->vi", inverse, right_pose - np.einsum("vik,i->vk", between, step))
    return step, turns


def _solve(matrix: Array, right: Array) -> Array:
    """Solved with the unknowns scaled alike: pixels stand beside numbers of distortion."""
    scale = 1 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled = matrix * scale * scale[:, None]
    answer: Any = np.linalg.lstsq(scaled, right * scale, rcond=1e-14)[0]
    return np.asarray(answer * scale)


def _inverse(matrix: Array) -> Array:
    scale = 1 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    inverse = np.linalg.pinv(matrix * scale * scale[:, None], hermitian=True, rcond=1e-14)
    return np.asarray(inverse * scale * scale[:, None])


def _assembled(first: Array, between: Array, last: Array) -> Array:
    count, size = between.shape[:2]
    whole = np.zeros((size + 6 * count, size + 6 * count))
    whole[:size, :size] = first
    for number in range(count):
        place = slice(size + 6 * number, size + 6 * number + 6)
        whole[:size, place] = between[number]
        whole[place, :size] = between[number].T
        whole[place, place] = last[number]
    return whole
