"""What lies between inlet and outlet: the newest pose, a tally of arrivals, the latency."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.live.pose_message import PoseMessage

# A sender that has been silent for so long may be followed by another.
TAKEOVER_S = 3.0
# A clock this far behind was set anew; anything less is a message out of order.
RESTART_S = 5.0
# Two poses nearer to each other than this are the same one.
SHORTEST_STEP_S = 1e-3


@dataclass(frozen=True)
class ArrivalTally:
    """How many messages came, and why some were not used."""

    received: int = 0
    garbage: int = 0
    duplicate: int = 0
    late: int = 0
    stranger: int = 0
    skipped: int = 0
    lost: int = 0
    restarts: int = 0


@dataclass(frozen=True, eq=False)
class Arrival:
    """A pose with the instant of its receipt (time.monotonic_ns)."""

    pose: PoseMessage
    received_ns: int


class Arrivals:
    """Holds only the newest pose, so that a slow solver is never behind; used by two threads."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._newest: Arrival | None = None
        self._tally = ArrivalTally()
        self._sender: Any = None
        self._last_t_s = float("-inf")
        self._last_ns = 0
        self._last_number: int | None = None
        # The first note of each kind, which is what stands before its colon.
        self._notes: dict[str, str] = {}

    def admits(self, sender: Any) -> bool:
        """Whether a message of this sender is to be used: the first one wins until it is silent."""
        now = time.monotonic_ns()
        with self._ready:
            silent = now - self._last_ns > TAKEOVER_S * 1e9
            if self._sender is None or (sender != self._sender and silent):
                if self._sender is not None:
                    self._note("another sender took over after the first fell silent")
                self._sender, self._last_t_s, self._last_number = sender, float("-inf"), None
                self._last_ns = now
            if sender == self._sender:
                return True
            self._count(stranger=1)
            self._note("more than one sender: only the first is followed")
            return False

    def reject(self, reason: str) -> None:
        """Count a message that is none."""
        with self._ready:
            self._count(received=1, garbage=1)
            self._note(f"first unreadable message: {reason}")

    def put(self, pose: PoseMessage, received_ns: int, *, number: int | None = None) -> None:
        """Offer a pose; `number` counts the sender's frames, where it does."""
        with self._ready:
            self._count(received=1)
            behind = self._last_t_s - pose.t_s
            if behind > RESTART_S:
                self._count(restarts=1)
                self._note("the sender's clock was set back: started again from there")
                self._last_number = None
            elif behind > -SHORTEST_STEP_S:
                self._count(**{"late" if behind > 0 else "duplicate": 1})
                return
            if number is not None and self._last_number is not None:
                self._count(lost=max(0, number - self._last_number - 1))
            self._last_number, self._last_t_s, self._last_ns = number, pose.t_s, received_ns
            if self._newest is not None:
                self._count(skipped=1)
            self._newest = Arrival(pose, received_ns)
            self._ready.notify()

    def take(self, timeout_s: float) -> Arrival | None:
        """The newest pose, once; None when none comes in time."""
        with self._ready:
            if self._newest is None:
                self._ready.wait(timeout_s)
            newest, self._newest = self._newest, None
            return newest

    @property
    def tally(self) -> ArrivalTally:
        """The counts so far."""
        with self._ready:
            return self._tally

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of this stream."""
        with self._ready:
            return tuple(self._notes.values())

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._tally, name) + add for name, add in more.items()}
        self._tally = replace(self._tally, **counts)

    def _note(self, note: str) -> None:
        self._notes.setdefault(note.split(":")[0], note)


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
        steps = np.column_stack([np.diff(rows, axis=1), rows[:, 3] - rows[:, 0]]) / 1e6
        return LiveLatency(self._count, *map(percentiles, steps.T))


def percentiles(values_ms: Array | Iterable[float]) -> Percentiles:
    """Percentiles of some durations; all zero when there are none."""
    values = np.asarray(values_ms, np.float64)
    if not values.size:
        return Percentiles(0.0, 0.0, 0.0, 0.0)
    quantiles = np.quantile(values, [0.5, 0.95, 0.99, 1.0])
    return Percentiles(*(round(float(quantile), 3) for quantile in quantiles))
