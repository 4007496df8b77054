"""What cameras got wrong is mended: outliers, gaps, noise, bones that change their length."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded

from corporeal.geometry import Array
from corporeal.retargeting.cleaning.gaps import LONG, Filled, fill_gaps, resample
from corporeal.retargeting.cleaning.outliers import (
    MIRROR,
    Outliers,
    bone_lengths,
    find_outliers,
    hold_lengths,
    noise,
    swap_back,
    usual_lengths,
)
from corporeal.retargeting.motion import NEEDED, POINTS, HumanMotion, MotionError

__all__ = ["clean", "resample"]

# From here on samples are smoothed: markers are ten times better, cameras without them worse.
NOISY_M = 0.005
# Farther from the origin than this is no place where somebody was.
_FARTHEST_M = 10_000.0
_SMALLEST_M = 0.3
_STRAY_SIGMAS, _STRAY_M, _STRAY_HZ = 4.5, 0.08, 6.0
# Points on the line of a body, from the two that they are made of; where they are; how surely.
_MADE_OF = {
    "pelvis": ("left_hip", "right_hip", 0.5, 1.0),
    "neck": ("left_shoulder", "right_shoulder", 0.5, 0.9),
    "spine": ("pelvis", "neck", 0.27, 0.5),
    "chest": ("pelvis", "neck", 0.6, 0.5),
}


def clean(motion: HumanMotion, *, noisy_m: float = NOISY_M) -> HumanMotion:
    """The motion without outliers, gaps and, where the noise is above `noisy_m`, noise.

    An outlier is replaced and its confidence becomes 0; a filled gap has less confidence the
    farther it is from what was seen. A point never seen stays NaN unless others tell where it
    is. Raises MotionError where no body is left.
    """
    source = motion.origin.path
    if len(motion) < 2:
        raise MotionError(
            f"{source}: has {len(motion)} frame; expected a motion. Give a longer clip."
        )
    raw, confidence = _known_samples(motion)
    made = _make_missing(raw, confidence)
    seen = confidence > 0
    _check_needed(motion, raw, seen)
    sigma = noise(raw, seen)
    outliers = find_outliers(raw, seen, motion.rate_hz, sigma)
    positions, sure = _without(raw, confidence, outliers)
    _check_needed(motion, positions, sure > 0)
    noise_m = float(np.median(sigma[np.any(seen, axis=0)]))
    noisy = noise_m > noisy_m
    filled = fill_gaps(positions, sure, motion.rate_hz, straight=noisy)
    wrong = outliers.wrong
    result = filled.positions
    if noisy:
        sigma = np.maximum(sigma, noise_m)
        filled, stray = _without_strays(filled, positions, motion.rate_hz, sigma)
        wrong = wrong | stray
        result = _smoothed(filled, motion.rate_hz, sigma)
    _make_again(result, made)
    final = np.where(wrong, 0.0, filled.confidence)
    notes = [*_say_gaps(seen, filled), *_say_outliers(seen, wrong, outliers.swapped)]
    if made:
        notes.append(f"{', '.join(made)} made from the points around")
    if noisy:
        notes.append(
            f"noise of about {1000 * noise_m:.0f} mm smoothed, bones held at their lengths"
        )
    return replace(motion, positions=result, confidence=final).noting(*notes)


def _known_samples(motion: HumanMotion) -> tuple[Array, Array]:
    positions = np.array(motion.positions, np.float64)
    confidence = np.clip(np.nan_to_num(motion.confidence.astype(np.float64)), 0.0, 1.0)
    with np.errstate(invalid="ignore"):
        known = np.all(np.abs(positions) < _FARTHEST_M, axis=2) & (confidence > 0)
    positions[~known] = np.nan
    return positions, np.where(known, confidence, 0.0)


def _make_missing(positions: Array, confidence: Array) -> tuple[str, ...]:
    """Put the trunk's points that no frame has between those that it has; returns their names."""
    made = []
    for name, (start, end, part, trust) in _MADE_OF.items():
        point, first, last = (POINTS.index(each) for each in (name, start, end))
        both = (confidence[:, first] > 0) & (confidence[:, last] > 0)
        if not np.any(confidence[:, point] > 0) and np.any(both):
            positions[:, point] = (1 - part) * positions[:, first] + part * positions[:, last]
            least = np.minimum(confidence[:, first], confidence[:, last])
            confidence[:, point] = np.where(both, trust * least, 0.0)
            made.append(name)
    return tuple(made)


