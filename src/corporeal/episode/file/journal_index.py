"""A journal that nobody writes any more: where the samples of each stream lie, and what is lost.

What a kill or a power loss cut off ends at a chunk that is not all there; all before it is whole.
Behind damage the reading goes on at the next chunk whose checksum holds.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel
from numpy.typing import NDArray

from corporeal.episode.file.journal import RAW, VERSION, JournalError, lock_journal
from corporeal.episode.file.journal_record import (
    CHUNK,
    HEAD,
    MAGIC,
    MESSAGE_BYTES,
    find_header,
    parse_header,
)

_MAX_RECORD_BYTES = 1 << 30
_MAX_RUN = 1024
_SAME_BYTES, _NUMBER_AT, _STAMPS_AT = 11, 11, 15
_NUMBERED_SINCE = 3
_CHUNK_EXTRA = CHUNK.size - HEAD.size
# Behind damage so many bytes are looked at in a step, and at most so many times the file's size is
# checksummed: a file made to look like chunks everywhere must not cost more.
_SEARCH_BYTES, _MOST_CHECKED = 1 << 20, 4
# What mcap's records raise when their bytes are not what they should be.
_UNREADABLE = (McapError, ValueError, KeyError, struct.error, RecursionError)


@dataclass
class Runs:
    """Where the records of one stream lie: `count` of `size` bytes each from byte `offset` on.

    `first` is the number of the first one; `is_raw` says that they are not packed yet.
    """

    offset: array[int] = field(default_factory=lambda: array("q"))
    count: array[int] = field(default_factory=lambda: array("q"))
    size: array[int] = field(default_factory=lambda: array("q"))
    first: array[int] = field(default_factory=lambda: array("q"))
    is_raw: array[int] = field(default_factory=lambda: array("b"))

    @property
    def samples(self) -> int:
        """How many records there are in all."""
        return sum(self.count)

    @property
    def payload_bytes(self) -> NDArray[np.int64]:
        """The size of every sample."""
        return np.repeat(np.frombuffer(self.size, np.int64), self.count) - MESSAGE_BYTES

    @property
    def raw(self) -> NDArray[np.bool_]:
        """Which samples are not packed yet."""
        return np.repeat(np.frombuffer(self.is_raw, np.bool_), self.count)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number that the writer gave every sample; the missing ones are lost."""
        starts = np.repeat(np.frombuffer(self.first, np.int64), self.count)
        counts = np.frombuffer(self.count, np.int64)
        within = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.asarray(starts + within, np.int64)

    @property
    def lost(self) -> int:
        """How many samples before the last one are not here."""
        return int(self.first[-1] + self.count[-1] - self.samples) if self.count else 0

    def sort(self) -> None:
        """Bring runs of raw and of packed samples into the order in which they were taken."""
        order = np.argsort(np.frombuffer(self.first, np.int64), kind="stable")
        for name in ("offset", "count", "size", "first", "is_raw"):
            values = getattr(self, name)
            setattr(self, name, array(values.typecode, [values[place] for place in order]))


@dataclass(frozen=True)
class Gap:
    """Bytes inside a journal that cannot be read, and the arrivals on both sides."""

    start_byte: int
    stop_byte: int
    after_ns: int | None
    before_ns: int


class _CutError(Exception):
    """Where a journal stops making sense, and whether bytes that cannot be read are left there."""

    def __init__(self, why: str, *, at: int, is_torn: bool) -> None:
        super().__init__(why)
        self.at, self.is_torn = at, is_torn


