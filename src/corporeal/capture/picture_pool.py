"""Memory for the pictures of a camera that wait for their encoder, used again and again."""

from __future__ import annotations

import math
import queue
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[Any]
# How much one picture changes what the next is expected to take.
_LEARNING = 0.3


class PicturePool:
    """At most `size` copies at a time; their pages are used again, since new ones cost more.

    A driver may use its own buffer again as soon as it has handed a picture over. Since a kill
    costs what is in memory, no copy is made that would be in use for more than `longest_s`, as
    far as the ones before it tell.
    """

    def __init__(self, size: int, *, longest_s: float = math.inf) -> None:
        self._size, self._longest_s = size, longest_s
        self._made = 0
        # When each copy in use was made, the oldest first.
        self._in_use: dict[int, float] = {}
        # When the last one was given back, and how long one takes once it is its turn.
        self._done_s, self._pace_s = 0.0, 0.0
        self._lock = threading.Lock()
        self._free: queue.SimpleQueue[Picture] = queue.SimpleQueue()

    def copy(self, picture: Picture, *, wait_s: float = 0.0) -> Picture | None:
        """A copy of the picture, or None when all copies are in use for `wait_s`."""
        now_s = time.monotonic()
        wait_ahead_s = max(self.oldest_s(now_s), self.in_use * self._pace_s)
        held = None if wait_ahead_s > self._longest_s else self._take(picture, wait_s)
        if held is not None:
            with self._lock:
                self._in_use[id(held)] = now_s
            np.copyto(held, picture)
        return held

    def oldest_s(self, now_s: float) -> float:
        """For how long the oldest copy has been in use."""
        with self._lock:
            return now_s - next(iter(self._in_use.values()), now_s)

    @property
    def in_use(self) -> int:
        """How many copies wait or are worked on."""
        return len(self._in_use)

    def give_back(self, held: Picture) -> None:
        """The encoder is done with this copy."""
        now_s = time.monotonic()
        with self._lock:
            took_s = now_s - max(self._in_use.pop(id(held)), self._done_s)
            self._done_s = now_s
            self._pace_s += _LEARNING * (took_s - self._pace_s)
        self._free.put(held)

    def _take(self, picture: Picture, wait_s: float) -> Picture | None:
        try:
            return self._free.get_nowait()
        except queue.Empty:
            pass
        with self._lock:
            if self._made < self._size:
                self._made += 1
                return np.empty_like(picture)
        try:
            return self._free.get(timeout=wait_s) if wait_s > 0 else None
        except queue.Empty:
            return None
