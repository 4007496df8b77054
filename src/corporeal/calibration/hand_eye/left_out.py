"""What a pair that took no part in a solve says of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.calibration.hand_eye.pairs import PosePairs, inverse, mean_pose, pose_matrix
from corporeal.calibration.hand_eye.solution import Mount, closed_form, solve_hand_eye
from corporeal.errors import CorporealError
from corporeal.geometry import Array, rotation_angle, rotation_vectors

# Poses nearer to each other than this are one when one is left out.
_SAME_M, _SAME_RAD = 0.01, 0.05
FEWEST_TO_VERIFY = 4


@dataclass(frozen=True)
class LeftOut:
    """What pairs that took no part in a solve say of it: where the board was expected, and was."""

    position_m: Array
    rotation_rad: Array

    @property
    def rms_m(self) -> float:
        """Root mean square distance of the board."""
        return float(np.sqrt((self.position_m**2).mean()))

    @property
    def rms_rad(self) -> float:
        """Root mean square angle of the board."""
        return float(np.sqrt((self.rotation_rad**2).mean()))


@dataclass(frozen=True)
class PredictedPairs(LeftOut):
    """Pairs that a known camera predicts: how far off each is (N,), and one sigma of that (N,).

    The sigma is what the spread of the camera's own pose makes of it; the robot's errors come on
    top.
    """

    sigma_m: Array
    sigma_rad: Array


def predict_pairs(pairs: PosePairs, camera: Array, sigma: Array, mount: Mount) -> PredictedPairs:
    """Hold a camera's pose (4, 4), known to `sigma` (6,), against pairs that took no part in it.

    Where the board stands is nowhere stated: each pair's is compared with that of all others.
    """
    if len(pairs) < FEWEST_TO_VERIFY:
        raise CorporealError(
            f"{len(pairs)} pairs to verify with; expected {FEWEST_TO_VERIFY} or more, with the "
            "hand turned as it is at work."
        )
    hands = pairs.effectors if mount == "eye_in_hand" else inverse(pairs.effectors)

    def misses(known: Array) -> tuple[Array, Array]:
        seen = hands @ known @ pairs.boards
        usual = np.array([mean_pose(np.delete(seen, number, axis=0))
                          for number in range(len(seen))])  # fmt: skip
        turned = rotation_vectors(seen[:, :3, :3] @ np.swapaxes(usual[:, :3, :3], 1, 2))
        return seen[:, :3, 3] - usual[:, :3, 3], turned

    shifts, turns = misses(camera)
    moved = []
    for number in range(6):
        step = np.where(np.arange(6) == number, sigma, 0.0)
        other = misses(camera @ pose_matrix(step[:3], step[3:]))
        moved.append((other[0] - shifts, other[1] - turns))
    shift_sigma, turn_sigma = (
        np.sqrt(sum((part[which] ** 2).sum(axis=1) for part in moved)) for which in (0, 1)
    )
    return PredictedPairs(np.linalg.norm(shifts, axis=1), np.linalg.norm(turns, axis=1),
                          np.asarray(shift_sigma), np.asarray(turn_sigma))  # fmt: skip


def leave_out(pairs: PosePairs, mount: Mount = "eye_in_hand", method: str = "joint") -> LeftOut:
    """Solve without each pair in turn (and those almost equal to it), and predict it."""
    hands = pairs.effectors if mount == "eye_in_hand" else inverse(pairs.effectors)
    position, rotation = np.zeros(len(pairs)), np.zeros(len(pairs))
    for number in range(len(pairs)):
        near = (np.linalg.norm(hands[:, :3, 3] - hands[number, :3, 3], axis=1) < _SAME_M) & (
            rotation_angle(hands[:, :3, :3], hands[number, :3, :3]) < _SAME_RAD
        )
        rest, hand = pairs.part(~near), hands[number]
        if method == "joint":
            solution = solve_hand_eye(rest, mount)
            camera, board = solution.camera, solution.board
            adjusted = pairs.part(np.array([number])).adjusted(solution.offsets)
            hand = (adjusted if mount == "eye_in_hand" else inverse(adjusted))[0]
        else:
            start = closed_form(method, hands[~near], rest.boards)
            if start is None:
                position[number] = rotation[number] = np.nan
                continue
            camera, board = start
        position[number], rotation[number] = _missed(hand, camera, pairs, number, board)
    return LeftOut(position, rotation)


def _missed(
    hand: Array, camera: Array, pairs: PosePairs, number: int, board: Array
) -> tuple[float, float]:
    """How far the board is from where it was expected; of two poses of it the nearer one."""
    choices = [pairs.boards[number]]
    if pairs.others is not None and np.isfinite(pairs.others[number]).all():
        choices.append(pairs.others[number])
    misses = []
    for choice in choices:
        seen = hand @ camera @ choice
        misses.append((float(np.linalg.norm(seen[:3, 3] - board[:3, 3])),
                       float(rotation_angle(seen[:3, :3], board[:3, :3]))))  # fmt: skip
    return min(misses, key=lambda miss: miss[1])
