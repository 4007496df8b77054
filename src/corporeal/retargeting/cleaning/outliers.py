"""Samples that a body cannot have had: spikes, bones of impossible length, sides exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, median_filter

from corporeal.geometry import Array, normalise
from corporeal.retargeting.cleaning.gaps import bridge
from corporeal.retargeting.motion import POINTS, SIDES


def _other_side(name: str) -> str:
    side, _, part = name.partition("_")
    return f"{SIDES[1 - SIDES.index(side)]}_{part}" if side in SIDES else name


# From the trunk outwards: the first of a pair is placed before the second.
_NAMES = (
    *(("pelvis", f"{side}_hip") for side in SIDES),
    *(("neck", f"{side}_shoulder") for side in SIDES),
    ("neck", "head"),
    *(
        (f"{side}_{upper}", f"{side}_{lower}")
        for upper, lower in (
            ("hip", "knee"), ("knee", "ankle"), ("ankle", "heel"), ("ankle", "toe"),
            ("shoulder", "elbow"), ("elbow", "wrist"), ("wrist", "hand"),
        )
        for side in SIDES
    ),
)  # fmt: skip
BONES: NDArray[np.int64] = np.array(
    [(POINTS.index(upper), POINTS.index(lower)) for upper, lower in _NAMES]
)
# A shoulder rises and a head nods: what joins them to the neck is no single bone.
LOOSE: NDArray[np.bool_] = np.array([upper == "neck" for upper, _ in _NAMES])
# The bone of the other side, itself where there is none.
MIRROR: NDArray[np.int64] = np.array(
    [_NAMES.index((_other_side(upper), _other_side(lower))) for upper, lower in _NAMES]
)
_ROUNDS = 3


def bone_lengths(positions: Array) -> Array:
    """Lengths (T, B) of all BONES; NaN where an end is not known."""
    across = positions[:, BONES[:, 1]] - positions[:, BONES[:, 0]]
    return np.asarray(np.sqrt(np.einsum("tbi,tbi->tb", across, across)))


def usual_lengths(lengths: Array) -> Array:
    """The median (B,) of each bone, its own side only; NaN for one that is never seen."""
    usual = np.full(lengths.shape[1], np.nan)
    for bone in range(lengths.shape[1]):
        known = lengths[np.isfinite(lengths[:, bone]), bone]
        if len(known):
            usual[bone] = np.median(known)
    return usual


def hold_lengths(positions: Array, lengths: Array) -> Array:
    """Positions (T, P, 3) with bones at their lengths (B,), moved little; loose ones are left."""
    points = [np.ascontiguousarray(positions[:, point]) for point in range(positions.shape[1])]
    known = np.all(np.isfinite(positions), axis=(0, 2))
    bones = [
        (upper, lower, float(length))
        for (upper, lower), length, loose in zip(BONES.tolist(), lengths, LOOSE, strict=True)
        if np.isfinite(length) and known[upper] and known[lower] and not loose
    ]
    for number in range(_ROUNDS + 1):
        # Both ends share the correction, then the last round makes it exact, trunk first.
        share = 0.5 if number < _ROUNDS else 0.0
        for upper, lower, length in bones:
            across = points[lower] - points[upper]
            present = np.sqrt(np.einsum("ti,ti->t", across, across))
            excess = across * (1.0 - length / np.maximum(present, 1e-6))[:, None]
            if share:
                points[upper] = points[upper] + share * excess
            points[lower] = points[lower] - (1.0 - share) * excess
    return np.stack(points, axis=1)


Mask = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

_WINDOW_S = 0.06
_FASTEST_M_S2 = 60.0
_SPIKE_SIGMAS = 5.0
_BONE_SIGMAS = 6.0
_BONE_M, _BONE_PART = 0.05, 0.2
_LOOSE_M = 0.15
_USUAL_M = 0.15
_RIGID_M = 0.004
_OPPOSED = -0.5
_PASSES = 2
_WORST_PER_FRAME = 4
_GROUPS = (("hip", "knee", "ankle", "heel", "toe"), ("shoulder", "elbow", "wrist", "hand"))


@dataclass(frozen=True, eq=False)
class Outliers:
    """`wrong` (T, P) marks samples to throw away; `swapped` (T, 2) frames of [legs, arms]."""

    wrong: Mask
    swapped: Mask


def noise(positions: Array, known: Mask) -> Array:
    """The standard deviation (P,) of each point's noise along one axis, in metres.

    From third differences, in which slow motion vanishes and white noise adds up; 0 for a point
    with too few samples in a row.
    """
    third = np.diff(np.where(known[..., None], positions, np.nan), n=3, axis=0)
    deviation = np.zeros(positions.shape[1])
    for point in range(positions.shape[1]):
        steps = third[:, point]
        steps = np.abs(steps[np.isfinite(steps[:, 0])])
        if len(steps) >= 8:
            deviation[point] = 1.4826 * np.median(steps) / np.sqrt(20.0)
    return deviation


def find_outliers(positions: Array, known: Mask, rate_hz: float, sigma: Array) -> Outliers:
    """Which of the known samples are wrong; `sigma` (P,) is the noise of each point.

    Frames of swapped limbs are judged as they are after swapping back.
    """
    window = _window(rate_hz)
    away, middle = _away(positions, known, window)
    swapped = _swapped_limbs(positions, known, middle, sigma)
    mended, start = swap_back(positions, swapped), swap_back(known, swapped)
    if np.any(swapped):
        away, _ = _away(mended, start, window)
    good = start
    rigid = _on_rigid_bones(mended, start)
    # Where every other sample is missing, the window is twice as long.
    half_s = (window // 2) / rate_hz / np.maximum(start.mean(axis=0), 0.1)
    for _ in range(_PASSES):
        spikes = _spikes(mended, good, away, half_s, sigma) & ~rigid
        good = good & ~spikes
        again = np.any(spikes, axis=0)
        if not np.any(again):
            break
        away[:, again] = _away(mended[:, again], good[:, again], window)[0]
    good = good & ~_impossible_bones(mended, good, away, sigma)
    return Outliers(start & ~good, swapped)


def swap_back(samples: NDArray[Scalar], swapped: Mask) -> NDArray[Scalar]:
    """Samples (T, P, ...) with left and right of the limbs exchanged in the marked frames."""
    if not np.any(swapped):
        return samples
    mended = samples.copy()
    for group, parts in enumerate(_GROUPS):
        frames = np.flatnonzero(swapped[:, group])[:, None]
        left, right = (_indices(side, parts) for side in SIDES)
        mended[frames, left] = samples[frames, right]
        mended[frames, right] = samples[frames, left]
    return mended


def _indices(side: str, parts: tuple[str, ...]) -> list[int]:
    return [POINTS.index(f"{side}_{part}") for part in parts]


def _window(rate_hz: float) -> int:
    return int(np.clip(2 * round(_WINDOW_S * rate_hz / 2) + 1, 5, 7))


def _away(positions: Array, known: Mask, window: int) -> tuple[Array, Array]:
    """How far (T, P) each known sample is from the median of its known neighbours, and that.

    Neighbours are counted in samples, not in time, so that a gap hides none of them.
    """
    middle = bridge(positions, known)
    away = np.zeros(known.shape)
    for point in np.flatnonzero(known.sum(axis=0) >= 3):
        seen = slice(None) if known[:, point].all() else known[:, point]
        path = positions[seen, point]
        near = median_filter(path, size=(window, 1), mode="mirror")
        middle[seen, point] = near
        away[seen, point] = np.linalg.norm(path - near, axis=1)
    return away, middle


def _spikes(positions: Array, known: Mask, away: Array, half_s: Array, sigma: Array) -> Mask:
    """Known samples too far `away` from the median of their neighbours, and not by a smooth way."""
    # A tenth of the samples may be wrong, so the rest says what is usual for this point.
    usual = np.array(
        [
            np.quantile(each[seen], 0.9) if seen.any() else 0.0
            for each, seen in zip(away.T, known.T, strict=True)
        ]
    )
    real = np.minimum(0.5 * _FASTEST_M_S2 * half_s**2, _USUAL_M) + 4 * sigma
    allowed = np.maximum.reduce([_SPIKE_SIGMAS * sigma, real, np.minimum(3 * usual, _USUAL_M)])
    suspected = known & (away > allowed)
    if len(positions) < 5 or not np.any(suspected):
        return np.asarray(suspected)
    # The fourth difference is small along any real path, however fast, if it is sampled well.
    fourth = np.zeros_like(away)
    seen_only = np.where(known[..., None], positions, np.nan)
    fourth[2:-2] = np.linalg.norm(np.diff(seen_only, n=4, axis=0), axis=2) / 6
    # At the ends of the clip a spike has a smaller part in the difference.
    fourth[0], fourth[1], fourth[-2], fourth[-1] = (
        6 * fourth[2], 1.5 * fourth[2], 1.5 * fourth[-3], 6 * fourth[-3]
    )  # fmt: skip
    rough = maximum_filter1d(np.where(np.isfinite(fourth), fourth, np.inf), 5, axis=0)
    return np.asarray(suspected & (rough > 0.3 * away))


def _on_rigid_bones(positions: Array, known: Mask) -> Mask:
    """Samples (T, P) on a bone that has the length that it always has, to within millimetres.

    Motion solved on a skeleton is like that: what looks like a spike in it is a quick movement.
    """
    lengths = bone_lengths(np.where(known[..., None], positions, np.nan))
    off = np.abs(lengths - usual_lengths(lengths))
    steady = 1.4826 * usual_lengths(off) < 0.5 * _RIGID_M
    rigid = np.zeros(known.shape, dtype=bool)
    rigid[:, BONES[:, 1]] = (off < _RIGID_M) & steady
    return rigid


def _impossible_bones(positions: Array, known: Mask, away: Array, sigma: Array) -> Mask:
    """The fewest samples whose loss leaves no bone far from its usual length."""
    wrong = np.zeros_like(known)
    points = np.where(known[..., None], positions, np.nan)
    lengths = bone_lengths(points)
    usual = usual_lengths(lengths)
    off = np.abs(lengths - usual)
    spread = 1.4826 * usual_lengths(off)
    noisy = _BONE_SIGMAS * np.hypot(sigma[BONES[:, 0]], sigma[BONES[:, 1]])
    allowed = np.maximum.reduce(
        [_BONE_SIGMAS * spread, noisy, _BONE_PART * usual, np.where(LOOSE, _LOOSE_M, _BONE_M)]
    )
    bad = off > allowed
    frames = np.flatnonzero(np.any(bad, axis=1))
    if not len(frames):
        return wrong
    restless = away[frames]
    left = bad[frames]
    for _ in range(_WORST_PER_FRAME):
        count = np.zeros(restless.shape)
        for bone, (upper, lower) in enumerate(BONES):
            count[:, upper] += left[:, bone]
            count[:, lower] += left[:, bone]
        # Ties go to the outer end, unless the inner one moves more strangely.
        blame = np.where(count > 0, count + 0.5 * restless / (restless + 0.05), 0.0)
        blame[:, BONES[:, 1]] += np.where(count[:, BONES[:, 1]] > 0, 0.01, 0.0)
        worst = np.argmax(blame, axis=1)
        chosen = np.flatnonzero(blame[np.arange(len(frames)), worst] > 0)
        wrong[frames[chosen], worst[chosen]] = True
        touched = (BONES[:, 0] == worst[:, None]) | (BONES[:, 1] == worst[:, None])
        left = left & ~touched
    return wrong & known


def _swapped_limbs(positions: Array, known: Mask, middle: Array, sigma: Array) -> Mask:
    """Frames (T, 2) in which the left and right [legs, arms] stand in each other's place."""
    swapped = np.zeros((len(positions), len(_GROUPS)), dtype=bool)
    for group, parts in enumerate(_GROUPS):
        left, right = (_indices(side, parts) for side in SIDES)
        both = known[:, left] & known[:, right]
        as_is, crossed = (
            _distance2(positions, middle, left, here) + _distance2(positions, middle, right, there)
            for here, there in ((left, right), (right, left))
        )
        count = np.maximum(both.sum(axis=1), 1)
        as_is = np.where(both, as_is, 0.0).sum(axis=1) / count
        crossed = np.where(both, crossed, 0.0).sum(axis=1) / count
        far = np.maximum(0.1, 4 * float(np.max(sigma[left + right]))) ** 2
        swapped[:, group] = (as_is > far) & (crossed < 0.2 * as_is) & (both.sum(axis=1) >= 2)
    return swapped | _crossed_trunk(positions, known, sigma)


