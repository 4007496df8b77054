"""The journal: every packed sample on disk within a known time, whatever happens next.

An MCAP file of small chunks, each with its checksum, each synced before the next. What was cut
off by a kill or a power loss ends at a chunk that does not check; all before it is whole.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, DataEnd, Footer, Header, Message, Metadata
from mcap.stream_reader import breakup_chunk

from corporeal.errors import CorporealError
from corporeal.files import fsync_folder

SUFFIX = ".journal"
PROFILE = "corporeal-journal"
SYNC_EVERY_S = 0.1
MARKS = "~marks"
_MAGIC = b"\x89MCAP0\r\n"
_MAX_WAITING_BYTES = 64 << 20
_MAX_RECORD_BYTES = 1 << 30
_UINT64 = 1 << 64
_HEAD = struct.Struct("<BQ")
# What mcap's records raise when their bytes are not what they should be.
_UNREADABLE = (McapError, ValueError, KeyError, struct.error)


class JournalError(CorporealError):
    """A journal cannot be written (disk full, gone) or read (no header)."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One packed sample as it was journalled."""

    stream: str
    source_ns: int
    arrival_ns: int
    payload: bytes


class JournalWriter:
    """Appends from any thread; a thread of its own writes and syncs every `sync_every_s`.

    When the disk is slower than the samples, `append` waits; when it fails, every later call
    raises and what was synced before stays.
    """

    def __init__(
        self,
        path: Path,
        header: dict[str, Any],
        streams: list[str],
        *,
        sync_every_s: float = SYNC_EVERY_S,
    ) -> None:
        self.path = path
        self.synced_bytes = 0
        self.slowest_sync_s = 0.0
        self._channels = {name: number for number, name in enumerate([MARKS, *streams], start=1)}
        self._sequence = dict.fromkeys(self._channels, 0)
        self._changed = threading.Condition()
        self._builder = RecordBuilder()
        self._first_ns: int | None = None
        self._last_ns = 0
        self._error: OSError | MemoryError | None = None
        self._closing = False
        self._every_s = sync_every_s
        try:
            self._file = path.open("xb", buffering=0)
        except OSError as error:
            raise JournalError(f"{path}: {error.strerror or error}.") from None
        lock_journal(path, self._file)
        self._put(self._preamble(header))
        try:
            self._check()
        except JournalError:
            # Without its head a journal says nothing: better none than one that cannot be read.
            self._file.close()
            path.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def append(self, stream: str, source_ns: int, arrival_ns: int, payload: bytes) -> None:
        """Take one packed sample; it is on disk after at most one interval and one sync."""
        with self._changed:
            while self._builder.count > _MAX_WAITING_BYTES and self._error is None:
                self._changed.wait(0.1)
            self._check()
            if self._closing:
                raise JournalError(f"{self.path} is closed; a later sample cannot be added.")
            number = self._sequence[stream]
            self._sequence[stream] = number + 1
            Message(
                channel_id=self._channels[stream],
                log_time=arrival_ns % _UINT64,
                data=payload,
                publish_time=source_ns % _UINT64,
                sequence=number % (1 << 32),
            ).write(self._builder)
            self._first_ns = arrival_ns if self._first_ns is None else self._first_ns
            self._last_ns = arrival_ns

    def mark(self, what: str, arrival_ns: int, metadata: dict[str, Any]) -> None:
        """Note that a demonstration began or ended, and what is known of it."""
        text = json.dumps({"what": what, "metadata": metadata}, default=str)
        self.append(MARKS, arrival_ns, arrival_ns, text.encode())

    @property
    def waiting_bytes(self) -> int:
        """Bytes that are not on disk yet."""
        with self._changed:
            return self._builder.count

    def close(self) -> None:
        """Sync the rest and end the file properly; safe to call twice."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        if not self._file.closed:
            if self._error is None:
                self._put(_records(DataEnd(0), Footer(0, 0, 0)) + _MAGIC)
            self._file.close()
        self._check()

    def _preamble(self, header: dict[str, Any]) -> bytes:
        text = json.dumps(header, default=str)
        facts = {"json": text, "crc32": str(zlib.crc32(text.encode()))}
        channels = [
            Channel(number, name, "corporeal", {}, 0) for name, number in self._channels.items()
        ]
        # The channels are in a chunk, as the samples are, since a chunk has a checksum.
        named = _chunk(_records(*channels), 0, 0)
        return _MAGIC + _records(Header(PROFILE, "corporeal"), Metadata("header", facts), named)

    def _put(self, block: bytes) -> None:
        """Write all of a block and wait until the disk has it."""
        begin = time.monotonic()
        try:
            left = memoryview(block)
            while left:
                left = left[self._file.write(left) or 0 :]
            os.fdatasync(self._file.fileno())
        except (OSError, MemoryError) as error:
            self._error = error
            return
        self.synced_bytes += len(block)
        self.slowest_sync_s = max(self.slowest_sync_s, time.monotonic() - begin)

    def _run(self) -> None:
        taken_s = time.monotonic()
        while True:
            with self._changed:
                # From when the last block was taken: a slow sync must not add to the interval.
                wait_s = taken_s + self._every_s - time.monotonic()
                if not self._closing and wait_s > 0:
                    self._changed.wait(wait_s)
                taken_s = time.monotonic()
                closing = self._closing
                block, first, last = self._builder.end(), self._first_ns, self._last_ns
                self._first_ns = None
                self._changed.notify_all()
            if block and first is not None:
                self._put(_records(_chunk(block, first, last)))
            if closing or self._error is not None:
                return

    def _check(self) -> None:
        if self._error is not None:
            why = getattr(self._error, "strerror", None) or self._error or "out of memory"
            raise JournalError(
                f"{self.path}: {why}. Recording stopped; what was "
                f"synced before is safe. Free space, then: corporeal recover {self.path.parent}."
            )


def lock_journal(path: Path, file: Any) -> None:
    """Keep others away from a journal while `file` is open; the lock dies with its process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise JournalError(f"{path} is in use by a recorder. Wait until it has ended.") from None


