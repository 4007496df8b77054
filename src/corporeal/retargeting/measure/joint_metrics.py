"""Joints of a motion: limits of position, speed and effort that it breaks, and how smooth it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from corporeal.embodiment import Embodiment
from corporeal.geometry import Array
from corporeal.signal.runs import runs

# Rounding of a file with six digits is no broken limit.
POSITION_SLACK_RAD = 1e-4
SPEED_SLACK = 1e-3
# Share of the limit by which an estimate may exceed it: inertias are known to a few per cent.
EFFORT_SLACK = 0.05


@dataclass(frozen=True)
class Violations:
    """How often a limit is broken (frames x joints), in how many frames, and where worst.

    `worst` is how far beyond the limit: radians for positions, a share of the limit for speeds and
    efforts; `joint` is the one that is. `stated` is how many joints have such a limit at all;
    `where` are the frames, from the first up to, not including, the second.
    """

    count: int = 0
    frames: int = 0
    worst: float = 0.0
    joint: str = ""
    stated: int = 0
    where: tuple[tuple[int, int], ...] = ()


def position_violations(robot: Embodiment, q: Array) -> Violations:
    """Joints (T, J) beyond their position limits; a joint without limits breaks none."""
    lower = limits([joint.lower for joint in robot.actuated], -np.inf)
    upper = limits([joint.upper for joint in robot.actuated], np.inf)
    beyond = np.maximum(np.maximum(lower - q, q - upper), 0.0)
    return count_violations(
        robot, beyond, POSITION_SLACK_RAD, np.isfinite(lower) | np.isfinite(upper)
    )


def speed_violations(robot: Embodiment, rate_hz: float, q: Array) -> Violations:
    """Steps of joints (T, J) faster than their motors, as a share of the limit."""
    limit = limits([joint.velocity or None for joint in robot.actuated], np.inf)
    speed = np.abs(np.diff(q, axis=0)) * rate_hz
    return count_violations(
        robot, np.maximum(speed / limit - 1, 0.0), SPEED_SLACK, np.isfinite(limit)
    )


def effort_violations(robot: Embodiment, efforts: Array) -> Violations:
    """Efforts (T, J) above their limits by more than EFFORT_SLACK, as a share of the limit."""
    limit = limits([joint.effort or None for joint in robot.actuated], np.inf)
    over = np.maximum(np.abs(efforts) / limit - 1, 0.0)
    return count_violations(robot, over, EFFORT_SLACK, np.isfinite(limit))


def count_violations(
    robot: Embodiment, beyond: Array, slack: float, stated: NDArray[np.bool_]
) -> Violations:
    """Counts what lies more than `slack` beyond its limit, from excesses (T, J)."""
    bad = beyond > slack
    known = int(np.count_nonzero(stated))
    if not bad.any():
        return Violations(stated=known)
    frame, joint = np.unravel_index(int(beyond.argmax()), beyond.shape)
    return Violations(
        count=int(np.count_nonzero(bad)),
        frames=int(np.count_nonzero(bad.any(axis=1))),
        worst=float(beyond[frame, joint]),
        joint=robot.joint_names[int(joint)],
        stated=known,
        where=runs(np.any(bad, axis=1)),
    )


def limits(stated: list[float | None], unknown: float) -> Array:
    """Limits (J,) as stated, or `unknown` where none is."""
    return np.array([unknown if value is None else value for value in stated], np.float64)


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
