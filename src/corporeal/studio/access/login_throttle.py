"""Slows whoever tries tokens that are wrong, and counts them in the audit log.

A right token is never refused: only what would be refused anyway is counted, and answered with
"too many" instead of why. The log gets one event a minute at most, whoever tries how often.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Self

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import CatalogError, Database

MOST_FAILURES, WINDOW_S = 10, 60.0
"""Of one address in a while, before the answer is "too many"."""
SUBJECT = "studio:log-in"
_MOST_ADDRESSES, _NAMED = 4096, 10


class LoginThrottle:
    """Failures of one Studio; use it with `with`, so that the last of them are written down."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = database, clock
        self._lock = threading.Lock()
        self._times: OrderedDict[str, deque[float]] = OrderedDict()
        self._waiting: Counter[str] = Counter()
        self._written_s: float | None = None

    def fail(self, address: str) -> bool:
        """Count a failure; whether this address has had its share for now."""
        now_s = self._clock()
        with self._lock:
            times = self._times.setdefault(address, deque(maxlen=MOST_FAILURES + 1))
            self._times.move_to_end(address)
            times.append(now_s)
            while times[0] <= now_s - WINDOW_S:
                times.popleft()
            while len(self._times) > _MOST_ADDRESSES:
                self._times.popitem(last=False)
            if address in self._waiting or len(self._waiting) < _MOST_ADDRESSES:
                self._waiting[address] += 1
            else:
                self._waiting["others"] += 1
            is_due = self._written_s is None or now_s - self._written_s >= WINDOW_S
            if is_due:
                self._written_s = now_s
            is_over = len(times) > MOST_FAILURES
        if is_due:
            self._write()
        return is_over

    def _write(self) -> None:
        """One event for all failures since the last one."""
        with self._lock:
            counts, self._waiting = self._waiting, Counter()
        if not counts:
            return
        details = {
            "failures": counts.total(),
            "addresses": len(counts),
            "most": dict(counts.most_common(_NAMED)),
        }
        try:
            with self._database.write() as connection:
                record(connection, [Change("studio", "log-in failed", SUBJECT, details=details)])
        except CatalogError:  # The catalogue is away; whoever asks is told by their own request.
            with self._lock:
                self._waiting += counts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()
