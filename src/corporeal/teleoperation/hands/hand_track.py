"""A person's hands over a whole recording: on one grid, with what was not seen left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.geometry import Array, normalise, quaternion_from_matrix, slerp
from corporeal.teleoperation.operator_input import (
    INDEX_TIP,
    THUMB_TIP,
    InputError,
    OperatorHand,
    OperatorInput,
    Side,
)
from corporeal.units import SECOND_NS

NOT_SEEN, SEEN, BETWEEN = 0, 1, 2
# No sample is made up where a hand was away for longer than this, s.
LONGEST_GAP_S = 0.1
# No hand is quicker than this between two samples, m/s.
_MOST_M_S = 6.0
# A recording with fewer samples of hands than this shows no motion.
_FEWEST = 5


@dataclass(frozen=True, eq=False)
class HandTrack:
    """One hand on a grid of T instants: `pose` (T, 7), NaN where not seen; `grasp` (T, 3) is
    between thumb and index finger, else the wrist; `opening` (T,) is 0 shut to 1 open.

    `seen` (T,) is NOT_SEEN, SEEN or BETWEEN. `glitches` counts samples that no hand can make.
    """

    pose: Array
    grasp: Array
    opening: Array
    seen: NDArray[np.uint8]
    glitches: int


def track_hand(inputs: Sequence[OperatorInput], side: Side, times_s: Array) -> HandTrack:
    """One hand of a recording at `times_s` (T,), on the clock of the device."""
    stamps, poses, grasps, apart = [], [], [], []
    for given in inputs:
        hand = given.hand(side)
        if hand is not None and hand.is_tracked and hand.pose is not None:
            stamps.append(given.times.device_ns / SECOND_NS)
            poses.append(hand.pose)
            grasps.append(_grasp_point(hand))
            apart.append(_apart(hand))
    if len(stamps) < 2:
        return _unseen(len(times_s))
    kept = _plausible(np.array(stamps), np.array(poses))
    rows = np.flatnonzero(kept)
    if len(rows) < 2:
        return _unseen(len(times_s))
    own_s = np.array(stamps)[rows]
    track = np.array(poses)[rows]
    after = np.clip(np.searchsorted(own_s, times_s), 1, len(own_s) - 1)
    before = after - 1
    gap = own_s[after] - own_s[before]
    part = np.clip((times_s - own_s[before]) / gap, 0.0, 1.0)
    inside = (times_s >= own_s[0] - 1e-9) & (times_s <= own_s[-1] + 1e-9)
    nearest_s = np.minimum(np.abs(times_s - own_s[before]), np.abs(own_s[after] - times_s))
    seen = np.where(inside & (gap <= LONGEST_GAP_S), BETWEEN, NOT_SEEN)
    usual_s = float(np.median(np.diff(own_s)))
    seen = np.where(inside & (nearest_s <= 0.6 * usual_s), SEEN, seen).astype(np.uint8)
    pose = np.empty((len(times_s), 7))
    pose[:, :3] = _blend(track[:, :3], before, after, part)
    pose[:, 3:] = slerp(track[before, 3:], track[after, 3:], part)
    grasp = _blend(np.array(grasps)[rows], before, after, part)
    opening = _blend(_openings(np.array(apart)[rows])[:, None], before, after, part)[:, 0]
    pose[seen == NOT_SEEN] = np.nan
    grasp[seen == NOT_SEEN] = np.nan
    return HandTrack(pose, grasp, opening, seen, int(len(stamps) - len(rows)))


def track_head(inputs: Sequence[OperatorInput], times_s: Array) -> Array:
    """Poses (T, 7) of the head at `times_s`; raises InputError where it was never seen."""
    known = [given for given in inputs if given.head is not None]
    if len(known) < 2:
        raise InputError(
            "recording, got no pose of the head; expected one with every sample, since hands alone "
            "do not tell where ahead and up are. Record it with its trajectory."
        )
    own_s = np.array([given.times.device_ns for given in known]) / SECOND_NS
    poses = np.array([given.head for given in known])
    after = np.clip(np.searchsorted(own_s, times_s), 1, len(own_s) - 1)
    before = after - 1
    part = np.clip((times_s - own_s[before]) / (own_s[after] - own_s[before]), 0.0, 1.0)
    out = np.empty((len(times_s), 7))
    out[:, :3] = _blend(poses[:, :3], before, after, part)
    out[:, 3:] = slerp(poses[before, 3:], poses[after, 3:], part)
    return out


def grid_of(inputs: Sequence[OperatorInput], rate_hz: float) -> Array:
    """Times (T,) of a grid over the part of a recording in which a hand was seen."""
    seen = [
        given.times.device_ns / SECOND_NS
        for given in inputs
        if any(hand is not None and hand.is_tracked for hand in (given.left, given.right))
    ]
    if len(seen) < _FEWEST:
        raise InputError(
            f"recording, got {len(seen)} samples in which a hand was seen; expected "
            f"{_FEWEST} at least. Record it again with the hands in view."
        )
    return np.arange(seen[0], seen[-1] + 0.5 / rate_hz, 1.0 / rate_hz)


def wrist_axes(wrist: Array, index: Array, little: Array, side: Side) -> Array:
    """The quaternion (4,) of a hand from its wrist and the knuckles of index and little finger.

    x is along the fingers, z out of the back of the hand.
    """
    ahead = normalise((index + little) / 2 - wrist)
    across = (index - wrist, little - wrist)
    back = np.cross(*across) if side == "left" else np.cross(across[1], across[0])
    back = normalise(back - (back @ ahead) * ahead)
    return np.asarray(
        quaternion_from_matrix(np.stack([ahead, np.cross(back, ahead), back], axis=1))
    )


def _unseen(count: int) -> HandTrack:
    nothing = np.full((count, 3), np.nan)
    return HandTrack(
        np.full((count, 7), np.nan), nothing, np.ones(count), np.zeros(count, np.uint8), 0
    )


def _grasp_point(hand: OperatorHand) -> Array:
    assert hand.pose is not None, "it is tracked"
    if hand.joints is not None:
        middle = (hand.joints[THUMB_TIP, :3] + hand.joints[INDEX_TIP, :3]) / 2
        if np.isfinite(middle).all():
            return np.asarray(middle)
    return np.asarray(hand.pose[:3])


def _apart(hand: OperatorHand) -> float:
    """Metres between thumb and fingertip; of a controller its trigger as such; NaN unknown."""
    if hand.tracker == "controller":
        return 0.1 * (1.0 - float(np.clip(hand.button("trigger"), 0.0, 1.0)))
    if hand.joints is None:
        return float("nan")
    return float(np.linalg.norm(hand.joints[THUMB_TIP, :3] - hand.joints[INDEX_TIP, :3]))


def _openings(apart_m: Array) -> Array:
    """0 shut to 1 open (n,) between this person's own nearest and farthest fingertips."""
    known = np.isfinite(apart_m)
    if not known.any():
        return np.ones(len(apart_m))
    shut, wide = np.percentile(apart_m[known], [2, 98])
    shut, wide = min(shut, 0.04), max(wide, 0.06)
    share = np.clip((apart_m - shut) / (wide - shut), 0.0, 1.0)
    return np.asarray(np.where(known, share, 1.0))


def _plausible(stamps_s: Array, poses: Array) -> NDArray[np.bool_]:
    """Which samples (n,) are newer than the last and no leap from it and to the next."""
    kept = np.array(np.isfinite(poses).all(axis=1), np.bool_)
    last = -1
    for row in np.flatnonzero(kept):
        if last >= 0:
            step_s = stamps_s[row] - stamps_s[last]
            way = float(np.linalg.norm(poses[row, :3] - poses[last, :3]))
            is_leap = way > _MOST_M_S * max(step_s, 0.0) + 0.01
            if step_s <= 0 or (is_leap and step_s < LONGEST_GAP_S):
                kept[row] = False
                continue
        last = int(row)
    return kept


def _blend(rows: Array, before: NDArray[np.int64], after: NDArray[np.int64], part: Array) -> Array:
    return np.asarray(rows[before] + part[:, None] * (rows[after] - rows[before]))