def _crossed_trunk(positions: Array, known: Mask, sigma: Array) -> Mask:
    """Frames (T, 2) in which hips and shoulders face opposite ways, at the end that turned over."""
    crossed = np.zeros((len(positions), len(_GROUPS)), dtype=bool)
    across, both = [], np.ones(len(positions), dtype=bool)
    for part in ("hip", "shoulder"):
        left, right = (POINTS.index(f"{side}_{part}") for side in SIDES)
        apart = positions[:, left] - positions[:, right]
        width = np.linalg.norm(apart, axis=1)
        seen = known[:, left] & known[:, right]
        usual = float(np.median(width[seen])) if np.any(seen) else 0.0
        # A single wrong end turns the line between them too, but seldom keeps its length.
        both &= seen & (np.abs(width - usual) < max(0.3 * usual, 3 * float(sigma[left])))
        across.append(normalise(np.where(seen[:, None], apart, 0.0)))
    cosine = np.einsum("ti,ti->t", *across)
    opposed, agreed = both & (cosine < _OPPOSED), both & (cosine > 0)
    # Rare, or it is no mistake of single frames and nobody can tell which end is wrong.
    if not 0 < opposed.sum() < 0.5 * agreed.sum():
        return crossed
    frames, good = np.flatnonzero(opposed), np.flatnonzero(agreed)
    before = good[np.maximum(np.searchsorted(good, frames) - 1, 0)]
    kept = np.stack([np.einsum("ti,ti->t", each[frames], each[before]) for each in across], axis=1)
    crossed[frames, np.argmin(kept, axis=1)] = True
    return crossed


def _distance2(positions: Array, middle: Array, points: list[int], places: list[int]) -> Array:
    apart = positions[:, points] - middle[:, places]
    return np.asarray(np.einsum("tpi,tpi->tp", apart, apart))
