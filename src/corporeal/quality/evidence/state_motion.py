"""How fast the robot's state moves, to hold pictures against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d

from corporeal.errors import NotAssessed
from corporeal.quality.evidence.pictures import PictureTrack
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.signal.track import Array

# The state is averaged over this long before its speed is taken: its noise is not motion.
SMOOTH_S = 0.08


@dataclass(frozen=True, eq=False)
class StateMotion:
    """How fast the robot's state moves, on its own clock; no unit."""

    label: str
    seconds: Array
    """Middles of the steps."""
    speed: Array
    smooth: Array
    """The state (T, D), every column scaled by how far its motion stands out of its noise."""
    smooth_s: Array


@once_per_subject
def state_motion(subject: Subject) -> StateMotion:
    """Speed of the state, made once for all cameras; NotAssessed where nothing moves."""
    state = subject.state
    period_s = max(state.period_s, 1e-4)
    seconds, first = np.unique(state.seconds, return_index=True)
    known = np.isfinite(state.values[first]).all(axis=1)
    seconds, values = seconds[known], state.values[first][known]
    if len(seconds) < 5:
        raise NotAssessed(f"{state.label} has {len(seconds)} samples")
    noise, reach = _noise(values), np.ptp(values, axis=0)
    used = reach > np.maximum(8 * noise, 1e-9)
    if not used.any():
        raise NotAssessed(f"{state.label} does not move")
    width = 2 * int(SMOOTH_S / period_s / 2) + 1 if period_s < 0.02 else 1
    floor = np.maximum(noise[used], 0.003 * reach[used])
    clear = reach[used] / floor
    scaled = values[:, used] / floor * (clear / clear.max())
    smooth = uniform_filter1d(scaled, width, axis=0, mode="nearest") if width > 1 else scaled
    speed = np.sqrt((np.diff(smooth, axis=0) ** 2).sum(axis=1)) / np.diff(seconds)
    return StateMotion(state.label, (seconds[1:] + seconds[:-1]) / 2, speed, smooth, seconds)


def state_steps(subject: Subject, track: PictureTrack) -> Array | None:
    """How far the state went since the picture before (T,), no unit.

    Zero where the state never moves; None where there is none, or pictures have no stamps.
    """
    if len(track.seconds) < len(track) or len(track) < 3:
        return None
    try:
        if len(subject.state) < 5:
            return None
    except NotAssessed:
        return None
    try:
        motion = state_motion(subject)
    except NotAssessed:
        return np.zeros(len(track))
    place = np.interp(track.seconds, motion.smooth_s, np.arange(len(motion.smooth_s)))
    left = np.minimum(place.astype(int), len(motion.smooth_s) - 2)
    ahead = motion.smooth[left + 1] - motion.smooth[left]
    at = motion.smooth[left] + (place - left)[:, None] * ahead
    return np.concatenate(([0.0], np.sqrt((np.diff(at, axis=0) ** 2).sum(axis=1))))


def _noise(values: Array) -> Array:
    """The noise of every column: what bends its path over four samples, or its smallest step."""
    steps = np.abs(np.diff(values, axis=0))
    smallest = np.where(steps > 0, steps, np.inf).min(axis=0)
    bends = np.median(np.abs(np.diff(values, n=3, axis=0)), axis=0)
    return np.asarray(np.maximum(bends, np.where(np.isfinite(smallest), smallest, 0.0)))
