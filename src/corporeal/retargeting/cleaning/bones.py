"""Pairs of points whose distance a body keeps, and how a noisy body is given it back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corporeal.geometry import Array
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
    held = [np.ascontiguousarray(positions[:, point]) for point in range(positions.shape[1])]
    known = np.all(np.isfinite(positions), axis=(0, 2))
    bones = [
        (upper, lower, float(length))
        for (upper, lower), length, loose in zip(BONES.tolist(), lengths, LOOSE, strict=True)
        if np.isfinite(length) and known[upper] and known[lower] and not loose
    ]
    for turn in range(_ROUNDS + 1):
        # Both ends share the correction, then the last round makes it exact, trunk first.
        share = 0.5 if turn < _ROUNDS else 0.0
        for upper, lower, length in bones:
            across = held[lower] - held[upper]
            found = np.sqrt(np.einsum("ti,ti->t", across, across))
            excess = across * (1.0 - length / np.maximum(found, 1e-6))[:, None]
            if share:
                held[upper] = held[upper] + share * excess
            held[lower] = held[lower] - (1.0 - share) * excess
    return np.stack(held, axis=1)
