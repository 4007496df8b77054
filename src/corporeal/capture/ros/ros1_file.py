"""Bags of ROS 1: their messages in order of time, chunks unpacked within bounds."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from rosbags.rosbag1 import Reader, ReaderError
from rosbags.rosbag1.reader import Header

from corporeal.capture.ros.bag_record import BagChannel, BagRecord, check_stamp, describe_break
from corporeal.capture.ros.unpacking import UnpackingBudget

# What an entry of the index takes in the file: one that has more entries repeats itself.
_ENTRY_BYTES = 12
# The first line of a bag is its version.
_LONGEST_LINE = 64
# What rosbags raises when bytes are not what they should be.
_UNREADABLE = (ReaderError, ValueError, LookupError, AssertionError, EOFError, OSError,
               OverflowError, MemoryError, TypeError, struct.error)  # fmt: skip


class _BoundedFile(io.BufferedReader):
    """A file of which no more can be asked for than it has.

    Python takes the memory for all that is asked for before it reads, and rosbags asks for every
    length that four bytes of a bag may claim, which is up to 4 GiB.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))
        self._size = path.stat().st_size

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(self._size - self.tell(), 0)
        return super().read(left if size is None or size < 0 else min(size, left))

    def readline(self, size: int | None = -1, /) -> bytes:
        asks_for_all = size is None or size < 0
        return super().readline(_LONGEST_LINE if asks_for_all else min(size or 0, _LONGEST_LINE))


@dataclass(frozen=True)
class _BoundedPath:
    """What rosbags needs of a path; it opens as a bounded file."""

    path: Path

    def exists(self) -> bool:
        return self.path.exists()

    def open(self, *_: object) -> BinaryIO:
        return _BoundedFile(self.path)

    def __str__(self) -> str:
        return str(self.path)


class _BoundedReader(Reader):
    """rosbags' reader, which on its own takes and unpacks whatever a bag claims."""

    def __init__(self, path: Path) -> None:
        super().__init__(cast("Path", _BoundedPath(path)))
        self._size = path.stat().st_size
        self._budget = UnpackingBudget(self._size)
        self._seen: set[int] = set()

    def read_chunk_info(self) -> Any:
        info = super().read_chunk_info()
        if info.pos in self._seen:
            raise ReaderError(f"two chunks are said to begin at byte {info.pos}")
        self._seen.add(info.pos)
        return info

    def read_chunk(self) -> Any:
        assert self.bio is not None
        start = self.bio.tell()
        chunk = super().read_chunk()
        # rosbags keeps only the function that unpacks; the header names the packing.
        self.bio.seek(start)
        packing = Header.read(self.bio).get_string("compression")
        self.bio.seek(chunk.datapos + chunk.datasize)
        return chunk._replace(decompressor=partial(self._budget.unpack, packing=packing))

    def read_index_data(self, pos: int, indexes: dict[int, list[Any]]) -> None:
        super().read_index_data(pos, indexes)
        if _ENTRY_BYTES * sum(map(len, indexes.values())) > self._size:
            raise ReaderError("its index has more entries than the file has room for")


def read_ros1(path: Path, problems: list[str]) -> Iterator[BagRecord]:
    """Every message in order of time; what is wrong on the way joins `problems`."""
    count = 0
    try:
        with _BoundedReader(path) as reader:
            channels = {
                connection.id: BagChannel(
                    connection.topic,
                    connection.msgtype,
                    connection.msgdef.data,
                    "ros1msg",
                    "ros1",
                    is_latched=bool(getattr(connection.ext, "latching", 0)),
                )
                for connection in reader.connections
            }
            for connection, log_ns, data in reader.messages():
                record = BagRecord(channels[connection.id], check_stamp(log_ns), bytes(data))
                count += 1
                yield record
    except _UNREADABLE as error:
        advice = "Repair it: rosbag reindex."
        problems.append(describe_break(path, "a ROS 1 bag", count, error, advice))
