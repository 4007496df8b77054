"""Keeps the log of a server short, whatever strangers send: so many lines of a kind a minute."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOGGERS = ("uvicorn.error", "asyncio", "corporeal.studio")
MOST_LINES, WINDOW_S = 10, 60.0
_MOST_KINDS, _LONGEST_KIND = 64, 80
_ACCEPT = "socket.accept()"


class LogBounds(logging.Filter):
    """Lets some lines of each kind through, and says later how many it has left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._begun_s = clock()
        self._counts: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line may be written."""
        most = MOST_LINES
        kind = f"{record.name} {str(record.msg).partition(chr(10))[0]}"[:_LONGEST_KIND]
        if record.name == "asyncio" and str(record.msg).startswith(_ACCEPT):
            # Its trace says nothing of its cause; asyncio itself tries again a second later.
            most, kind = 1, _ACCEPT
            record.msg, record.args = "no more connections can be taken now; trying again", ()
            record.exc_info = record.exc_text = None
        with self._lock:
            left_out = self._begin_anew() if self._clock() - self._begun_s >= WINDOW_S else 0
            if kind not in self._counts and len(self._counts) >= _MOST_KINDS:
                kind = "others"
            self._counts[kind] = self._counts.get(kind, 0) + 1
            passes = self._counts[kind] <= most
        if passes and left_out:
            record.msg = f"{record.getMessage()} (before that, {left_out} lines were left out)"
            record.args = ()
        return passes

    def _begin_anew(self) -> int:
        """Begin the next minute; how many lines the last one left out."""
        left_out = sum(
            count - (1 if kind == _ACCEPT else MOST_LINES)
            for kind, count in self._counts.items()
            if count > (1 if kind == _ACCEPT else MOST_LINES)
        )
        self._begun_s, self._counts = self._clock(), {}
        return left_out


@contextmanager
def bounded_log() -> Iterator[LogBounds]:
    """Bound what the server logs while the block lasts."""
    bounds = LogBounds()
    for name in LOGGERS:
        logging.getLogger(name).addFilter(bounds)
    try:
        yield bounds
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(bounds)