class _CutError(Exception):
    """Where a journal stops making sense, and whether bytes that cannot be read are left there."""

    def __init__(self, why: str, *, is_torn: bool) -> None:
        super().__init__(why)
        self.is_torn = is_torn


class JournalReader:
    """Reads a journal to its end, or to where it was cut: `ending` says which, afterwards.

    `is_damaged` is a journal that was changed, not just cut: behind the damage there may be more.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ending = "not read yet"
        self.is_whole = False
        self.is_damaged = False
        self._names: dict[int, str] = {}
        self.header = self._read_header()

    def _read_header(self) -> dict[str, Any]:
        try:
            with self.path.open("rb") as file:
                for opcode, body in _frames(file):
                    if opcode == Opcode.METADATA:
                        return _header(body)
        except OSError as error:
            raise JournalError(f"{self.path}: {error.strerror or error}.") from None
        except (_CutError, *_UNREADABLE):
            pass
        raise JournalError(f"{self.path}: not a journal, or cut before its first sample.")

    def __iter__(self) -> Iterator[JournalEntry]:
        self.ending, self.is_whole, self.is_damaged = "not read to its end", False, False
        try:
            with self.path.open("rb") as file:
                for opcode, body in _frames(file):
                    if opcode == Opcode.CHUNK:
                        yield from self._entries(body)
            self.ending, self.is_whole = "closed", True
        except OSError as error:
            # Not an ending: what cannot be read now may be readable later.
            raise JournalError(f"{self.path}: {error.strerror or error}.") from None
        except _CutError as cut:
            self.ending, self.is_damaged = f"cut: {cut}", not cut.is_torn

    def _entries(self, body: bytes) -> Iterator[JournalEntry]:
        for record in _open_chunk(body):
            if isinstance(record, Channel):
                self._names[record.id] = record.topic
            elif isinstance(record, Message) and record.channel_id in self._names:
                yield JournalEntry(
                    self._names[record.channel_id],
                    _signed(record.publish_time),
                    _signed(record.log_time),
                    record.data,
                )


def _frames(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Opcode and body of every record that is all there, up to the closing magic.

    mcap's own reader skips what it does not know; here that is damage, and must end the reading.
    """
    size = os.fstat(file.fileno()).st_size
    if file.read(len(_MAGIC)) != _MAGIC:
        raise _CutError("no MCAP file", is_torn=size < len(_MAGIC))
    opcode, number = 0, 0
    while opcode != Opcode.FOOTER:
        allowed = _next_kinds(number, opcode)
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise _CutError("its end is missing", is_torn=True)
        opcode, length = _HEAD.unpack(head)
        if opcode not in allowed or length > allowed[opcode]:
            raise _CutError(f"a record of kind {opcode} and {length} bytes", is_torn=False)
        if length > size - file.tell():
            raise _CutError("in the middle of a chunk", is_torn=True)
        yield opcode, file.read(length)
        number += 1
    rest = file.read(len(_MAGIC) + 1)
    if rest != _MAGIC:
        raise _CutError("its last bytes are missing", is_torn=_MAGIC.startswith(rest))


def _next_kinds(number: int, last: int) -> dict[int, int]:
    """Which records may follow, and how long each may be."""
    if number < 2:
        return {(Opcode.HEADER, Opcode.METADATA)[number]: _MAX_RECORD_BYTES}
    if last == Opcode.DATA_END:
        return {Opcode.FOOTER: 20}
    return {Opcode.CHUNK: _MAX_RECORD_BYTES, Opcode.DATA_END: 4}


def _header(body: bytes) -> dict[str, Any]:
    record = Metadata.read(ReadDataStream(BytesIO(body)))
    text = record.metadata["json"]
    header = json.loads(text)
    if str(zlib.crc32(text.encode())) != record.metadata["crc32"] or not isinstance(header, dict):
        raise _CutError("the header does not match its checksum", is_torn=False)
    return header


def _open_chunk(body: bytes) -> list[Any]:
    """The records of a chunk, if it is what was written."""
    stream = ReadDataStream(BytesIO(body))
    try:
        chunk = Chunk.read(stream)
        if (
            chunk.compression
            or stream.count != len(body)
            or chunk.uncompressed_size != len(chunk.data)
            or chunk.uncompressed_crc != zlib.crc32(chunk.data)
        ):
            raise _CutError("a chunk does not match its checksum", is_torn=False)
        return list(breakup_chunk(chunk))
    except _UNREADABLE as error:
        raise _CutError(f"a chunk is not readable ({error})", is_torn=False) from None


def _chunk(block: bytes, first_ns: int, last_ns: int) -> Chunk:
    return Chunk(
        compression="",
        data=block,
        message_end_time=last_ns % _UINT64,
        message_start_time=first_ns % _UINT64,
        uncompressed_crc=zlib.crc32(block),
        uncompressed_size=len(block),
    )


def _records(*records: Any) -> bytes:
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    return bytes(builder.end())


def _signed(value: int) -> int:
    return value - _UINT64 if value >> 63 else value


def _sync_folder(folder: Path) -> None:
    """Put a new name on disk too: a synced file without one is lost with the power."""
    # Some network file systems cannot sync a folder; they do not lose names either.
    with suppress(OSError):
        fsync_folder(folder)
