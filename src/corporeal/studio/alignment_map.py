"""Which moment of one episode belongs to a moment of another: by time, by phase, by motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import CorporealError
from corporeal.signal.warping import MOST_FRAMES, warping_path

Alignment = Literal["time", "start", "phase", "motion"]
ALIGNMENTS: tuple[Alignment, ...] = get_args(Alignment)
MOST_POINTS = 400
_LEAST_SHARE = 0.05
"""A column counts as moving with this share of the spread of the one that moves most."""

Marks = Mapping[str, Sequence[tuple[str, int]]]
"""The labels of each lane with their times, in their order."""


class NoAlignmentError(CorporealError):
    """Two episodes cannot be aligned this way; the message says why."""


@dataclass(frozen=True)
class AlignmentMap:
    """Moments that belong together, both increasing; between them the map is straight.

    Before the first and after the last both clocks run alike.
    """

    time_a: NDArray[np.int64]
    time_b: NDArray[np.int64]

    def at(self, time_ns: int) -> int:
        """The moment of the second episode for a moment of the first."""
        if time_ns <= self.time_a[0]:
            return int(self.time_b[0] + time_ns - self.time_a[0])
        if time_ns >= self.time_a[-1]:
            return int(self.time_b[-1] + time_ns - self.time_a[-1])
        return round(float(np.interp(time_ns, self.time_a, self.time_b)))


@dataclass(frozen=True)
class Course:
    """Positions (T, D) of named joints over time."""

    time_ns: NDArray[np.int64]
    positions: NDArray[np.float64]
    names: tuple[str, ...]


def shifted(zero_a: int, zero_b: int) -> AlignmentMap:
    """Both clocks run alike from two moments on."""
    return AlignmentMap(np.array([zero_a], np.int64), np.array([zero_b], np.int64))


def by_phase(a: Marks, b: Marks) -> AlignmentMap:
    """Straight between labels that both have, in the same lane and for the same time."""
    pairs: list[tuple[int, int]] = []
    for lane in a:
        if lane in b:
            pairs += _shared(a[lane], b[lane])
    kept = _rising(sorted(pairs))
    if len(kept) < 2:
        raise NoAlignmentError(
            "the two have no two labels in common; label their phases, or align by motion"
        )
    return AlignmentMap(*(np.array(side, np.int64) for side in zip(*kept, strict=True)))


def _shared(a: Sequence[tuple[str, int]], b: Sequence[tuple[str, int]]) -> list[tuple[int, int]]:
    times = dict(_counted(b))
    return [(time, times[key]) for key, time in _counted(a) if key in times]


def _counted(marks: Sequence[tuple[str, int]]) -> list[tuple[tuple[str, int], int]]:
    """Each label with how often it came before: the second grasp belongs to the second."""
    seen: dict[str, int] = {}
    found = []
    for label, time in marks:
        seen[label] = seen.get(label, 0) + 1
        found.append(((label, seen[label]), time))
    return found


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run in which both times rise; things done in another order drop out."""
    best: list[tuple[int, int]] = []
    runs: list[list[tuple[int, int]]] = []
    for pair in pairs[:MOST_POINTS]:
        before = [run for run in runs if run[-1][0] < pair[0] and run[-1][1] < pair[1]]
        run = [*max(before, key=len, default=[]), pair]
        runs.append(run)
        best = max(best, run, key=len)
    return best


def by_motion(a: Course, b: Course) -> AlignmentMap:
    """Along the path on which the joints of both are nearest to each other."""
    names = [name for name in a.names if name in b.names]
    if not names:
        raise NoAlignmentError("the two have no joint in common")
    if min(len(a.time_ns), len(b.time_ns)) < 3:
        raise NoAlignmentError("one of the two has fewer than three samples of its joints")
    (time_a, first), (time_b, second) = _even(a, names), _even(b, names)
    both = np.concatenate((first, second))
    spread = both.std(axis=0)
    moving = spread > _LEAST_SHARE * float(spread.max(initial=0.0))
    if not moving.any():
        raise NoAlignmentError("nothing moves in either of the two")
    path = warping_path(first[:, moving] / spread[moving], second[:, moving] / spread[moving])
    return _thinned(time_a[path[:, 0]], time_b[path[:, 1]])


def _even(course: Course, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Even times, as many as may be, and the positions of these joints there."""
    count = min(MOST_FRAMES, len(course.time_ns))
    when = np.linspace(course.time_ns[0], course.time_ns[-1], count).astype(np.int64)
    columns = [course.names.index(name) for name in names]
    values = np.nan_to_num(course.positions[:, columns])
    found = [np.interp(when, course.time_ns, column) for column in values.T]
    return when, np.stack(found, axis=1)


def _thinned(time_a: NDArray[np.int64], time_b: NDArray[np.int64]) -> AlignmentMap:
    """One moment of B for each of A: where A waits for B, the middle of what B does."""
    when, first, count = np.unique(time_a, return_index=True, return_counts=True)
    then = time_b[first + count // 2]
    chosen = np.unique(np.linspace(0, len(when) - 1, MOST_POINTS).astype(int))
    return AlignmentMap(when[chosen], np.maximum.accumulate(then[chosen]))