class Journal:
    """A journal that nobody writes any more, indexed to its end or to where it was cut.

    `ending` says which. `is_damaged` is one that was changed, not just cut; `gaps` are what could
    not be read with samples behind it. Memory grows by 33 bytes for each run of samples; no
    payload is kept.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.runs: dict[str, Runs] = {}
        self.gaps: list[Gap] = []
        self.ending, self.is_whole, self.is_damaged = "closed", True, False
        self._file = file
        self._names: dict[int, str] = {}
        self._last_ns: int | None = None
        try:
            self._total = os.fstat(file.fileno()).st_size
            self._to_check = _MOST_CHECKED * self._total
            self.header, begin = self._read_header()
            self._index(begin)
        except OSError as error:
            # Not an ending: what cannot be read now may be readable later.
            raise JournalError(f"{path}: {error.strerror or error}.") from None
        for runs in self.runs.values():
            if any(runs.is_raw):
                runs.sort()

    @property
    def is_numbered(self) -> bool:
        """Whether the samples have numbers, so that lost ones can be counted."""
        return self._version >= _NUMBERED_SINCE

    def stamps(self, stream: str) -> NDArray[np.int64]:
        """When every sample arrived and when its source says that it was made, (samples, 2)."""
        runs = self.runs[stream]
        stamps = np.empty((runs.samples, 2), np.int64)
        first = 0
        for offset, count, size in zip(runs.offset, runs.count, runs.size, strict=True):
            heads = self._read(offset, (count - 1) * size + MESSAGE_BYTES)
            stamps[first : first + count] = np.ndarray(
                (count, 2), "<i8", heads, _STAMPS_AT, (size, 8)
            )
            first += count
        return stamps

    def samples(self, stream: str) -> Iterator[bytes]:
        """The packed samples, one by one; raw ones as they are."""
        runs = self.runs[stream]
        for offset, count, size in zip(runs.offset, runs.count, runs.size, strict=True):
            for begin in range(offset, offset + count * size, size):
                yield self._read(begin + MESSAGE_BYTES, size - MESSAGE_BYTES)

    def rows(self, stream: str) -> Iterator[NDArray[np.uint8]]:
        """The packed samples, as many of one size at a time as lie together: (samples, bytes)."""
        runs = self.runs[stream]
        for offset, count, size in zip(runs.offset, runs.count, runs.size, strict=True):
            records = self._read(offset, count * size)
            yield np.frombuffer(records, np.uint8).reshape(count, size)[:, MESSAGE_BYTES:]

    def follows_gap(self, stream: str) -> NDArray[np.bool_]:
        """For every sample whether the one before it in the stream may be lost."""
        runs = self.runs[stream]
        if self.is_numbered:
            return np.asarray(np.diff(runs.numbers, prepend=-1) != 1, bool)
        gaps = np.array([gap.start_byte for gap in self.gaps], np.int64)
        sides = np.searchsorted(gaps, np.repeat(np.frombuffer(runs.offset, np.int64), runs.count))
        return np.asarray(np.diff(sides, prepend=0) != 0, bool)

    def _read(self, offset: int, size: int) -> bytes:
        data = os.pread(self._file.fileno(), size, offset)
        while len(data) < size:
            more = os.pread(self._file.fileno(), size - len(data), offset + len(data))
            if not more:
                raise JournalError(f"{self.path}: it became shorter while it was read.")
            data += more
        return data

    def _read_record(self, place: int) -> bytes:
        return self._read(place, HEAD.size + HEAD.unpack(self._read(place, HEAD.size))[1])

    def _records(self, place: int, number: int) -> Iterator[tuple[int, int, int]]:
        """Opcode, place and length of every record that is all there, up to the closing magic.

        mcap's own reader skips what it does not know; here that is damage.
        """
        opcode = 0
        while opcode != Opcode.FOOTER:
            allowed = _next_kinds(number, opcode)
            if place + HEAD.size > self._total:
                raise _CutError("its end is missing", at=place, is_torn=True)
            opcode, length = HEAD.unpack(self._read(place, HEAD.size))
            if opcode not in allowed or length > allowed[opcode]:
                why = f"a record of kind {opcode} and {length} bytes"
                raise _CutError(why, at=place, is_torn=False)
            if place + HEAD.size + length > self._total:
                raise _CutError("in the middle of a chunk", at=place, is_torn=True)
            yield opcode, place, length
            place += HEAD.size + length
            number += 1
        rest = self._read(place, min(self._total - place, len(MAGIC) + 1))
        if rest != MAGIC:
            is_torn = MAGIC.startswith(rest)
            raise _CutError("its last bytes are missing", at=place, is_torn=is_torn)

    def _read_header(self) -> tuple[dict[str, Any], int]:
        """The header, and where the chunks begin.

        The first chunk has it again, and a checksum; journals of before have it once.
        """
        try:
            begin, record = self._first_header()
        except (_CutError, StopIteration):
            begin, record = 0, b""
        chunk = begin if begin and self._is_chunk(begin) else self._next_chunk(begin)
        second = b"" if chunk is None else find_header(self._read_record(chunk))
        try:
            header, version, names = parse_header(second or record)
        except _UNREADABLE:
            raise JournalError(
                f"{self.path}: not a journal, or cut before its first sample."
            ) from None
        if version > VERSION:
            raise JournalError(
                f"{self.path}: a journal of version {version}; expected {VERSION} at most. "
                "Recover it with the version of Corporeal that wrote it."
            )
        if second and second != record:
            self.is_damaged, self.is_whole = True, False
            self.ending = "cut: the header was changed; its copy was read"
            begin = chunk or begin
        self._version = version
        self._names = names
        return header, begin

    def _first_header(self) -> tuple[int, bytes]:
        """Where the chunks begin, and the record before them; empty if it is no header."""
        if os.pread(self._file.fileno(), len(MAGIC), 0) != MAGIC:
            raise _CutError("no journal", at=0, is_torn=False)
        records = self._records(len(MAGIC), 0)
        next(records)
        _, place, length = next(records)
        begin = place + HEAD.size + length
        return begin, self._read_record(place)

    def _index(self, begin: int) -> None:
        """Note every chunk; behind what cannot be read go on at the next one that can."""
        place: int | None = begin
        while place is not None:
            try:
                for opcode, at, length in self._records(place, 2):
                    if opcode == Opcode.CHUNK:
                        self._index_chunk(at, length)
                return
            except _CutError as cut:
                self.is_whole = False
                place = self._next_chunk(cut.at + 1)
                if place is None:
                    self._end_at(cut)
                else:
                    self.is_damaged, self.ending = True, f"cut: {cut}"
                    head = CHUNK.unpack(self._read(place, CHUNK.size))
                    self.gaps.append(Gap(cut.at, place, self._last_ns, _signed(head[2])))

    def _end_at(self, cut: _CutError) -> None:
        """Nothing behind `cut` can be read: torn off, or changed if it had been closed."""
        was_closed = self._read(self._total - len(MAGIC), len(MAGIC)) == MAGIC
        if not self.is_damaged:
            self.ending = f"cut: {cut}"
        self.is_damaged = self.is_damaged or not cut.is_torn or was_closed

    def _next_chunk(self, place: int) -> int | None:
        """Where the next chunk begins whose checksum holds, from `place` on."""
        while place + CHUNK.size < self._total:
            size = min(_SEARCH_BYTES + CHUNK.size, self._total - place)
            for offset in _likely_chunks(self._read(place, size)):
                if self._is_chunk(place + offset):
                    return place + offset
            place += max(1, size - CHUNK.size + 1)
        return None

    def _is_chunk(self, place: int) -> bool:
        _, length, *_, checksum, _, size = CHUNK.unpack(self._read(place, CHUNK.size))
        if place + HEAD.size + length > self._total or size > self._to_check:
            return False
        self._to_check -= size
        return bool(zlib.crc32(self._read(place + CHUNK.size, size)) == checksum)

    def _index_chunk(self, place: int, length: int) -> None:
        data = self._read(place, HEAD.size + length)
        try:
            *_, last_ns, size, checksum, compression, stored = CHUNK.unpack_from(data)
            begin = CHUNK.size
            is_good = not compression and size == stored == len(data) - begin
            if not is_good or zlib.crc32(memoryview(data)[begin:]) != checksum:
                why = "a chunk does not match its checksum"
                raise _CutError(why, at=place, is_torn=False)
            while begin < len(data):
                begin += self._index_run(data, begin, place)
        except _UNREADABLE as error:
            why = f"a chunk is not readable ({error})"
            raise _CutError(why, at=place, is_torn=False) from None
        self._last_ns = _signed(last_ns) if self.runs else None

    def _index_run(self, data: bytes, begin: int, place: int) -> int:
        """Note the records from `begin` on as far as they are alike; returns their size."""
        opcode, length = HEAD.unpack_from(data, begin)
        size = int(HEAD.size + length)
        if size > len(data) - begin:
            raise _CutError("a chunk is not readable", at=place, is_torn=False)
        if opcode == Opcode.CHANNEL:
            body = data[begin + HEAD.size : begin + size]
            channel = Channel.read(ReadDataStream(BytesIO(body)))
            self._names[channel.id] = channel.topic
        if opcode != Opcode.MESSAGE or length < MESSAGE_BYTES - HEAD.size:
            return size
        same = data[begin : begin + _SAME_BYTES]
        count = 1
        if data[begin + size : begin + size + _SAME_BYTES] == same:
            count = self._count_alike(data, begin, size)
        name = self._names.get(int.from_bytes(same[HEAD.size :], "little"))
        if name is not None:
            runs = self.runs.setdefault(name.removeprefix(RAW), Runs())
            (number,) = struct.unpack_from("<I", data, begin + _NUMBER_AT)
            runs.offset.append(place + begin)
            runs.count.append(count)
            runs.size.append(size)
            runs.first.append(number)
            runs.is_raw.append(name.startswith(RAW))
        return count * size

    def _count_alike(self, data: bytes, begin: int, size: int) -> int:
        """How many records follow of this size and channel, with no number left out."""
        most = min(_MAX_RUN, (len(data) - begin) // size)
        heads = np.ndarray((most, _SAME_BYTES), np.uint8, data, begin, (size, 1))
        differs = (heads != heads[0]).any(axis=1)
        if self.is_numbered:
            numbers = np.ndarray((most,), "<u4", data, begin + _NUMBER_AT, (size,))
            differs |= numbers != numbers[0] + np.arange(most, dtype=np.uint32)
        return int(differs.argmax()) if differs.any() else most


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """Index a journal and keep others away from it; one that is in use is refused."""
    if path.is_symlink():
        raise JournalError(f"{path}: a link; expected the journal itself.")
    # A pipe would be waited for until somebody writes into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise JournalError(f"{path}: no regular file; expected a journal.")
    with os.fdopen(descriptor, "rb") as file:
        lock_journal(path, file)
        yield Journal(path, file)


def _next_kinds(number: int, last: int) -> dict[int, int]:
    """Which records may follow, and how long each may be."""
    if number < 2:
        return {(Opcode.HEADER, Opcode.METADATA)[number]: _MAX_RECORD_BYTES}
    if last == Opcode.DATA_END:
        return {Opcode.FOOTER: 20}
    return {Opcode.CHUNK: _MAX_RECORD_BYTES, Opcode.DATA_END: 4}


def _likely_chunks(data: bytes) -> list[int]:
    """Where the head of a chunk may begin: its three sizes agree, and it is not compressed."""
    block = np.frombuffer(data, np.uint8)
    last = len(block) - CHUNK.size
    starts = np.flatnonzero(block[: last + 1] == int(Opcode.CHUNK)) if last >= 0 else block[:0]
    # The upper half of a length below 4 GB, and the size of the name of no compression.
    for offset in (5, 6, 7, 8, 37, 38, 39, 40):
        starts = starts[block[starts + offset] == 0]
    likely = []
    for start in starts.tolist():
        _, length, _, _, size, _, _, stored = CHUNK.unpack_from(data, start)
        if size == stored and length == size + _CHUNK_EXTRA and length <= _MAX_RECORD_BYTES:
            likely.append(start)
    return likely


def _signed(time_ns: int) -> int:
    return time_ns - (1 << 64) if time_ns >= 1 << 63 else time_ns
