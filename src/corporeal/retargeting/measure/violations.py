"""Limits of position, speed and effort that a motion breaks: how often, how far, which worst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.geometry import Array
from corporeal.retargeting.goal.contacts import runs

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
        where=tuple(runs(np.any(bad, axis=1))),
    )


def limits(stated: list[float | None], unknown: float) -> Array:
    """Limits (J,) as stated, or `unknown` where none is."""
    return np.array([unknown if value is None else value for value in stated], np.float64)