def _make_again(positions: Array, made: tuple[str, ...]) -> None:
    for name in made:
        start, end, part, _ = _MADE_OF[name]
        first, last = positions[:, POINTS.index(start)], positions[:, POINTS.index(end)]
        positions[:, POINTS.index(name)] = (1 - part) * first + part * last


def _check_needed(motion: HumanMotion, positions: Array, seen: NDArray[np.bool_]) -> None:
    source = motion.origin.path
    missing = [name for name in NEEDED if not np.any(seen[:, POINTS.index(name)])]
    if len(missing) == len(NEEDED):
        raise MotionError(f"{source}: no point of the body is known. Export the clip again.")
    if missing:
        raise MotionError(
            f"{source}: never shows {', '.join(missing)}, without which there is no body to "
            "follow. Map these points with --skeleton, or use a clip that has them."
        )
    usual = usual_lengths(bone_lengths(positions))
    if not np.nansum(usual) > _SMALLEST_M:
        raise MotionError(f"{source}: all points are in one spot; expected a body in metres.")


def _without(raw: Array, confidence: Array, found: Outliers) -> tuple[Array, Array]:
    """Positions and confidences with limbs swapped back, at half the trust, and no outliers."""
    positions = swap_back(raw, found.swapped)
    sure = swap_back(confidence, found.swapped)
    changed = np.any(positions != raw, axis=2) & (sure > 0)
    sure = np.where(found.wrong, 0.0, np.where(changed, 0.5 * sure, sure))
    return np.where(found.wrong[..., None], np.nan, positions), sure


def _without_strays(
    filled: Filled, positions: Array, rate_hz: float, sigma: Array
) -> tuple[Filled, NDArray[np.bool_]]:
    """Samples far from a smooth path through all of them put on it, and which these are."""
    paths = _smooth_paths(filled, rate_hz, sigma, cutoff_hz=_STRAY_HZ)
    away = np.linalg.norm(positions - paths, axis=2)
    with np.errstate(invalid="ignore"):
        stray = np.asarray(away > np.maximum(_STRAY_SIGMAS * sigma, _STRAY_M))
    mended = replace(
        filled,
        positions=np.where(stray[..., None], paths, filled.positions),
        confidence=np.where(stray, LONG, filled.confidence),
    )
    return mended, stray


def _smooth_paths(
    filled: Filled, rate_hz: float, sigma: Array, *, cutoff_hz: float | None = None
) -> Array:
    present = np.all(np.isfinite(filled.positions), axis=(0, 2))
    result = filled.positions.copy()
    # What was filled in weighs little: it is a guess made from what was seen.
    seen_more = filled.confidence[:, present] ** 2
    result[:, present] = smooth(
        result[:, present], seen_more, rate_hz, sigma[present], cutoff_hz=cutoff_hz
    )
    return result


def _smoothed(filled: Filled, rate_hz: float, sigma: Array) -> Array:
    """Smooth paths, bones at constant lengths that are the same left and right."""
    result = _smooth_paths(filled, rate_hz, sigma)
    usual = usual_lengths(bone_lengths(result))
    return hold_lengths(result, (usual + usual[MIRROR]) / 2)


def _say_gaps(seen: NDArray[np.bool_], filled: Filled) -> list[str]:
    ever = np.any(seen, axis=0)
    missing = ~seen[:, ever]
    notes = []
    if np.any(missing):
        notes.append(
            f"{filled.gaps} gaps filled, {100 * np.mean(missing):.1f} % of the samples; the "
            f"longest is {filled.longest_s:.2f} s of {filled.longest}"
        )
    shares = {name: 1 - float(np.mean(seen[:, POINTS.index(name)])) for name in NEEDED}
    poor = [f"{name} ({100 * share:.0f} %)" for name, share in shares.items() if share > 0.5]
    if poor:
        notes.append(f"missing in over half of the frames, not to be trusted: {', '.join(poor)}")
    return notes


