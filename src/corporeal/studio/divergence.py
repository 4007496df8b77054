"""The first moment at which two aligned motions differ by more than noise and clocks explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.geometry import Array

LEAST = 0.01
"""Rad (or m): smaller differences are of no interest, however quiet the sensors are."""
SIGMAS = 6.0
HOLDS_S = 0.1
START_S = 0.3
_GRID = 20_000


@dataclass(frozen=True, eq=False)
class Course:
    """Positions (T, D) of named joints over time."""

    time_ns: NDArray[np.int64]
    positions: Array
    names: tuple[str, ...]


@dataclass(frozen=True)
class Divergence:
    """Where a joint of B first leaves that of A; the other fields say how sure that is.

    `difference` is what is beyond the difference at the start, `limit` what noise (`noise`, one
    standard deviation of the two together) and the distance of samples allow there.
    """

    time_a_ns: int
    time_b_ns: int
    joint: str
    difference: float
    limit: float
    noise: float


@dataclass(frozen=True)
class MotionContrast:
    """What two motions have in common: `first` is None where they never differ by more."""

    first: Divergence | None
    joints: int
    seconds: float
    start: float
    start_joint: str
    largest_limit: float


def find_divergence(a: Course, b: Course, at: Callable[[int], int]) -> MotionContrast | None:
    """Compare joints of both along `at`, the moment of B for one of A; None without any overlap.

    A difference counts when it holds for a tenth of a second. What they are apart at the start
    is taken off: two demonstrations never begin in the very same posture.
    """
    names = [name for name in a.names if name in b.names]
    time_a, time_b = _shared_times(a, b, at)
    if not names or len(time_a) < 3:
        return None
    first = _values(a, names, time_a)
    second = _values(b, names, time_b)
    step_s = float(np.median(np.diff(time_a))) / 1e9
    span = max(3, round(START_S / max(step_s, 1e-9)))
    apart = second - first
    start = np.nanmedian(apart[:span], axis=0)
    noise = np.hypot(_noise(a, names), _noise(b, names))
    slack_s = max(_period_s(a), _period_s(b))
    speed = np.maximum(np.abs(np.gradient(first, axis=0)), np.abs(np.gradient(second, axis=0)))
    limit = np.maximum(LEAST, SIGMAS * noise) + speed / max(step_s, 1e-9) * slack_s
    beyond = np.abs(apart - start) > limit
    held = _held(beyond, max(1, round(HOLDS_S / max(step_s, 1e-9))))
    worst = int(np.nanargmax(np.abs(start)))
    found = np.argwhere(held)
    divergence = None
    if len(found):
        row = int(found[0, 0])
        columns = np.flatnonzero(held[row])
        excess = np.abs(apart[row] - start) / limit[row]
        column = int(columns[np.argmax(excess[columns])])
        divergence = Divergence(
            int(time_a[row]), int(time_b[row]), names[column],
            float(abs(apart[row, column] - start[column])), float(limit[row, column]),
            float(noise[column]),
        )  # fmt: skip
    return MotionContrast(
        divergence, len(names), float(time_a[-1] - time_a[0]) / 1e9, float(abs(start[worst])),
        names[worst], float(limit.max()),
    )  # fmt: skip


def _shared_times(
    a: Course, b: Course, at: Callable[[int], int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Samples of A with their moments of B, where both were recorded."""
    step = max(1, -(-len(a.time_ns) // _GRID))
    time_a = a.time_ns[::step]
    time_b = np.array([at(int(each)) for each in time_a], np.int64)
    inside = (time_b >= b.time_ns[0]) & (time_b <= b.time_ns[-1])
    return time_a[inside], time_b[inside]


def _values(course: Course, names: Sequence[str], when: NDArray[np.int64]) -> Array:
    columns = [course.names.index(name) for name in names]
    return np.stack(
        [np.interp(when, course.time_ns, course.positions[:, each]) for each in columns], axis=1
    )


def _noise(course: Course, names: Sequence[str]) -> Array:
    """The standard deviation of noise: of third differences, in which a smooth motion vanishes."""
    columns = [course.names.index(name) for name in names]
    third = np.diff(course.positions[:, columns], n=3, axis=0)
    if not len(third):
        return np.zeros(len(columns))
    spread: Array = 1.4826 * np.nanmedian(np.abs(third), axis=0) / np.sqrt(20)
    return spread


def _period_s(course: Course) -> float:
    return float(np.median(np.diff(course.time_ns))) / 1e9


def _held(beyond: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """Where something begins that lasts for `count` samples."""
    if len(beyond) < count:
        return np.zeros_like(beyond)
    sums = np.cumsum(np.pad(beyond.astype(np.int64), ((1, 0), (0, 0))), axis=0)
    full = (sums[count:] - sums[:-count]) == count
    return np.pad(full, ((0, len(beyond) - len(full)), (0, 0)))
