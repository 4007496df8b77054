"""How long a pose takes from its receipt to the joint targets on their way out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from corporeal.geometry import Array

# Half an hour at 120 Hz is 216,000 frames; the newest of them are kept.
_MOST = 1 << 18


@dataclass(frozen=True)
class Percentiles:
    """Milliseconds within which half, 95 % and 99 % of the frames were done, and the worst."""

    p50: float
    p95: float
    p99: float
    worst: float


@dataclass(frozen=True)
class LiveLatency:
    """`wait_ms` from receipt to the solver, `solve_ms` there, `send_ms` out, `total_ms` in all."""

    frames: int
    wait_ms: Percentiles
    solve_ms: Percentiles
    send_ms: Percentiles
    total_ms: Percentiles


class LatencyLog:
    """The four instants of each frame, in nanoseconds of one clock; memory is bounded."""

    def __init__(self, most: int = _MOST) -> None:
        self._rows = np.zeros((most, 4), np.int64)
        self._count = 0

    def take(self, received_ns: int, begun_ns: int, solved_ns: int, sent_ns: int) -> None:
        """One more frame."""
        self._rows[self._count % len(self._rows)] = (received_ns, begun_ns, solved_ns, sent_ns)
        self._count += 1

    def summary(self, last: int | None = None) -> LiveLatency:
        """Over all frames kept, or the newest `last` of them."""
        kept = min(self._count, len(self._rows))
        wanted = kept if last is None else min(last, kept)
        rows = self._rows[(self._count - 1 - np.arange(wanted)) % len(self._rows)]
        steps = np.diff(rows, axis=1) / 1e6
        return LiveLatency(
            self._count,
            percentiles(steps[:, 0]),
            percentiles(steps[:, 1]),
            percentiles(steps[:, 2]),
            percentiles((rows[:, 3] - rows[:, 0]) / 1e6),
        )


def percentiles(values_ms: Array | Iterable[float]) -> Percentiles:
    """Percentiles of some durations; all zero when there are none."""
    values = np.asarray(values_ms, np.float64)
    if not values.size:
        return Percentiles(0.0, 0.0, 0.0, 0.0)
    found = np.quantile(values, [0.5, 0.95, 0.99, 1.0])
    return Percentiles(*(round(float(each), 3) for each in found))
