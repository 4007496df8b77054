"""Which poses of the hand to take next: those after which the camera's place is surest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from corporeal.calibration.board import Board
from corporeal.calibration.camera import cross_matrices
from corporeal.calibration.flat_pose import pose_slopes
from corporeal.calibration.hand_eye.pairs import adjoint, inverse
from corporeal.calibration.hand_eye.solution import Mount
from corporeal.calibration.lens import Lens, project
from corporeal.geometry import Array, matrix_from_rpy

# How far a robot and a corner are usually off, before anything is known of either.
USUAL_M, USUAL_RAD, USUAL_PX = 0.0005, np.radians(0.1), 0.2
# A turn of the camera counts as the shift it makes at this distance.
_REACH_M = 0.3
_TILTS = np.radians((25.0, 45.0))
_SIDES = (("top", 0.0), ("right", np.pi / 2), ("bottom", np.pi), ("left", 3 * np.pi / 2))
_ROLLS = np.radians((-80.0, -40.0, 0.0, 40.0, 80.0))
_LEAST_SHOWN = 0.6


@dataclass(frozen=True)
class NextPose:
    """A pose (4, 4) of the hand in the base, what would be seen, and the spread it would leave."""

    effector: Array
    board: Array
    spread_m: float
    words: str


def next_hand_poses(
    camera: Array, board_pose: Array, lens: Lens, board: Board, *, mount: Mount = "eye_in_hand",
    taken: Sequence[Array] = (), count: int = 1, distance_m: float = 0.4,
) -> list[NextPose]:  # fmt: skip
    """The poses that together tell X best, after `taken` (4, 4) boards in the camera.

    `camera` and `board_pose` are X and Y as far as they are known, to a few centimetres.
    """
    known = np.eye(12) * 1e-2
    for seen in taken:
        known = known + _information(seen, camera, board_pose, lens, board, mount)
    candidates = [
        (seen, words, _information(seen, camera, board_pose, lens, board, mount))
        for seen, words in _candidates(lens, board, distance_m)
    ]
    chosen: list[NextPose] = []
    for _ in range(min(count, len(candidates))):
        costs = [_cost(known + gain) for _, _, gain in candidates]
        best = int(np.argmin(costs))
        seen, words, gain = candidates.pop(best)
        known = known + gain
        spread = float(np.sqrt(np.trace(np.linalg.inv(known)[3:6, 3:6])))
        hand = board_pose @ inverse(seen[None])[0] @ inverse(camera[None])[0]
        effector = hand if mount == "eye_in_hand" else inverse(hand[None])[0]
        chosen.append(NextPose(effector, seen, spread, words))
    return chosen


def _cost(information: Array) -> float:
    covariance = np.linalg.inv(information)
    return float(np.trace(covariance[3:6, 3:6]) + _REACH_M**2 * np.trace(covariance[:3, :3]))


def _candidates(lens: Lens, board: Board, distance_m: float) -> list[tuple[Array, str]]:
    """Boards as the camera would see them: turned, tilted, near and far, and how that is said."""
    middle = board.points.mean(axis=0)
    found = []
    views = [(0.0, "", 0.0), *((tilt, *side) for tilt, side in product(_TILTS, _SIDES))]
    for (tilt, side, about), roll, share in product(views, _ROLLS, (0.75, 1.0, 1.25)):
        turn = matrix_from_rpy((0, 0, about)) @ matrix_from_rpy((tilt, 0, 0))
        rotation = turn @ matrix_from_rpy((0, 0, -about)) @ matrix_from_rpy((0, 0, roll))
        pose = np.eye(4)
        pose[:3, :3] = rotation
        pose[:3, 3] = np.array([0, 0, share * distance_m]) - rotation @ middle
        if _shown(pose, lens, board):
            found.append((pose, _in_words(tilt, side, roll, share * distance_m)))
    return found


def _shown(pose: Array, lens: Lens, board: Board) -> bool:
    placed = board.points @ pose[:3, :3].T + pose[:3, 3]
    if (placed[:, 2] < 0.05).any():
        return False
    pixels = project(lens, placed)
    inside = ((pixels > 4) & (pixels < [lens.width - 4, lens.height - 4])).all(axis=1)
    share = float(inside.mean())
    return share >= (1.0 if board.pattern == "chessboard" else _LEAST_SHOWN)


def _information(
    seen: Array, camera: Array, board_pose: Array, lens: Lens, board: Board, mount: Mount
) -> Array:
    """What one pair says of X and Y (12, 12), with a usual robot and usual corners."""
    slopes = pose_slopes(seen, board.points, lens)[1].reshape(-1, 6).copy()
    slopes[:, :3] -= slopes[:, 3:] @ cross_matrices(seen[None, :3, 3])[0]
    known = USUAL_PX**2 * np.linalg.pinv(slopes.T @ slopes, hermitian=True)
    carry = adjoint(camera[None])[0]
    twist = np.concatenate([-carry, adjoint((camera @ seen)[None])[0]], axis=1)
    if mount == "eye_to_hand":
        hand = board_pose @ inverse(seen[None])[0] @ inverse(camera[None])[0]
        moved = adjoint(hand[None])[0]
        carry, twist = moved @ carry, moved @ twist
    spread = np.diag(np.repeat([USUAL_RAD**2, USUAL_M**2], 3)) + carry @ known @ carry.T
    return np.asarray(twist.T @ np.linalg.solve(spread, twist))


def _in_words(tilt: float, side: str, roll: float, distance_m: float) -> str:
    words = [f"{distance_m:.2f} m away"]
    if side:
        words.append(f"seen from the {side} at {np.degrees(tilt):.0f} degrees")
    else:
        words.append("seen from straight ahead")
    if abs(roll) > 0.01:
        way = "clockwise" if roll > 0 else "anticlockwise"
        words.append(f"turned {abs(np.degrees(roll)):.0f} degrees {way}")
    return ", ".join(words)
