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
from corporeal.calibration.detection import BoardView
from corporeal.calibration.flat_pose import flat_poses, pose_slopes, refined_pose
from corporeal.calibration.lens import Lens
from corporeal.errors import CorporealError
from corporeal.geometry import Array, rotation_angle

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
        (refined_pose(pose, points, pixels, lens) for pose in flat_poses(points, pixels, lens)),
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
    slopes = pose_slopes(pose, points, lens)[1].reshape(-1, 6)
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
