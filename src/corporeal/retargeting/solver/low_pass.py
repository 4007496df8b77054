"""A Butterworth low-pass without delay, for joints and for a floating base."""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, sosfiltfilt

from corporeal.geometry import Array, normalise
from corporeal.retargeting.solver.chain import MotionState

ORDER = 4
# Fewer periods of the cut-off than this say nothing of what is slow: the filter would bend them.
PERIODS = 1.5


def low_pass(state: MotionState, rate_hz: float, cutoff_hz: float) -> MotionState:
    """The state without what is faster than `cutoff_hz`, forwards and backwards through the filter.

    A clip that is too short for the filter, or sampled too slowly, stays as it is.
    """
    if cutoff_hz >= 0.45 * rate_hz or len(state) < PERIODS * rate_hz / cutoff_hz:
        return state
    values = np.concatenate([state.base[:, :3], one_sided(state.base[:, 3:]), state.q], axis=1)
    smooth = filter_low(values, rate_hz, cutoff_hz)
    base = np.concatenate([smooth[:, :3], normalise(smooth[:, 3:7])], axis=1)
    return MotionState(base, smooth[:, 7:])


def filter_low(values: Array, rate_hz: float, cutoff_hz: float) -> Array:
    """Columns (T, n) through the filter, both ways."""
    sections = butter(ORDER, cutoff_hz, fs=rate_hz, output="sos")
    padding = min(len(values) - 1, round(3 * rate_hz / cutoff_hz))
    smooth: Array = sosfiltfilt(sections, values, axis=0, padlen=padding, padtype="odd")
    return smooth


def one_sided(quaternions: Array) -> Array:
    """The same turns (T, 4), each on the side of the one before: q and -q are one turn."""
    signs = np.sign(np.einsum("ti,ti->t", quaternions[1:], quaternions[:-1]))
    kept = np.cumprod(np.concatenate([[1.0], np.where(signs == 0, 1.0, signs)]))
    found: Array = quaternions * kept[:, None]
    return found
