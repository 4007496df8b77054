"""A sink that works in a thread of its own, so that encoding does not hold up the caller."""

from __future__ import annotations

import queue
import threading
from typing import Any

from corporeal.episode.spool import Sink

_WAITING = 6


class Worker:
    """Passes samples to a sink through a short queue; `append` blocks when the queue is full.

    A failure in the thread is raised by every later call: nothing is lost unnoticed.
    """

    def __init__(self, sink: Sink, name: str) -> None:
        self._sink = sink
        self._queue: queue.Queue[tuple[int, Any] | None] = queue.Queue(maxsize=_WAITING)
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def append(self, time_ns: int, value: Any) -> None:
        """Queue one sample."""
        self._raise()
        self._queue.put((time_ns, value))

    def flush(self) -> None:
        """Wait until everything queued is with the sink, then flush that."""
        self._queue.join()
        self._raise()
        self._sink.flush()

    def close(self) -> None:
        """Drain the queue, end the thread, close the sink."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        self._sink.close()
        self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            try:
                if self._error is None:
                    self._sink.append(*item)
                    if self._queue.empty():
                        self._sink.flush()
            except Exception as error:  # Whatever it is, the caller's thread must see it.
                self._error = error
            finally:
                self._queue.task_done()
        self._queue.task_done()