def _say_outliers(
    seen: NDArray[np.bool_], wrong: NDArray[np.bool_], swapped: NDArray[np.bool_]
) -> list[str]:
    notes = []
    if count := int(np.sum(wrong)):
        share = 100 * count / int(np.sum(seen))
        notes.append(f"{count} outliers replaced, {share:.1f} % of the samples")
    if frames := int(np.sum(np.any(swapped, axis=1))):
        notes.append(f"left and right were swapped in {frames} frames, and are swapped back")
    return notes


_ORDER = 3
_DIFFERENCE = np.array([-1.0, 3.0, -3.0, 1.0])
# Half of the signal is lost here, for each strength tried.
_CUTOFFS_HZ = np.geomspace(1.5, 15.0, 8)
_ROBUST_SIGMAS = 4.0
# The strength is found on pieces of a long clip: at most this many, of this many frames.
_PIECES, _PIECE = 2, 500


def smooth(
    positions: Array,
    weights: Array,
    rate_hz: float,
    sigma: Array,
    *,
    cutoff_hz: float | None = None,
) -> Array:
    """Positions (T, P, 3), all finite, each sample counted by its weight (T, P).

    Without a cutoff each point's is found by generalised cross-validation; what is still more
    than four `sigma` (P,) from the smooth path is counted less in a second round.
    """
    if len(positions) <= 2 * _ORDER:
        return positions
    result = np.empty_like(positions)
    for point in range(positions.shape[1]):
        path, weight = positions[:, point], weights[:, point]
        strength = (
            _best_strength(path, weight, rate_hz)
            if cutoff_hz is None
            else float(_strengths(np.array([cutoff_hz]), rate_hz)[0])
        )
        first = _solve(path, weight, strength)
        residual = np.linalg.norm(path - first, axis=1) / (np.sqrt(3) * max(sigma[point], 1e-6))
        doubt = np.minimum(1.0, (_ROBUST_SIGMAS / np.maximum(residual, 1e-9)) ** 2)
        result[:, point] = _solve(path, weight * doubt, strength) if doubt.min() < 1 else first
    return result


def _strengths(cutoffs_hz: Array, rate_hz: float) -> Array:
    parts = np.minimum(cutoffs_hz / rate_hz, 0.45)
    return np.asarray(1.0 / (2 * np.sin(np.pi * parts)) ** (2 * _ORDER))


def _best_strength(path: Array, weight: Array, rate_hz: float) -> float:
    """The penalty whose path predicts best what it has not seen."""
    tried = _strengths(_CUTOFFS_HZ, rate_hz)
    frames = min(len(path), _PIECE)
    pieces = 1 if len(path) < 2 * _PIECE else _PIECES
    waves = (2 * np.sin(np.pi * np.arange(frames) / (2 * frames))) ** (2 * _ORDER)
    scores = np.zeros(len(tried))
    for start in np.linspace(0, len(path) - frames, pieces).astype(np.int64):
        x, w = path[start : start + frames], weight[start : start + frames]
        total = max(float(w.sum()), 1e-3)
        for index, strength in enumerate(tried):
            away = x - _solve(x, w, strength)
            # How many numbers the path spends; as if the weights were spread evenly.
            spent = float(np.sum(1.0 / (1.0 + strength * frames / total * waves)))
            unexplained = float(np.einsum("t,ti,ti->", w, away, away)) / total
            scores[index] += unexplained / max(1.0 - spent / total, 1e-3) ** 2
    return float(tried[np.argmin(scores)])


def _solve(path: Array, weight: Array, strength: float) -> Array:
    """The path z that minimises sum w (z - x)^2 + strength * sum (third difference of z)^2."""
    bands = strength * _penalty(len(path))
    # A whisper of weight everywhere keeps the system regular where nothing is known.
    counted = np.maximum(weight, 1e-3)
    bands[_ORDER] += counted
    return np.asarray(solveh_banded(bands, counted[:, None] * path, check_finite=False))


@lru_cache(maxsize=8)
def _penalty(frames: int) -> Array:
    """The squared third difference as an upper band matrix (4, frames); not to be written to."""
    bands = np.zeros((_ORDER + 1, frames))
    for row in range(_ORDER + 1):
        for column in range(row, _ORDER + 1):
            product = _DIFFERENCE[row] * _DIFFERENCE[column]
            bands[_ORDER - (column - row), column : frames - _ORDER + column] += product
    return bands
