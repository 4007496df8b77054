"""A person's hands over a whole recording: on one grid, with what was not seen left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
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
# No hand is quicker than this between two samples, m/s and rad/s.
_MOST_M_S, _MOST_RAD_S = 6.0, 40.0
# A place that is so far from the median of so many around it stands alone, m and sigmas.
_AROUND, _OUTLIER_M, _SIGMAS, _PASSES = 7, 0.02, 4.0, 3
_TIPS = [THUMB_TIP, INDEX_TIP]
# A recording with fewer samples of hands than this shows no motion.
_FEWEST = 5


@dataclass(frozen=True, eq=False)
class HandTrack:
    """One hand on a grid of T instants: `pose` (T, 7), NaN where not seen; `grasp` (T, 3) is
    between thumb and index finger, else the wrist; `opening` (T,) is 0 shut to 1 open, NaN where
    the hand or the tips of thumb and finger were not seen.

    `seen` (T,) is NOT_SEEN, SEEN or BETWEEN. `glitches` counts samples that no hand can make.
    """

    pose: Array
    grasp: Array
    opening: Array
    seen: NDArray[np.uint8]
    glitches: int


def track_hand(inputs: Sequence[OperatorInput], side: Side, times_s: Array) -> HandTrack:
    """One hand of a recording at `times_s` (T,), on the clock of the device."""
    seen_hands = [
        (given.times.device_ns, hand)
        for given in inputs
        if (hand := given.hand(side)) is not None and hand.is_tracked
    ]
    if len(seen_hands) < 2:
        return _unseen(len(times_s))
    stamps = np.array([stamp for stamp, _ in seen_hands]) / SECOND_NS
    poses = np.array([hand.pose for _, hand in seen_hands])
    grasps, apart = _grasps([hand for _, hand in seen_hands], poses)
    rows = np.flatnonzero(_plausible(stamps, poses))
    if len(rows) < 2:
        return _unseen(len(times_s))
    own_s, track = stamps[rows], poses[rows]
    before, after, part, seen = _between(own_s, times_s)
    pose = np.empty((len(times_s), 7))
    pose[:, :3] = _blend(track[:, :3], before, after, part)
    pose[:, 3:] = slerp(track[before, 3:], track[after, 3:], part)
    grasp = _blend(grasps[rows], before, after, part)
    opening = _opening(own_s, apart[rows], times_s)
    for values in (pose, grasp, opening):
        values[seen == NOT_SEEN] = np.nan
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
    relative = any(
        hand is not None and hand.joints is not None and hand.pose is None
        for given in inputs
        for hand in (given.left, given.right)
    )
    if len(seen) < _FEWEST and relative:
        raise InputError(
            "recording, got hands relative to their wrists; expected their places in a room too. "
            "Record a tracker on each wrist, and the head, beside them."
        )
    if len(seen) < _FEWEST:
        raise InputError(
            f"recording, got {len(seen)} samples in which a hand was seen; expected "
            f"{_FEWEST} at least. Record it again with the hands in view."
        )
    return np.arange(min(seen), max(seen) + 0.5 / rate_hz, 1.0 / rate_hz)


def wrist_axes(wrist: Array, index: Array, little: Array, side: Side) -> Array:
    """Quaternions (..., 4) of hands from wrists and knuckles of index and little finger (..., 3).

    x is along the fingers, z out of the back of the hand.
    """
    ahead = normalise((index + little) / 2 - wrist)
    across = (index - wrist, little - wrist)
    back = np.cross(*across) if side == "left" else np.cross(across[1], across[0])
    back = normalise(back - (back * ahead).sum(axis=-1, keepdims=True) * ahead)
    return np.asarray(
        quaternion_from_matrix(np.stack([ahead, np.cross(back, ahead), back], axis=-1))
    )


def _unseen(count: int) -> HandTrack:
    nothing = np.full((count, 3), np.nan)
    return HandTrack(
        np.full((count, 7), np.nan), nothing, nothing[:, 0].copy(), np.zeros(count, np.uint8), 0
    )


def _grasps(hands: Sequence[OperatorHand], poses: Array) -> tuple[Array, Array]:
    """Grasp points (n, 3), else the wrists; metres (n,) between thumb and finger, NaN unknown.

    Of a controller the trigger counts as the distance.
    """
    nothing = np.full((2, 3), np.nan)
    tips = np.array([nothing if each.joints is None else each.joints[_TIPS, :3] for each in hands])
    middle = tips.mean(axis=1)
    known = np.isfinite(middle).all(axis=1)
    grasps = np.where(known[:, None], middle, poses[:, :3])
    apart = np.linalg.norm(tips[:, 0] - tips[:, 1], axis=1)
    for row, hand in enumerate(hands):
        if hand.tracker == "controller":
            apart[row] = 0.1 * (1.0 - float(np.clip(hand.button("trigger"), 0.0, 1.0)))
    return grasps, apart


def _opening(own_s: Array, apart_m: Array, times_s: Array) -> Array:
    """0 shut to 1 open (T,) between this person's own nearest and farthest fingertips.

    NaN where fingertips `apart_m` (n,) were not known for longer than a gap may be.
    """
    known = np.flatnonzero(np.isfinite(apart_m))
    if len(known) < 2:
        return np.full(len(times_s), np.nan)
    apart = apart_m[known]
    shut, wide = np.percentile(apart, [2, 98])
    shut, wide = min(shut, 0.04), max(wide, 0.06)
    share = np.clip((apart - shut) / (wide - shut), 0.0, 1.0)
    before, after, part, seen = _between(own_s[known], times_s)
    opening = _blend(share[:, None], before, after, part)[:, 0]
    opening[seen == NOT_SEEN] = np.nan
    return opening


def _between(
    own_s: Array, times_s: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, NDArray[np.uint8]]:
    """Samples before and after each time (T,), how far between them it is, and what is seen."""
    after = np.clip(np.searchsorted(own_s, times_s), 1, len(own_s) - 1)
    before = after - 1
    gap = own_s[after] - own_s[before]
    part = np.clip((times_s - own_s[before]) / gap, 0.0, 1.0)
    inside = (times_s >= own_s[0] - 1e-9) & (times_s <= own_s[-1] + 1e-9)
    nearest_s = np.minimum(np.abs(times_s - own_s[before]), np.abs(own_s[after] - times_s))
    seen = np.where(inside & (gap <= LONGEST_GAP_S), BETWEEN, NOT_SEEN)
    # Beside a gap, a time counts as its sample's own, at most as far as a short gap goes.
    own = min(0.6 * float(np.median(np.diff(own_s))), 0.5 * LONGEST_GAP_S)
    return before, after, part, np.where(inside & (nearest_s <= own), SEEN, seen).astype(np.uint8)


def _plausible(stamps_s: Array, poses: Array) -> NDArray[np.bool_]:
    """Which samples (n,) are newer than the last, no leap or spin from it, and no lone outlier."""
    kept = np.array(np.isfinite(poses).all(axis=1), np.bool_)
    kept &= ~_is_false_start(stamps_s, poses, kept)
    # What stood beside an outlier is seen for what it is once that one is gone.
    for _ in range(_PASSES):
        rows = np.flatnonzero(kept)
        alone = _stands_alone(poses[rows, :3]) | _is_kink(stamps_s[rows], poses[rows, :3])
        if not alone.any():
            break
        kept[rows[alone]] = False
    last = -1
    for row in np.flatnonzero(kept).tolist() if _has_leaps(stamps_s, poses, kept) else ():
        if last >= 0:
            step_s = stamps_s[row] - stamps_s[last]
            is_leap = _is_leap(poses[last], poses[row], max(step_s, 0.0))
            if step_s <= 0 or (is_leap and step_s < LONGEST_GAP_S):
                kept[row] = False
                continue
        last = row
    return kept


def _stands_alone(places: Array) -> NDArray[np.bool_]:
    """Which places (n, 3) are far from the median of their neighbours, as no motion is."""
    if len(places) < _AROUND:
        return np.zeros(len(places), np.bool_)
    middle = scipy.ndimage.median_filter(places, size=(_AROUND, 1), mode="nearest")
    off = np.linalg.norm(places - middle, axis=1)
    usual = scipy.ndimage.median_filter(off, size=_AROUND, mode="nearest")
    return np.asarray(off > np.maximum(_OUTLIER_M, _SIGMAS * 1.4826 * usual))


def _is_kink(stamps_s: Array, places: Array) -> NDArray[np.bool_]:
    """Which places (n, 3) are off the way between both neighbours, farther than these are."""
    kink = np.zeros(len(places), np.bool_)
    if len(places) < _AROUND:
        return kink
    span = stamps_s[2:] - stamps_s[:-2]
    part = np.clip((stamps_s[1:-1] - stamps_s[:-2]) / np.where(span > 0, span, 1.0), 0.0, 1.0)
    between = places[:-2] + part[:, None] * (places[2:] - places[:-2])
    off = np.zeros(len(places))
    near = (span > 0) & (span <= LONGEST_GAP_S)
    off[1:-1] = np.where(near, np.linalg.norm(places[1:-1] - between, axis=1), 0.0)
    usual = scipy.ndimage.median_filter(off, size=_AROUND, mode="nearest")
    most = scipy.ndimage.maximum_filter(off, size=3, mode="nearest")
    return np.asarray((off > np.maximum(_OUTLIER_M, _SIGMAS * 1.4826 * usual)) & (off >= most))


def _is_false_start(stamps_s: Array, poses: Array, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The first sample (n,), where all others agree that it is wrong."""
    first = np.zeros(len(kept), np.bool_)
    rows = np.flatnonzero(kept)[:3]
    if len(rows) == 3:
        steps_s = np.maximum(np.diff(stamps_s[rows]), 0.0)
        leaps = _is_leap(poses[rows[:-1]], poses[rows[1:]], steps_s)
        first[rows[0]] = bool(leaps[0] and not leaps[1])
    return first


def _has_leaps(stamps_s: Array, poses: Array, kept: NDArray[np.bool_]) -> bool:
    """Whether anything leaps or goes back in time: only then each sample is looked at in turn."""
    rows = np.flatnonzero(kept)
    step_s = np.diff(stamps_s[rows])
    leaps = _is_leap(poses[rows[:-1]], poses[rows[1:]], np.maximum(step_s, 0.0))
    return bool(np.any((step_s <= 0) | leaps))


def _is_leap(before: Array, after: Array, step_s: Any) -> Any:
    """Whether no hand gets from pose to pose (..., 7) in so many seconds (...)."""
    way = np.linalg.norm(after[..., :3] - before[..., :3], axis=-1)
    turn = 2 * np.arccos(np.clip(np.abs((before[..., 3:] * after[..., 3:]).sum(axis=-1)), 0, 1))
    return (way > _MOST_M_S * step_s + 0.01) | (turn > _MOST_RAD_S * step_s + 0.1)


def _blend(rows: Array, before: NDArray[np.int64], after: NDArray[np.int64], part: Array) -> Array:
    return np.asarray(rows[before] + part[:, None] * (rows[after] - rows[before]))
