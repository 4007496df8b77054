"""Small pictures of what a camera sees now, cheap enough to be made while it is recorded."""

from __future__ import annotations

import io
import json
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH = 320
EVERY_S = 0.1
_QUALITY = 60
_FULL_DEPTH = 255


def jpeg(picture: NDArray[Any], *, width: int = WIDTH) -> bytes:
    """A picture (height, width, 3) or a depth image (height, width) as a JPEG of at most `width`.

    Every n-th pixel of it is looked at, in fours: a mean over all would cost ten times as much.
    """
    from PIL import Image

    step = max(1, -(-picture.shape[1] // (2 * width)))
    few = picture[::step, ::step]
    if few.ndim == 2 and few.dtype != np.uint8:
        few = _shades(few)
    if few.shape[1] > width:
        few = _halved(few)
    if few.ndim == 3 and few.shape[2] == 1:
        few = few[:, :, 0]
    with io.BytesIO() as file:
        Image.fromarray(np.ascontiguousarray(few)).save(file, "JPEG", quality=_QUALITY)
        return file.getvalue()


def _halved(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = (size // 2 * 2 for size in picture.shape[:2])
    even = picture[:height, :width].astype(np.uint16)
    total = even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]
    return (total // 4).astype(np.uint8)


def _shades(depth: NDArray[Any]) -> NDArray[np.uint8]:
    """Near is light, far is dark; where nothing was measured is black."""
    values = depth.astype(np.float32)
    known = np.isfinite(values) & (values > 0)
    if not known.any():
        return np.zeros(depth.shape, np.uint8)
    near, far = np.percentile(values[known], (2, 98))
    light = _FULL_DEPTH - 215 * np.clip((values - near) / max(far - near, 1e-6), 0, 1)
    return np.where(known, light, 0).astype(np.uint8)


def framed(head: dict[str, Any], picture: bytes) -> bytes:
    """A picture with its head as one message: uint16 length of the head, JSON, JPEG."""
    said = json.dumps(head).encode()
    return len(said).to_bytes(2, "little") + said + picture


def unframed(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Head and picture of a message; raises ValueError for one that is not of this kind."""
    end = 2 + int.from_bytes(message[:2], "little")
    try:
        head = json.loads(message[2:end])
    except ValueError:
        head = None
    if not isinstance(head, dict) or end > len(message):
        raise ValueError("message, got something else; expected a picture with its head")
    return head, message[end:]


class Pace:
    """Lets each stream through at most every so often; safe for many threads."""

    def __init__(self, every_s: float = EVERY_S) -> None:
        self._every_s = every_s
        self._last: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_due(self, stream: str) -> bool:
        """Whether it is time; if so, the next time is counted from now."""
        now = time.monotonic()
        with self._lock:
            if now - self._last.get(stream, -self._every_s) < self._every_s:
                return False
            self._last[stream] = now
            return True
