"""Noise taken out of a motion by penalised least squares, as strongly as the noise is strong."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg import solveh_banded

from corporeal.geometry import Array

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
