"""The journal: packed samples on disk before there is an episode, whatever happens next.

An MCAP file of chunks, each with its checksum; in a chunk the samples of a stream lie together.
What was cut off by a kill or a power loss ends at a chunk that does not check; all before it is
whole. Opened again, a journal is an index: where the samples of each stream lie.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import time
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, DataEnd, Footer, Header, Metadata
from numpy.typing import NDArray

from corporeal.errors import WriteError
from corporeal.files import fsync_folder, take_lock

JOURNAL_SUFFIX = ".journal"
PROFILE = "corporeal-journal"
VERSION = 2
SYNC_EVERY_S = 0.1
MARKS = "~marks"
_MAGIC = b"\x89MCAP0\r\n"
_MAX_WAITING_BYTES = 64 << 20
_FLUSH_BYTES, _EXTEND_BYTES = 1 << 15, 1 << 20
_MAX_RECORD_BYTES = 1 << 30
_MAX_RUN = 1024
_UINT64 = 1 << 64
_HEAD = struct.Struct("<BQ")
# Opcode, length, first and last time, size, checksum, no compression, size.
_CHUNK = struct.Struct("<BQQQQIIQ")
# Opcode, length, channel: the same for all records of a run; then sequence, arrival, source.
_MESSAGE = np.dtype(
    [("opcode", "u1"), ("length", "<u8"), ("channel", "<u2"), ("sequence", "<u4"),
     ("arrival_ns", "<i8"), ("source_ns", "<i8")]
)  # fmt: skip
_PACK_MESSAGE = struct.Struct("<BQHIQQ").pack
_SAME_BYTES, _STAMPS_AT, _MESSAGE_BYTES = 11, 15, _MESSAGE.itemsize
_MESSAGE_OPCODE, _HEAD_BYTES = int(Opcode.MESSAGE), _HEAD.size
# What mcap's records raise when their bytes are not what they should be.
_UNREADABLE = (McapError, ValueError, KeyError, struct.error)


class JournalError(WriteError):
    """A journal cannot be written (disk full, gone) or read (no header)."""


def journal_path(target: Path) -> Path:
    """Where the samples are before there is the episode `target`."""
    return target.with_name(target.name.removesuffix(".h5") + JOURNAL_SUFFIX)


@dataclass
class _Pending:
    """Records of one stream that are not in the file yet."""

    channel: int
    records: bytearray = field(default_factory=bytearray)
    first_ns: int = 0
    last_ns: int = 0


class JournalWriter:
    """Appends from any thread; a thread of its own writes and syncs every `sync_every_s`.

    When the disk is slower than the samples, `append` waits; when it fails, every later call
    raises and what was written before stays. With `sync_every_s=None` there is no thread: what is
    flushed is the operating system's, which a kill does not touch.
    """

    def __init__(
        self,
        path: Path,
        header: Mapping[str, Any],
        streams: Iterable[str],
        *,
        sync_every_s: float | None = SYNC_EVERY_S,
    ) -> None:
        self.path = path
        self.synced_bytes = 0
        self.slowest_sync_s = 0.0
        self._pending = {
            name: _Pending(number) for number, name in enumerate([MARKS, *streams], start=1)
        }
        self._waiting = 0
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._error: OSError | MemoryError | None = None
        self._closing = False
        self._every_s = sync_every_s
        self._thread: threading.Thread | None = None
        try:
            self.file = path.open("x+b", buffering=0)
        except OSError as error:
            raise JournalError(f"{path}: cannot be written: {error.strerror or error}.") from None
        lock_journal(path, self.file)
        self._put(self._preamble(header), sync=True)
        try:
            self._check()
        except JournalError:
            # Without its head a journal says nothing: better none than one that cannot be read.
            self.file.close()
            path.unlink(missing_ok=True)
            raise
        fsync_folder(path.parent)
        if sync_every_s is not None:
            self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
            self._thread.start()

    def append(self, stream: str, source_ns: int, arrival_ns: int, payload: bytes) -> None:
        """Take one packed sample."""
        size = _MESSAGE_BYTES + len(payload)
        with self._lock:
            pending = self._room(stream, size, arrival_ns, arrival_ns)
            pending.records += _PACK_MESSAGE(
                _MESSAGE_OPCODE,
                size - _HEAD_BYTES,
                pending.channel,
                0,
                arrival_ns % _UINT64,
                source_ns % _UINT64,
            )
            pending.records += payload

    def extend(self, stream: str, times_ns: NDArray[np.int64], payloads: NDArray[np.uint8]) -> None:
        """Take many packed samples of one size, (samples, bytes), that arrived when made."""
        size = _MESSAGE_BYTES + payloads.shape[1]
        at_once = max(1, _EXTEND_BYTES // size)
        for first in range(0, len(payloads), at_once):
            times = times_ns[first : first + at_once]
            heads = np.zeros(len(times), _MESSAGE)
            heads["opcode"] = _MESSAGE_OPCODE
            heads["length"] = size - _HEAD_BYTES
            heads["arrival_ns"] = heads["source_ns"] = times
            records = np.empty((len(times), size), np.uint8)
            records[:, _MESSAGE_BYTES:] = payloads[first : first + at_once]
            with self._lock:
                pending = self._room(stream, records.nbytes, int(times[0]), int(times[-1]))
                heads["channel"] = pending.channel
                records[:, :_MESSAGE_BYTES] = heads.view(np.uint8).reshape(len(times), -1)
                pending.records += records.data

    def mark(self, what: str, arrival_ns: int, metadata: dict[str, Any]) -> None:
        """Note that a demonstration began or ended, and what is known of it."""
        text = json.dumps({"what": what, "metadata": metadata}, default=str)
        self.append(MARKS, arrival_ns, arrival_ns, text.encode())

    def flush(self, stream: str | None = None) -> None:
        """Write what was taken, of one stream or of all, without waiting for the disk."""
        with self._changed:
            block = self._take([stream] if stream is not None else list(self._pending))
            if block:
                self._put(block, sync=False)
        self._check()

    @property
    def waiting_bytes(self) -> int:
        """Bytes that are not on disk yet."""
        return self._waiting

    def finish(self) -> None:
        """Write the rest and end the journal properly; it stays locked until `close`."""
        with self._changed:
            is_first, self._closing = not self._closing, True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        if is_first:
            end = _encode(DataEnd(0), Footer(0, 0, 0)) + _MAGIC
            self._put(self._take(list(self._pending)) + end, sync=self._thread is not None)
        self._check()

    def close(self) -> None:
        """Finish, and let others in; safe to call twice."""
        try:
            self.finish()
        finally:
            self.file.close()

    def _room(self, stream: str, size: int, first_ns: int, last_ns: int) -> _Pending:
        """Wait, or write, until more may be taken; returns where the records go."""
        pending = self._pending[stream]
        if self._thread is None:
            if self._waiting > _MAX_WAITING_BYTES:
                self.flush()
            elif len(pending.records) > _FLUSH_BYTES:
                # Only this stream, so that a camera does not cut up the runs of the others.
                self.flush(stream)
        while self._waiting > _MAX_WAITING_BYTES and self._error is None:
            self._changed.wait(0.1)
        if self._error is not None:
            self._check()
        if self._closing:
            raise JournalError(f"{self.path} is closed; a later sample cannot be added.")
        self._waiting += size
        if not pending.records:
            pending.first_ns = first_ns
        pending.last_ns = last_ns
        return pending

    def _take(self, streams: list[str]) -> bytes:
        """The samples that wait, as a chunk; nothing when there is none."""
        taken = [self._pending[stream] for stream in streams if self._pending[stream].records]
        if not taken:
            return b""
        first_ns = min(pending.first_ns for pending in taken)
        last_ns = max(pending.last_ns for pending in taken)
        records = [pending.records for pending in taken]
        for pending in taken:
            pending.records = bytearray()
        self._waiting -= sum(map(len, records))
        return _chunk(records, first_ns, last_ns)

    def _preamble(self, header: Mapping[str, Any]) -> bytes:
        text = json.dumps(header, default=str)
        facts = {"json": text, "crc32": str(zlib.crc32(text.encode())), "version": str(VERSION)}
        channels = [
            Channel(pending.channel, name, "corporeal", {}, 0)
            for name, pending in self._pending.items()
        ]
        head = _encode(Header(PROFILE, "corporeal"), Metadata("header", facts))
        # The channels are in a chunk, as the samples are, since a chunk has a checksum.
        return _MAGIC + head + _chunk([_encode(*channels)], 0, 0)

    def _put(self, block: bytes, *, sync: bool) -> None:
        """Write all of a block, and wait until the disk has it if asked to."""
        if self._error is not None:
            # Nothing may follow a block that was half written.
            return
        begin = time.monotonic()
        try:
            left = memoryview(block)
            while left:
                left = left[self.file.write(left) or 0 :]
            if sync:
                os.fdatasync(self.file.fileno())
        except (OSError, MemoryError) as error:
            self._error = error
            return
        self.synced_bytes += len(block)
        self.slowest_sync_s = max(self.slowest_sync_s, time.monotonic() - begin)

    def _run(self) -> None:
        taken_s = time.monotonic()
        while not self._closing and self._error is None:
            with self._changed:
                # From when the last block was taken: a slow sync must not add to the interval.
                wait_s = taken_s + (self._every_s or 0.0) - time.monotonic()
                if not self._closing and wait_s > 0:
                    self._changed.wait(wait_s)
                taken_s = time.monotonic()
                block = self._take(list(self._pending))
                self._changed.notify_all()
            if block:
                self._put(block, sync=True)

    def _check(self) -> None:
        if self._error is not None:
            why = getattr(self._error, "strerror", None) or self._error or "out of memory"
            raise JournalError(
                f"{self.path}: {why}. Recording stopped; what was "
                f"synced before is safe. Free space, then: corporeal recover {self.path.parent}."
            ) from self._error


@dataclass
class Runs:
    """Where the records of one stream lie: `count` of `size` bytes each from byte `offset` on."""

    offset: array[int] = field(default_factory=lambda: array("q"))
    count: array[int] = field(default_factory=lambda: array("q"))
    size: array[int] = field(default_factory=lambda: array("q"))

    @property
    def samples(self) -> int:
        """How many records there are in all."""
        return sum(self.count)

    @property
    def payload_bytes(self) -> NDArray[np.int64]:
        """The size of every sample."""
        return np.repeat(np.frombuffer(self.size, np.int64), self.count) - _MESSAGE_BYTES


class _CutError(Exception):
    """Where a journal stops making sense, and whether bytes that cannot be read are left there."""

    def __init__(self, why: str, *, is_torn: bool) -> None:
        super().__init__(why)
        self.is_torn = is_torn


class Journal:
    """A journal that nobody writes any more, indexed to its end or to where it was cut.

    `ending` says which. `is_damaged` is one that was changed, not just cut: behind the damage
    there may be more. Memory grows by 24 bytes for each run of samples; no payload is kept.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.runs: dict[str, Runs] = {}
        self.ending, self.is_whole, self.is_damaged = "closed", True, False
        self._file = file
        self._names: dict[int, str] = {}
        try:
            records = self._records()
            self.header = self._read_header(records)
            self._index(records)
        except OSError as error:
            # Not an ending: what cannot be read now may be readable later.
            raise JournalError(f"{path}: {error.strerror or error}.") from None

    def stamps(self, stream: str) -> NDArray[np.int64]:
        """When every sample arrived and when its source says that it was made, (samples, 2)."""
        runs = self.runs[stream]
        stamps = np.empty((runs.samples, 2), np.int64)
        first = 0
        for offset, count, size in zip(runs.offset, runs.count, runs.size, strict=True):
            heads = self._read(offset, (count - 1) * size + _MESSAGE_BYTES)
            stamps[first : first + count] = np.ndarray(
                (count, 2), "<i8", heads, _STAMPS_AT, (size, 8)
            )
            first += count
        return stamps

    def samples(self, stream: str) -> Iterator[bytes]:
        """The packed samples, one by one."""
        runs = self.runs[stream]
        for offset, count, size in zip(runs.offset, runs.count, runs.size, strict=True):
            for begin in range(offset, offset + count * size, size):
                yield self._read(begin + _MESSAGE_BYTES, size - _MESSAGE_BYTES)

    def rows(self, stream: str) -> Iterator[NDArray[np.uint8]]:
        """The packed samples, as many of one size at a time as lie together: (samples, bytes)."""
        runs = self.runs[stream]
        for offset, count, size in zip(runs.offset, runs.count, runs.size, strict=True):
            records = self._read(offset, count * size)
            yield np.frombuffer(records, np.uint8).reshape(count, size)[:, _MESSAGE_BYTES:]

    def _read(self, offset: int, size: int) -> bytes:
        data = os.pread(self._file.fileno(), size, offset)
        while len(data) < size:
            more = os.pread(self._file.fileno(), size - len(data), offset + len(data))
            if not more:
                raise JournalError(f"{self.path}: it became shorter while it was read.")
            data += more
        return data

    def _records(self) -> Iterator[tuple[int, int, int]]:
        """Opcode, place and length of every record that is all there, up to the closing magic.

        mcap's own reader skips what it does not know; here that is damage, and ends the reading.
        """
        total = os.fstat(self._file.fileno()).st_size
        if os.pread(self._file.fileno(), len(_MAGIC), 0) != _MAGIC:
            raise _CutError("no MCAP file", is_torn=total < len(_MAGIC))
        opcode, number, place = 0, 0, len(_MAGIC)
        while opcode != Opcode.FOOTER:
            allowed = _next_kinds(number, opcode)
            if place + _HEAD.size > total:
                raise _CutError("its end is missing", is_torn=True)
            opcode, length = _HEAD.unpack(self._read(place, _HEAD.size))
            if opcode not in allowed or length > allowed[opcode]:
                raise _CutError(f"a record of kind {opcode} and {length} bytes", is_torn=False)
            if place + _HEAD.size + length > total:
                raise _CutError("in the middle of a chunk", is_torn=True)
            yield opcode, place, length
            place += _HEAD.size + length
            number += 1
        rest = self._read(place, min(total - place, len(_MAGIC) + 1))
        if rest != _MAGIC:
            raise _CutError("its last bytes are missing", is_torn=_MAGIC.startswith(rest))

    def _read_header(self, records: Iterator[tuple[int, int, int]]) -> dict[str, Any]:
        try:
            next(records)
            _, place, length = next(records)
            body = self._read(place + _HEAD.size, length)
            facts = Metadata.read(ReadDataStream(BytesIO(body))).metadata
            header, checksum = json.loads(facts["json"]), zlib.crc32(facts["json"].encode())
            is_good = isinstance(header, dict) and str(checksum) == facts["crc32"]
            version = int(facts.get("version", "1"))
        except (_CutError, StopIteration, *_UNREADABLE):
            is_good = False
        if not is_good:
            raise JournalError(f"{self.path}: not a journal, or cut before its first sample.")
        if version > VERSION:
            raise JournalError(
                f"{self.path}: a journal of version {version}; expected {VERSION} at most. "
                "Recover it with the version of Corporeal that wrote it."
            )
        return dict(header)

    def _index(self, records: Iterator[tuple[int, int, int]]) -> None:
        try:
            for opcode, place, length in records:
                if opcode == Opcode.CHUNK:
                    self._index_chunk(place, length)
        except _CutError as cut:
            self.ending, self.is_whole, self.is_damaged = f"cut: {cut}", False, not cut.is_torn

    def _index_chunk(self, place: int, length: int) -> None:
        data = self._read(place, _HEAD.size + length)
        try:
            *_, size, checksum, compression, stored = _CHUNK.unpack_from(data)
            begin = _CHUNK.size
            is_good = not compression and size == stored == len(data) - begin
            if not is_good or zlib.crc32(memoryview(data)[begin:]) != checksum:
                raise _CutError("a chunk does not match its checksum", is_torn=False)
            while begin < len(data):
                begin += self._index_run(data, begin, place)
        except _UNREADABLE as error:
            raise _CutError(f"a chunk is not readable ({error})", is_torn=False) from None

    def _index_run(self, data: bytes, begin: int, place: int) -> int:
        """Note the records from `begin` on as far as they are alike; returns their size."""
        opcode, length = _HEAD.unpack_from(data, begin)
        size = int(_HEAD.size + length)
        if size > len(data) - begin:
            raise _CutError("a chunk is not readable", is_torn=False)
        if opcode == Opcode.CHANNEL:
            body = data[begin + _HEAD.size : begin + size]
            channel = Channel.read(ReadDataStream(BytesIO(body)))
            self._names[channel.id] = channel.topic
        if opcode != Opcode.MESSAGE or length < _MESSAGE_BYTES - _HEAD.size:
            return size
        count = 1
        same = data[begin : begin + _SAME_BYTES]
        if data[begin + size : begin + size + _SAME_BYTES] == same:
            most = min(_MAX_RUN, (len(data) - begin) // size)
            heads = np.ndarray((most, _SAME_BYTES), np.uint8, data, begin, (size, 1))
            differs = (heads != heads[0]).any(axis=1)
            count = int(differs.argmax()) if differs.any() else most
        stream = self._names.get(int.from_bytes(same[_HEAD.size :], "little"))
        if stream is not None:
            runs = self.runs.setdefault(stream, Runs())
            runs.offset.append(place + begin)
            runs.count.append(count)
            runs.size.append(size)
        return count * size


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """Index a journal and keep others away from it; one that is in use is refused."""
    with path.open("rb") as file:
        lock_journal(path, file)
        yield Journal(path, file)


def lock_journal(path: Path, file: BinaryIO) -> None:
    """Keep others away from a journal while `file` is open; the lock dies with its process."""
    if not take_lock(file):
        file.close()
        raise JournalError(
            f"{path} is in use by another writer. Wait for it, or choose another name."
        )


def _next_kinds(number: int, last: int) -> dict[int, int]:
    """Which records may follow, and how long each may be."""
    if number < 2:
        return {(Opcode.HEADER, Opcode.METADATA)[number]: _MAX_RECORD_BYTES}
    if last == Opcode.DATA_END:
        return {Opcode.FOOTER: 20}
    return {Opcode.CHUNK: _MAX_RECORD_BYTES, Opcode.DATA_END: 4}


def _chunk(records: list[bytes] | list[bytearray], first_ns: int, last_ns: int) -> bytes:
    checksum = 0
    for record in records:
        checksum = zlib.crc32(record, checksum)
    size = sum(map(len, records))
    head = _CHUNK.pack(
        Opcode.CHUNK, _CHUNK.size - _HEAD.size + size, first_ns % _UINT64, last_ns % _UINT64,
        size, checksum, 0, size,
    )  # fmt: skip
    return b"".join((head, *records))


def _encode(*records: Any) -> bytes:
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    return bytes(builder.end())
