"""How smoothly joints move, from their positions alone: jumps, jerk, and power above 5 Hz."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from corporeal.embodiment import Embodiment
from corporeal.geometry import Array
from corporeal.retargeting.measure.violations import POSITION_SLACK_RAD, limits

# A jump is this many times the usual step of the joint within half a second around it.
JUMP_RATIO = 5.0
_AROUND_S = 0.5
QUICK_HZ = 5.0


@dataclass(frozen=True)
class Smoothness:
    """How smooth the joints of a motion are.

    `jumps` counts joints that leap from one frame to the next. `jerk_*` is the absolute third
    difference of positions, rad/s3, over all joints and frames. `quick_share` is the part of the
    power of all joint velocities that lies above QUICK_HZ. `base_gain_*` is the acceleration of
    the base, m/s2: a contact that is forced upon a motion shows here first.
    """

    jumps: int
    jerk_mean_rad_s3: float
    jerk_p95_rad_s3: float
    quick_share: float
    base_gain_p95_m_s2: float
    base_gain_max_m_s2: float


def measure_smoothness(robot: Embodiment, rate_hz: float, q: Array, base: Array) -> Smoothness:
    """Smoothness of joints (T, J) and of the place of the base (T, 7)."""
    gain = np.linalg.norm(np.diff(base[:, :3], n=2, axis=0), axis=1) * rate_hz**2
    jerk = np.abs(np.diff(q, n=3, axis=0)) * rate_hz**3
    return Smoothness(
        jumps=int(np.count_nonzero(jumps_of(robot, rate_hz, q))),
        jerk_mean_rad_s3=float(jerk.mean()) if jerk.size else 0.0,
        jerk_p95_rad_s3=float(np.quantile(jerk, 0.95)) if jerk.size else 0.0,
        quick_share=quick_share(rate_hz, q),
        base_gain_p95_m_s2=float(np.quantile(gain, 0.95)) if gain.size else 0.0,
        base_gain_max_m_s2=float(gain.max(initial=0.0)),
    )


def jumps_of(robot: Embodiment, rate_hz: float, q: Array) -> NDArray[np.bool_]:
    """Steps (T - 1, J) that are jumps.

    A jump is faster than the joint's motor, where its limit is known, and over JUMP_RATIO times
    the median step of that joint in the half second around it.
    """
    steps = np.abs(np.diff(q, axis=0))
    fastest = limits([joint.velocity or None for joint in robot.actuated], 0.0) / rate_hz
    jumps: NDArray[np.bool_] = steps > np.maximum(fastest, POSITION_SLACK_RAD)
    columns = np.flatnonzero(jumps.any(axis=0))
    window = max(3, round(_AROUND_S * rate_hz))
    for column in columns:
        usual = median_filter(steps[:, column], window, mode="nearest")
        jumps[:, column] &= steps[:, column] > JUMP_RATIO * usual
    return jumps


def quick_share(rate_hz: float, q: Array) -> float:
    """The part (0 to 1) of the power of the velocities of joints (T, J) above QUICK_HZ."""
    speed = np.diff(q, axis=0) * rate_hz
    if len(speed) < 8:
        return 0.0
    # A window, or the ends of the clip would spread over all frequencies.
    power = np.abs(np.fft.rfft(speed * np.hanning(len(speed))[:, None], axis=0)) ** 2
    frequency = np.fft.rfftfreq(len(speed), 1 / rate_hz)
    total = float(power.sum())
    return float(power[frequency > QUICK_HZ].sum()) / total if total > 0 else 0.0
