"""Where a marker or board that keeps still is, from some pictures of it, and how sure that is.

All pictures count as one: the middle place of every corner, and one pose from those. What the
corners scatter from picture to picture says how sure it is; of one or two pictures it is what the
pose leaves over, which is more. Errors of lens and marker are in the
pose as well, and the same in the next one: they cancel where poses are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corporeal.calibration.board import Board
from corporeal.calibration.camera import cross_matrices
from corporeal.calibration.detection import BoardView
from corporeal.calibration.lens import Lens, project_with_slopes, rays
from corporeal.calibration.opencv import import_opencv
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_vector, rotation_angle

# Of fewer pictures nobody can tell how far corners scatter.
_SCATTERING = 3
# What another light does to a corner: it does not average out.
_LIGHT_PX = 0.02
# A picture is quantised: a simulated scatter of nothing is no perfect sensor.
_LEAST_SCATTER_PX = 0.01
_MOVING_PX = 1.0
# Of a median the spread is larger than that of a mean by this, and of a deviation smaller.
_MEDIAN, _DEVIATION = 1.2533, 1.4826
# Two poses explain a flat marker when the worse one leaves no more than this beside the better.
_AMBIGUOUS, _APART_RAD = 1.3, np.radians(3.0)


@dataclass(frozen=True)
class MarkerSight:
    """A marker as some pictures show it.

    `pose` (4, 4) is of the middle of the marker in the camera; `sigma` (6,) one sigma about and
    along x, y and z of the camera, rad and m. `other` is a pose that explains the pictures as
    well, None where there is none.
    """

    pose: Array
    sigma: Array
    frames: int
    corners: int
    scatter_px: float
    other: Array | None = None


def see_marker(
    views: Sequence[BoardView], lens: Lens, board: Board, *, near: Array | None = None
) -> MarkerSight:
    """The pose of a marker from views of it; of two that fit, the one `near` a known pose (4, 4).

    Raises CorporealError where it moves from one picture to the next.
    """
    pixels, corners, scatter = _settled(views)
    if scatter is not None and scatter > _MOVING_PX:
        raise CorporealError(
            f"{board.name} moves by {scatter:.1f} px from picture to picture; expected it still. "
            "Let robot, camera and marker come to rest."
        )
    points = board.points[corners] - middle_of(board)
    fits = sorted(
        (_refined(pose, points, pixels, lens) for pose in _starts(points, pixels, lens)),
        key=lambda fit: fit[1],
    )
    if not fits:
        raise CorporealError(
            f"{board.name}: its corners make no pose. Check the board's document and the lens."
        )
    (pose, left), *others = fits
    other = next(
        (each for each, more in others
         if more <= _AMBIGUOUS * left and rotation_angle(each[:3, :3], pose[:3, :3]) > _APART_RAD),
        None,
    )  # fmt: skip
    if other is not None and near is not None:
        turns = [float(rotation_angle(each[:3, :3], near[:3, :3])) for each in (pose, other)]
        pose, other = (pose if turns[0] <= turns[1] else other), None
    scatter = left / np.sqrt(2) if scatter is None else scatter
    spread = np.hypot(_MEDIAN * max(scatter, _LEAST_SCATTER_PX) / np.sqrt(len(views)), _LIGHT_PX)
    slopes = _slopes(pose, points, lens)[1].reshape(-1, 6)
    covariance = spread**2 * np.linalg.pinv(slopes.T @ slopes, hermitian=True)
    sigma = np.sqrt(np.diag(covariance))
    return MarkerSight(pose, sigma, len(views), len(corners), float(scatter), other)


def middle_of(board: Board) -> Array:
    """The middle of a board's corners: turning about it moves it least."""
    return np.asarray((board.points.min(axis=0) + board.points.max(axis=0)) / 2)


def _settled(views: Sequence[BoardView]) -> tuple[Array, Array, float | None]:
    """Middle places (N, 2) of corners that most views have, their numbers, and the scatter."""
    numbers, counts = np.unique(np.concatenate([view.corners for view in views]),
                                return_counts=True)  # fmt: skip
    kept = numbers[counts > len(views) / 2]
    if len(kept) < 4:
        raise CorporealError(
            "the pictures show different corners of the marker; expected the same. Keep it still."
        )
    places = np.full((len(views), len(kept), 2), np.nan)
    for row, view in zip(places, views, strict=True):
        _, ours, theirs = np.intersect1d(kept, view.corners, return_indices=True)
        row[ours] = view.pixels[theirs]
    middle = np.nanmedian(places, axis=0)
    if len(views) < _SCATTERING:
        return middle, kept, None
    freedom = np.sqrt(len(views) / (len(views) - 1))
    scatter = _DEVIATION * float(np.nanmedian(np.abs(places - middle))) * freedom
    return middle, kept, scatter


def _starts(points: Array, pixels: Array, lens: Lens) -> list[Array]:
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


def _slopes(pose: Array, points: Array, lens: Lens) -> tuple[Array, Array]:
    """Pixels (N, 2), and slopes (N, 2, 6) by a turn about the marker's middle and a shift."""
    placed = points @ pose[:3, :3].T
    pixels, _, by_point = project_with_slopes(lens, placed + pose[:3, 3])
    return pixels, np.concatenate([by_point @ -cross_matrices(placed), by_point], axis=2)


def _refined(pose: Array, points: Array, pixels: Array, lens: Lens) -> tuple[Array, float]:
    """The pose after some steps of Gauss and Newton, and the rms that it leaves."""
    for _ in range(12):
        seen, slopes = _slopes(pose, points, lens)
        step = np.linalg.lstsq(slopes.reshape(-1, 6), (pixels - seen).ravel(), rcond=1e-12)[0]
        pose = pose.copy()
        pose[:3, :3] = matrix_from_vector(np.asarray(step[None, :3], np.float64))[0] @ pose[:3, :3]
        pose[:3, 3] += step[3:]
        if np.abs(step).max() < 1e-10:
            break
    left = _slopes(pose, points, lens)[0] - pixels
    return pose, float(np.sqrt((left**2).sum(axis=1).mean()))
