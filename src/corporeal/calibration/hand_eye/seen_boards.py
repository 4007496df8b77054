"""Boards' poses from their corners, each with its covariance and the second pose it may have.

With the lens fixed, a robust solve of pairs weighted by these covariances is, to first order, the
solve of all pixels together in which every board's own pose has been eliminated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corporeal.calibration.board import Board
from corporeal.calibration.camera import cross_matrices
from corporeal.calibration.detection import BoardView
from corporeal.calibration.flat_pose import flat_poses, pose_slopes, refined_pose
from corporeal.calibration.hand_eye.pairs import PosePairs
from corporeal.calibration.lens import Lens
from corporeal.errors import CorporealError
from corporeal.geometry import Array, rotation_angle

# What the corners of one picture scatter by at least, whatever the fit says.
_LEAST_PX = 0.05
# A second pose counts when it explains the corners nearly as well.
_AMBIGUOUS, _APART_RAD = 1.5, np.radians(3.0)


@dataclass(frozen=True)
class SeenBoard:
    """One board's pose (4, 4) in the camera, its covariance (6, 6) on the left, what is left."""

    pose: Array
    covariance: Array
    other: Array | None
    rms_px: float


def see_board(view: BoardView, lens: Lens, board: Board, sigma_px: float) -> SeenBoard | None:
    """The pose that explains the corners best; None where none does."""
    points = board.points[view.corners]
    fits = sorted((refined_pose(start, points, view.pixels, lens)
                   for start in flat_poses(points, view.pixels, lens)),
                  key=lambda fit: fit[1])  # fmt: skip
    if not fits or not np.isfinite(fits[0][1]):
        return None
    (pose, left), *rest = fits
    others = [other for other, more in rest if more <= _AMBIGUOUS * left
              and rotation_angle(other[:3, :3], pose[:3, :3]) > _APART_RAD]  # fmt: skip
    slopes = pose_slopes(pose, points, lens)[1].reshape(-1, 6)
    # The slopes are by a turn about the board's origin; the covariance is of one about the camera.
    slopes[:, :3] -= slopes[:, 3:] @ cross_matrices(pose[None, :3, 3])[0]
    scatter = max(sigma_px, left / np.sqrt(2), _LEAST_PX)
    covariance = scatter**2 * np.linalg.pinv(slopes.T @ slopes, hermitian=True)
    return SeenBoard(pose, covariance, others[0] if others else None, left)


def pairs_of_views(
    views: Sequence[BoardView], effectors: Mapping[str, Array], lens: Lens, board: Board,
    sigma_px: float,
) -> PosePairs:  # fmt: skip
    """Pairs of the views whose name has an effector's pose (4, 4)."""
    names, hands, seen = [], [], []
    for view in views:
        hand = effectors.get(view.name)
        found = None if hand is None else see_board(view, lens, board, sigma_px)
        if hand is not None and found is not None:
            names.append(view.name)
            hands.append(hand)
            seen.append(found)
    if not names:
        raise CorporealError(
            f"{len(views)} pictures show the board, {len(effectors)} poses are known, and no "
            "name is in both; expected a row of poses for each picture, named as its file."
        )
    missing = np.full((4, 4), np.nan)
    return PosePairs(
        tuple(names), np.array(hands), np.array([each.pose for each in seen]),
        np.array([each.covariance for each in seen]),
        np.array([missing if each.other is None else each.other for each in seen]),
    )  # fmt: skip
