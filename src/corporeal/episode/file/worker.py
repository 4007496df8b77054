"""A thread that packs the samples of a camera, so that encoding does not hold up the caller."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

WAITING = 6


class Worker:
    """Calls `work(*item)` for every item, in order; `put` blocks when the queue is full.

    A failure in the thread is raised by every later call: nothing is lost unnoticed.
    """

    def __init__(self, work: Callable[..., None], name: str, *, waiting: int = WAITING) -> None:
        self._work = work
        self._queue: queue.Queue[tuple[Any, ...] | None] = queue.Queue(maxsize=waiting)
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, *item: Any) -> None:
        """Queue one item."""
        self.check()
        self._queue.put(item)

    @property
    def waiting(self) -> int:
        """How many items are queued."""
        return self._queue.qsize()

    def join(self) -> None:
        """Wait until everything queued is done."""
        self._queue.join()
        self.check()

    def close(self) -> None:
        """Drain the queue and end the thread."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        self.check()

    def check(self) -> None:
        """Raise what went wrong in the thread, if anything did."""
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            try:
                if self._error is None:
                    self._work(*item)
            except Exception as error:  # Whatever it is, the caller's thread must see it.
                self._error = error
            finally:
                self._queue.task_done()
        self._queue.task_done()
