"""Where the bytes of an episode come from: a file, or anything that gives ranges of an object."""

from __future__ import annotations

import io
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import h5py

from corporeal.errors import EpisodeError
from corporeal.files import refuse_pointer

_BLOCK = 64 << 10
# Read ahead at most so much at once, and keep at most so much.
_MAX_AHEAD = 64
_MAX_KEPT = 512


class ByteSource(Protocol):
    """An immutable object somewhere else, such as in S3."""

    @property
    def name(self) -> str:
        """What errors call it."""

    @property
    def size(self) -> int:
        """How many bytes it has."""

    def read(self, start: int, count: int) -> bytes:
        """Exactly these bytes; raises a CorporealError when it cannot."""


class OpenBytes(Protocol):
    """Bytes that are open for reading."""

    size: int

    def open_h5(self) -> h5py.File:
        """The same bytes, for HDF5."""

    def fill(self, view: memoryview, offset: int) -> None:
        """Read into the whole of `view`; raises EOFError at an early end."""

    def bytes_at(self, offset: int, count: int) -> bytes:
        """Exactly these bytes; raises EOFError at an early end."""

    def close(self) -> None:
        """Free what is held."""


class LocalBytes:
    """A plain file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not (path.is_file() or path.is_dir()):
            # Opening a pipe would wait for its other end for ever.
            raise EpisodeError(f"{path}: is not a plain file; expected an episode (.h5).")
        refuse_pointer(path)
        try:
            self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise EpisodeError(f"{path}: {error.strerror or error}.") from None
        self.size = os.fstat(self._handle).st_size

    def open_h5(self) -> h5py.File:
        """HDF5 opens the file itself, which is quicker than through Python."""
        # No lock: the file is immutable, and may lie on a read-only share.
        return h5py.File(self._path, "r", locking=False)

    def fill(self, view: memoryview, offset: int) -> None:
        """Straight into the memory."""
        done = 0
        while done < len(view):
            count = os.preadv(self._handle, [view[done:]], offset + done)
            if count == 0:
                raise EOFError
            done += count

    def bytes_at(self, offset: int, count: int) -> bytes:
        """One system call."""
        block = os.pread(self._handle, count, offset)
        if len(block) != count:
            raise EOFError
        return block

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


class RemoteBytes:
    """A source behind blocks of 64 KiB that are kept, 32 MiB of them at most.

    What follows on blocks that were read just before is read together with as much again, so that
    a stream takes few requests and a single picture few bytes.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.size = source.size
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._turn = threading.Lock()

    def open_h5(self) -> h5py.File:
        """HDF5 reads through Python."""
        return h5py.File(SeekableBytes(self.size, self.bytes_at), "r")

    def fill(self, view: memoryview, offset: int) -> None:
        """By a request of its own where it is much, else from blocks."""
        view[:] = self.bytes_at(offset, len(view))

    def bytes_at(self, offset: int, count: int) -> bytes:
        """The same."""
        if offset < 0 or count < 0 or offset + count > self.size:
            raise EOFError
        if not count:
            return b""
        with self._turn:
            if count > _MAX_AHEAD * _BLOCK:
                return self._read(offset, count)
            first, last = offset // _BLOCK, (offset + count - 1) // _BLOCK
            blocks = self._blocks(first, last + 1)
        begin = offset - first * _BLOCK
        return b"".join(blocks)[begin : begin + count]

    def close(self) -> None:
        """Forget what was kept."""
        self._kept.clear()

    def _blocks(self, first: int, stop: int) -> list[bytes]:
        number = first
        while number < stop:
            if number in self._kept:
                self._kept.move_to_end(number)
                number += 1
                continue
            end = number
            while end < stop and end not in self._kept:
                end += 1
            # What is asked for is never more than what is kept, and comes last.
            self._load(number, end, self._ahead(number) if end == stop else 0)
            number = end
        return [self._kept[each] for each in range(first, stop)]

    def _ahead(self, number: int) -> int:
        """As many blocks as are there without a gap before this one."""
        before = 0
        while before < _MAX_AHEAD and number - before - 1 in self._kept:
            before += 1
        return before

    def _load(self, first: int, stop: int, ahead: int) -> None:
        end = stop
        while end < stop + ahead and end * _BLOCK < self.size and end not in self._kept:
            end += 1
        start = first * _BLOCK
        data = self._read(start, min(end * _BLOCK, self.size) - start)
        for place in range(end - first):
            self._kept[first + place] = data[place * _BLOCK : (place + 1) * _BLOCK]
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)

    def _read(self, start: int, count: int) -> bytes:
        data = self._source.read(start, count)
        if len(data) != count:
            raise EpisodeError(
                f"{self._source.name}: {len(data)} bytes came from byte {start} on; expected "
                f"{count}. The object is damaged; verify the store."
            )
        return data


class SeekableBytes(io.RawIOBase):
    """Some bytes as a file, for libraries that want one; `read_at(start, count)` gives them."""

    def __init__(self, size: int, read_at: Callable[[int, int], bytes]) -> None:
        self._size = size
        self._read_at = read_at
        self._place = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move, as any file does."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}
        self._place = max(0, start[whence] + offset)
        return self._place

    def tell(self) -> int:
        """Where the next read begins."""
        return self._place

    def read(self, size: int = -1) -> bytes:
        """The next bytes; fewer at the end."""
        left = max(0, self._size - self._place)
        count = left if size is None or size < 0 else min(size, left)
        block = self._read_at(self._place, count)
        self._place += count
        return block

    def readinto(self, buffer: Any) -> int:
        """The next bytes into a buffer; fewer at the end."""
        view = memoryview(buffer).cast("B")
        block = self.read(len(view))
        view[: len(block)] = block
        return len(block)
