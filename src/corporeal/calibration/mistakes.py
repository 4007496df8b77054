"""Mistakes of a hand-eye calibration, told from its data and named in words."""

from __future__ import annotations

import numpy as np

from corporeal.calibration.hand_eye import (
    HandEyeSolution,
    Mount,
    PosePairs,
    rotation_mismatch,
    solve_hand_eye,
    turning_axes,
)
from corporeal.errors import CorporealError

_WRONG_PAIR_RAD = np.radians(1.0)
_WRONG_PAIR_TIMES = 5.0
_LEAST_TURN_RAD = np.radians(30.0)
_OTHER_MOUNT_TIMES = 4.0
_SCALE_SHARE, _SCALE_SIGMAS = 0.015, 4.0
_MOVED_TIMES = 3.0


def find_mistakes(pairs: PosePairs, solution: HandEyeSolution) -> list[str]:
    """A sentence for each mistake that the data shows; none where it shows none."""
    other = _other_mount(pairs, solution)
    if other is not None:
        return [other]
    found = [_wrong_unit(pairs), *_wrong_pairs(pairs), _too_few_axes(pairs), _scale(solution)]
    if not any(found):
        found.append(_moved(pairs, solution))
    return [sentence for sentence in found if sentence]


def _other_mount(pairs: PosePairs, solution: HandEyeSolution) -> str | None:
    mount: Mount = "eye_to_hand" if solution.mount == "eye_in_hand" else "eye_in_hand"
    try:
        other = solve_hand_eye(pairs, mount)
    except CorporealError:
        return None
    if other.robot_m * _OTHER_MOUNT_TIMES > solution.robot_m:
        return None
    name = "to-hand" if mount == "eye_to_hand" else "in-hand"
    return (
        f"the camera is mounted the other way: as --mount {name} the robot's error is "
        f"{other.robot_m * 1e3:.1f} mm, as given {solution.robot_m * 1e3:.1f} mm."
    )


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
    hands = pairs.effectors
    if solution.mount == "eye_to_hand":
        return None
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
