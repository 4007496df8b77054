"""Mistakes of a hand-eye calibration, told from its data and named in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corporeal.calibration.hand_eye.pairs import (
    PosePairs,
    inverse,
    rotation_mismatch,
    turning_axes,
)
from corporeal.calibration.hand_eye.solution import HandEyeSolution, Mount, solve_hand_eye
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_quaternion, quaternion_from_matrix

_WRONG_PAIR_RAD = np.radians(1.0)
_WRONG_PAIR_TIMES = 5.0
_LEAST_TURN_RAD = np.radians(30.0)
_OTHER_READING_TIMES = 4.0
# A turn counts as the shift it makes at an arm's length.
_REACH_M = 0.5
_SCALE_SHARE, _SCALE_SIGMAS = 0.015, 4.0
_MOVED_TIMES = 3.0


def find_mistakes(pairs: PosePairs, solution: HandEyeSolution) -> list[str]:
    """A sentence for each mistake that the data shows; none where it shows none."""
    unit = _wrong_unit(pairs)
    if unit is not None:
        return [unit]
    other = _other_reading(pairs, solution)
    if other is not None:
        return [other]
    found = [*_wrong_pairs(pairs), _too_few_axes(pairs), _scale(solution)]
    if not any(found):
        found.append(_moved(pairs, solution))
    return [sentence for sentence in found if sentence]


def _other_reading(pairs: PosePairs, solution: HandEyeSolution) -> str | None:
    """Whether the same numbers make far more sense when they are read another way."""
    mount: Mount = "eye_to_hand" if solution.mount == "eye_in_hand" else "eye_in_hand"
    name = "to-hand" if mount == "eye_to_hand" else "in-hand"
    plain = replace(pairs, board_covariance=None, others=None, adjustable=None)
    away = plain.boards.copy()
    away[:, :3, 3] *= -1
    readings = {
        # A camera beside the robot, and one on the hand whose poses are the wrong way round, are
        # one equation: nothing in the numbers tells them apart.
        f"the camera is mounted the other way, --mount {name}, or the poses of boards are those of "
        "the camera in the board, --inverted": (plain, mount),
        "the poses of boards are mirrored, or of a frame whose axes are left-handed":
            (replace(plain, boards=away), solution.mount),
        "the quaternions of boards have another order, w x y z and x y z w":
            (replace(plain, boards=_reordered(plain.boards)), solution.mount),
        "the quaternions of effectors have another order, w x y z and x y z w":
            (replace(plain, effectors=_reordered(plain.effectors)), solution.mount),
    }  # fmt: skip
    errors = {}
    for words, (read, mounted) in readings.items():
        try:
            tried = solve_hand_eye(read, mounted)
        except CorporealError:
            continue
        errors[words] = _left_over(tried)
    if not errors:
        return None
    words, least = min(errors.items(), key=lambda each: each[1])
    given = _left_over(solution)
    if least * _OTHER_READING_TIMES > given:
        return None
    return f"{words}: read so, {least * 1e3:.1f} mm are left over, as given {given * 1e3:.1f} mm."


def _left_over(solution: HandEyeSolution) -> float:
    """What the poses are wrong by within reach of the hand, robot and board together, in metres."""
    turn = float(np.hypot(solution.robot_rad, solution.board_rad))
    return solution.robot_m + _REACH_M * turn


def _reordered(poses: Array) -> Array:
    """Poses whose quaternions were given the other way round: the scalar last for the scalar first.

    Both ways to make that mistake are the same mistake, once forth and once back.
    """
    quaternions = quaternion_from_matrix(poses[:, :3, :3])
    result = poses.copy()
    result[:, :3, :3] = matrix_from_quaternion(np.roll(quaternions, 1, axis=1))
    return result


def _wrong_unit(pairs: PosePairs) -> str | None:
    for name, poses in (("effectors", pairs.effectors), ("boards", pairs.boards)):
        reach = float(np.median(np.linalg.norm(poses[:, :3, 3], axis=1)))
        if reach > 20:
            return f"positions of {name} are {reach:.0f} m away: millimetres? Divide by 1000."
    return None


def _wrong_pairs(pairs: PosePairs) -> list[str | None]:
    mismatch = rotation_mismatch(pairs)
    usual = float(np.median(mismatch))
    limit = max(_WRONG_PAIR_RAD, _WRONG_PAIR_TIMES * usual)
    wrong = np.flatnonzero(mismatch > limit)
    if not len(wrong):
        return []
    names = ", ".join(pairs.names[number] for number in wrong)
    angle = np.degrees(mismatch[wrong].max())
    return [
        f"{len(wrong)} of {len(pairs)} pairs do not belong together ({names}): the hand turned by "
        f"up to {angle:.1f} degrees more or less than the board. Leave them out, or pair by time."
    ]


def _too_few_axes(pairs: PosePairs) -> str | None:
    longest, across = turning_axes(pairs)
    if min(longest, across) >= _LEAST_TURN_RAD:
        return None
    return (
        f"the hand turns by {np.degrees(longest):.0f} degrees, and about a second axis by "
        f"{np.degrees(across):.0f}; expected 30 or more about both. "
        "Take poses that are tilted more."
    )


def _scale(solution: HandEyeSolution) -> str | None:
    off = solution.scale - 1
    if abs(off) < max(_SCALE_SHARE, _SCALE_SIGMAS * solution.scale_sigma):
        return None
    return (
        f"the board is {solution.scale:.3f} +- {solution.scale_sigma:.3f} times as large as was "
        "said. Measure its squares."
    )


def _moved(pairs: PosePairs, solution: HandEyeSolution) -> str | None:
    """Whether the board stood elsewhere in the first or the last part of the pairs."""
    effectors = pairs.adjusted(solution.offsets)
    hands = effectors if solution.mount == "eye_in_hand" else inverse(effectors)
    seen = (hands @ solution.camera @ pairs.boards)[:, :3, 3]
    best, split = 0.0, 0
    for number in range(3, len(pairs) - 2):
        gap = float(np.linalg.norm(np.median(seen[:number], 0) - np.median(seen[number:], 0)))
        within = np.concatenate([seen[:number] - np.median(seen[:number], 0),
                                 seen[number:] - np.median(seen[number:], 0)])  # fmt: skip
        times = gap / max(float(np.median(np.linalg.norm(within, axis=1))), 1e-6)
        if times > best and gap > 0.003:
            best, split = times, number
    if best < _MOVED_TIMES:
        return None
    return (
        f"the board was moved before pair {pairs.names[split]}: from there on it stands "
        "elsewhere. Calibrate from one of both parts."
    )
