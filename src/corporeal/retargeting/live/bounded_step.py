"""The smallest value of a quadratic within bounds: which bounds hold is guessed and mended."""

from __future__ import annotations

import numpy as np

from corporeal.geometry import Array

_MOST_GUESSES = 12
_MOST_SWEEPS = 40
_SMALL = 1e-9


def bounded_step(normal: Array, slope: Array, low: Array, high: Array) -> Array:
    """x with low <= x <= high that minimises x' normal x / 2 - slope' x.

    `normal` (N, N) is positive definite, and low <= high. A primal-dual active set finds it in a
    few solves nearly always; where its guesses go in circles, coordinates are improved in turn.
    """
    at_low, at_high = np.zeros(len(slope), bool), np.zeros(len(slope), bool)
    x = np.zeros(len(slope))
    for _ in range(_MOST_GUESSES):
        held = at_low | at_high
        free = ~held
        x = np.where(at_low, low, np.where(at_high, high, 0.0))
        rest = slope[free] - normal[np.ix_(free, held)] @ x[held]
        x[free] = np.linalg.solve(normal[np.ix_(free, free)], rest)
        # What a held coordinate pulls with: away from its bound, it is let go.
        pull = slope - normal @ x
        new_low = (at_low & (pull < _SMALL)) | (free & (x < low - _SMALL))
        new_high = (at_high & (pull > -_SMALL)) | (free & (x > high + _SMALL))
        if np.array_equal(new_low, at_low) and np.array_equal(new_high, at_high):
            return np.asarray(np.clip(x, low, high))
        at_low, at_high = new_low, new_high
    return _improved(normal, slope, low, high, np.asarray(np.clip(x, low, high)))


def _improved(normal: Array, slope: Array, low: Array, high: Array, x: Array) -> Array:
    """One coordinate at a time to its best value, until nothing moves."""
    diagonal = np.diagonal(normal)
    for _ in range(_MOST_SWEEPS):
        moved = 0.0
        for index in range(len(x)):
            wanted = x[index] + (slope[index] - normal[index] @ x) / diagonal[index]
            new = min(max(wanted, low[index]), high[index])
            moved = max(moved, abs(new - x[index]))
            x[index] = new
        if moved < 1e-6:
            break
    return x
