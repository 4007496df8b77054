"""Memory for the pictures of one camera that wait for their encoder: used again, and bounded."""

from __future__ import annotations

import queue
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[Any]


class PicturePool:
    """At most `size` copies at a time; their pages are used again, since new ones cost more.

    A driver may use its own buffer again as soon as it has handed a picture over.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._made = 0
        self._lock = threading.Lock()
        self._free: queue.SimpleQueue[Picture] = queue.SimpleQueue()

    def copy(self, picture: Picture, *, wait_s: float = 0.0) -> Picture | None:
        """A copy of the picture, or None when all copies are in use for `wait_s`."""
        held = self._take(picture, wait_s)
        if held is not None:
            np.copyto(held, picture)
        return held

    def give_back(self, held: Picture) -> None:
        """The encoder is done with this copy."""
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
