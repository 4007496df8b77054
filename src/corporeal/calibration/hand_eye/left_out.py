"""What a pair that took no part in a solve says of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.calibration.hand_eye.pairs import PosePairs, inverse
from corporeal.calibration.hand_eye.solution import Mount, closed_form, solve_hand_eye
from corporeal.geometry import Array, rotation_angle

# Poses nearer to each other than this are one when one is left out.
_SAME_M, _SAME_RAD = 0.01, 0.05


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
