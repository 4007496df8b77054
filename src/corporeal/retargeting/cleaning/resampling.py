"""The same motion at another rate, without aliases of what the lower rate cannot show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import butter, sosfiltfilt

from corporeal.geometry import Array, matrix_from_quaternion, quaternion_from_matrix, slerp
from corporeal.retargeting.motion import HumanMotion, MotionError

MAX_FRAMES = 5_000_000


def resample(motion: HumanMotion, rate_hz: float) -> HumanMotion:
    """The motion at `rate_hz`, from the same first moment; a lower rate is filtered first.

    Positions go through cubics, turns along great arcs; a new sample is as sure as the less sure
    of its two neighbours, and unknown where one of them is.
    """
    if not (np.isfinite(rate_hz) and rate_hz > 0):
        raise MotionError(f"{motion.origin.path}: got a rate of {rate_hz} Hz; give --rate.")
    if abs(rate_hz - motion.rate_hz) < 1e-9 * rate_hz or len(motion) < 2:
        return replace(motion, rate_hz=rate_hz)
    frames = int(motion.duration_s * rate_hz + 1e-6) + 1
    if frames > MAX_FRAMES:
        raise MotionError(
            f"{motion.origin.path}: {frames} frames at {rate_hz} Hz; expected at most "
            f"{MAX_FRAMES}. Give a lower --rate."
        )
    where = np.minimum(np.arange(frames) * (motion.rate_hz / rate_hz), len(motion) - 1.0)
    first = np.minimum(where.astype(np.int64), len(motion) - 2)
    fraction = where - first
    # A sample on a frame depends on that frame alone.
    after = np.where(fraction > 1e-9, first + 1, first)
    contacts = motion.contacts
    return replace(
        motion,
        rate_hz=rate_hz,
        positions=_positions(motion, rate_hz, where, first, after),
        confidence=np.minimum(motion.confidence[first], motion.confidence[after]),
        turns={name: _turns(turn, first, fraction) for name, turn in motion.turns.items()},
        contacts=None if contacts is None else contacts[np.rint(where).astype(np.int64)],
    )


def _positions(
    motion: HumanMotion,
    rate_hz: float,
    where: Array,
    first: NDArray[np.int64],
    after: NDArray[np.int64],
) -> Array:
    known = np.all(np.isfinite(motion.positions), axis=2)
    filled = bridge(motion.positions, known)
    frames = len(motion)
    if rate_hz < 0.99 * motion.rate_hz and frames > 18:
        sections = butter(4, 0.45 * rate_hz, fs=motion.rate_hz, output="sos")
        filled = sosfiltfilt(sections, filled, axis=0, padlen=min(frames - 1, 60))
    new = np.asarray(CubicSpline(np.arange(frames), filled, axis=0)(where))
    new[~(known[first] & known[after])] = np.nan
    return new


def _turns(turns: Array, first: NDArray[np.int64], fraction: Array) -> Array:
    quaternions = quaternion_from_matrix(turns)
    new = matrix_from_quaternion(slerp(quaternions[first], quaternions[first + 1], fraction))
    unknown = ~np.all(np.isfinite(turns), axis=(1, 2))
    new[unknown[first] | unknown[first + 1]] = np.nan
    return new


def bridge(positions: Array, known: NDArray[np.bool_]) -> Array:
    """Positions (T, P, 3) with straight lines where not `known` (T, P), 0 where it never is."""
    filled = np.where(known[..., None], positions, 0.0)
    frames = np.arange(len(positions))
    for point in np.flatnonzero(~np.all(known, axis=0) & np.any(known, axis=0)):
        seen, unseen = known[:, point], ~known[:, point]
        for axis in range(3):
            filled[unseen, point, axis] = np.interp(
                frames[unseen], frames[seen], positions[seen, point, axis]
            )
    return filled
