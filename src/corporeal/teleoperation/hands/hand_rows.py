"""One hand over a whole recording as arrays; every sentinel of a device is taken as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.geometry import Array
from corporeal.teleoperation.hands.hand_layout import is_hand_size, side_of
from corporeal.teleoperation.hands.hand_track import wrist_axes
from corporeal.teleoperation.operator_input import (
    HAND_JOINTS,
    SIDES,
    WRIST,
    InputTimes,
    OperatorHand,
    OperatorInput,
    Side,
)

_KNUCKLES = [
    HAND_JOINTS.index(f"{finger}_finger_phalanx_proximal") for finger in ("index", "pinky")
]
# A hand all of whose points lie within this is none: zeros, or identity matrices, m.
_POINT_M = 0.01


@dataclass(frozen=True, eq=False)
class HandRows:
    """One hand at T instants: `joints` (T, 26, 3) in the room, NaN where not known.

    `confidence` (T, 26) is what the device says of it, `is_seen` (T,) whether a hand was there.
    With `is_relative` the joints are relative to a wrist whose place nobody knows.
    """

    joints: Array
    is_seen: NDArray[np.bool_]
    confidence: Array | None = None
    is_relative: bool = False


def hand_rows(
    joints: Array, *, confidence: Array | None = None, is_relative: bool = False
) -> HandRows:
    """Rows of joints (T, 26, 3) as a device wrote them, without what only looks like a hand.

    Not seen is: no number, confidence of 0 or below, all joints in one place (zeros, identity
    matrices), and a row that repeats the one before to the last digit: a stale sample.
    """
    joints = np.array(joints, np.float64)
    if confidence is not None:
        joints[~(confidence > 0)] = np.nan
    seen = np.isfinite(joints[:, WRIST]).all(axis=1)
    # Of a wrist alone nobody knows the extent; of more than that it is a hand's.
    known: NDArray[np.bool_] = np.asarray(np.isfinite(joints).all(axis=2))
    low = np.where(known[..., None], joints, np.inf).min(axis=1, initial=np.inf)
    high = np.where(known[..., None], joints, -np.inf).max(axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        seen &= (known.sum(axis=1) == 1) | (np.linalg.norm(high - low, axis=1) > _POINT_M)
    seen[1:] &= ~_repeats(joints)
    joints[~seen] = np.nan
    kept = None if confidence is None else np.where(seen[:, None], np.clip(confidence, 0, 1), 0.0)
    return HandRows(joints, seen, kept, is_relative)


def _repeats(joints: Array) -> NDArray[np.bool_]:
    """Which rows (T - 1,) are to the last digit those before them."""
    after, before = joints[1:], joints[:-1]
    return np.asarray(((after == before) | (np.isnan(after) & np.isnan(before))).all(axis=(1, 2)))


def require_hand(rows: HandRows, side: Side) -> None:
    """Raise ValueError where joints have no hand's size, or are those of the other hand."""
    seen = rows.joints[rows.is_seen]
    if not len(seen) or np.isfinite(seen).all(axis=2).sum(axis=1).max() < 15:
        return
    if not is_hand_size(seen):
        raise ValueError(f"a {side} hand that has not the size of one; expected metres")
    bends = side_of(seen)
    if bends is not None and bends != side:
        raise ValueError(
            f"a {side} hand whose fingers bend as those of the {bends} one; "
            "expected right-handed axes and the right name"
        )


def operator_inputs(
    times_ns: NDArray[np.int64], head: Array | None, hands: Mapping[Side, HandRows]
) -> Iterator[OperatorInput]:
    """Inputs of T instants: heads (T, 7), NaN where not known, and what was seen of each hand."""
    poses = {side: _poses(rows, side) for side, rows in hands.items()}
    for row, time_ns in enumerate(times_ns.tolist()):
        looks = None if head is None or not np.isfinite(head[row, 0]) else head[row]
        left, right = (
            _hand(hands[side], poses[side], row, side) if side in hands else None for side in SIDES
        )
        yield OperatorInput(row, InputTimes(time_ns, time_ns), head=looks, left=left, right=right)


def _poses(rows: HandRows, side: Side) -> Array:
    """The wrists (T, 7): x along the fingers, z out of the back of the hand."""
    first, second = (rows.joints[:, knuckle] for knuckle in _KNUCKLES)
    wrist = rows.joints[:, WRIST]
    return np.concatenate([wrist, wrist_axes(wrist, first, second, side)], axis=1)


def _hand(rows: HandRows, poses: Array, row: int, side: Side) -> OperatorHand | None:
    if not rows.is_seen[row]:
        return None
    joints = np.full((len(HAND_JOINTS), 8), np.nan)
    joints[:, :3] = rows.joints[row]
    confidence = None if rows.confidence is None else rows.confidence[row]
    known = not rows.is_relative and np.isfinite(poses[row]).all()
    pose = poses[row] if known else None
    source = SIDES.index(side) + 1
    return OperatorHand("hand", source, pose, joints=joints, confidence=confidence)
