"""Messages of one size: a template, and where the time and the numbers go in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError

Bytes = NDArray[np.uint8]
Build = Callable[[int, NDArray[Any]], bytes]

# No byte of it is zero, and it is a number in every type, so that its places can be seen.
_MARK = 0x3F
_STAMP_NS = 0x3F3F3F3F * 1_000_000_000 + 0x3A3F3F3F


class Stencil:
    """Packs and unpacks many messages at once, whatever their type is.

    `build(stamp_ns, numbers)` gives one message with `count` numbers of type `dtype`. Where they
    stand is found by comparing messages, so that nothing here knows about any type.
    """

    def __init__(self, build: Build, count: int, dtype: str) -> None:
        self._dtype = np.dtype(dtype)
        self._count = count
        zeros = np.zeros(count, self._dtype)
        marks = np.full(count * self._dtype.itemsize, _MARK, np.uint8).view(self._dtype)
        self._template = np.frombuffer(build(0, zeros), np.uint8)
        marked = np.frombuffer(build(0, marks), np.uint8)
        stamped = np.frombuffer(build(_STAMP_NS, zeros), np.uint8)
        self._numbers = np.flatnonzero(marked != self._template)
        self._stamps = np.flatnonzero(stamped != self._template)
        assert len(self._numbers) == count * self._dtype.itemsize
        assert len(self._stamps) % 8 == 0

    @property
    def size(self) -> int:
        """Bytes of one message."""
        return len(self._template)

    def pack(self, stamp_ns: NDArray[np.uint64], numbers: NDArray[Any]) -> Bytes:
        """Messages (T, size) of numbers (T, count)."""
        messages = np.tile(self._template, (len(numbers), 1))
        plain = np.ascontiguousarray(numbers, self._dtype)
        messages[:, self._numbers] = plain.view(np.uint8).reshape(len(numbers), -1)
        if len(self._stamps):
            seconds, rest = np.divmod(stamp_ns, np.uint64(1_000_000_000))
            pair = np.stack([np.minimum(seconds, np.uint64(2**31 - 1)), rest], axis=1)
            stamps = pair.astype("<u4").view(np.uint8).reshape(len(numbers), 8)
            messages[:, self._stamps] = np.tile(stamps, (1, len(self._stamps) // 8))
        return messages

    def unpack(self, messages: Bytes, *, where: str) -> NDArray[Any]:
        """Numbers (T, count) of messages (T, size); EpisodeError when they have another form."""
        if messages.shape[1] != self.size:
            raise EpisodeError(
                f"{where}: a message has {messages.shape[1]} bytes; expected {self.size}. "
                "Take the file from its source again."
            )
        plain = np.ascontiguousarray(messages[:, self._numbers])
        return plain.view(self._dtype).reshape(len(messages), self._count)
