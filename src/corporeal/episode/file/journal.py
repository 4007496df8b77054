"""The journal: packed samples on disk before there is an episode, whatever happens next.

An MCAP file of chunks, each with its checksum; in a chunk the samples of a stream lie together and
are numbered. One thread writes, so that a kill costs what came since; where it is late, whoever
brings a sample does. Another one syncs, so that a slow disk keeps nothing from being written.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from mcap.records import Channel, DataEnd, Footer, Header
from numpy.typing import NDArray

from corporeal.episode.file.journal_record import (
    HEAD,
    MAGIC,
    MESSAGE,
    MESSAGE_BYTES,
    MESSAGE_OPCODE,
    encode_chunk,
    encode_header,
    encode_message_head,
    encode_records,
)
from corporeal.errors import WriteError
from corporeal.files import fsync_folder, take_lock

JOURNAL_SUFFIX = ".journal"
PROFILE = "corporeal-journal"
VERSION = 3
SYNC_EVERY_S = 0.05
MARKS, RAW = "~marks", "~raw/"
"""Channels that are no stream: marks, and pictures of the stream behind it that wait for a code."""
_MAX_WAITING_BYTES = 64 << 20
_FLUSH_BYTES, _EXTEND_BYTES = 1 << 15, 1 << 20
_MOST_IN_CHUNK = 8 << 20
_UINT32 = 1 << 32
_REMEMBERED_S = 1.0
_LATE, _LEAST_BETWEEN_S = 1.2, 0.01  # Intervals until `append` writes, and between two blocks.


class JournalError(WriteError):
    """A journal cannot be written (disk full, gone) or read (no header)."""


class JournalTakenError(JournalError):
    """Somebody else has a journal of this name."""


def journal_path(target: Path) -> Path:
    """Where the samples are before there is the episode `target`."""
    return target.with_name(target.name.removesuffix(".h5") + JOURNAL_SUFFIX)


@dataclass
class _Pending:
    """Records of one stream that are not in the file yet."""

    channel: int
    numbers: list[int]
    """One number, shared by all that holds samples of the stream: that of the next sample."""
    records: bytearray = field(default_factory=bytearray)
    first_ns: int = 0
    last_ns: int = 0

    def number(self, count: int = 1) -> int:
        """The number of the next sample, of which `count` are taken."""
        first, self.numbers[0] = self.numbers[0], self.numbers[0] + count
        return first


class JournalWriter:
    """Appends from any thread; a thread writes every `sync_every_s`, another one syncs after it.

    When the disk is slower than the samples, `append` waits; when it fails, every later call
    raises and what was written before stays. With `sync_every_s=None` there are no threads, and
    what is flushed survives a kill. Streams in `raw` may have samples that are not packed yet.
    """

    def __init__(
        self,
        path: Path,
        header: Mapping[str, Any],
        streams: Iterable[str],
        *,
        raw: Iterable[str] = (),
        sync_every_s: float | None = SYNC_EVERY_S,
    ) -> None:
        self.path = path
        self.synced_bytes = 0
        self.slowest_sync_s = 0.0
        self._pending = _channels([MARKS, *streams], raw)
        self._waiting = 0
        self._chunks: list[bytes] = []
        self._oldest_s: float | None = None
        # Up to which byte blocks were written, and when the oldest sample of each was received.
        self._written_bytes = 0
        self._unsynced: deque[tuple[int, float]] = deque()
        # How long a sample waited for the disk at worst lately, and when it got there.
        self._worst_wait = (0.0, float("-inf"))
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        # Held from when a block is taken until it is written, so that blocks keep their order.
        self._writing = threading.Lock()
        self._taken_s = time.monotonic()
        self._error: OSError | MemoryError | None = None
        self._closing = False
        self._every_s = sync_every_s
        self._threads: list[threading.Thread] = []
        try:
            self.file = path.open("x+b", buffering=0)
        except FileExistsError:
            raise JournalTakenError(f"{path}: File exists. Choose another name.") from None
        except OSError as error:
            raise JournalError(f"{path}: cannot be written: {error.strerror or error}.") from None
        lock_journal(path, self.file)
        self._put(self._preamble(header))
        self._sync()
        try:
            self._check()
        except JournalError:
            # Without its head a journal says nothing: better none than one that cannot be read.
            self.file.close()
            path.unlink(missing_ok=True)
            raise
        fsync_folder(path.parent)
        if sync_every_s is not None:
            self._threads = [threading.Thread(target=work, name="journal", daemon=True)
                             for work in (self._write_on, self._sync_on)]  # fmt: skip
            for thread in self._threads:
                thread.start()

    def append(
        self,
        stream: str,
        source_ns: int,
        arrival_ns: int,
        payload: bytes,
        *,
        received_s: float | None = None,
        is_raw: bool = False,
    ) -> None:
        """Take one packed sample, or a raw one; `received_s` is when we got it (monotonic)."""
        size = MESSAGE_BYTES + len(payload)
        with self._lock:
            key = RAW + stream if is_raw else stream
            pending = self._room(key, size, arrival_ns, arrival_ns, received_s)
            pending.records += encode_message_head(
                pending.channel, pending.number(), arrival_ns, source_ns, len(payload)
            )
            pending.records += payload
            if self._threads:
                self._write_if_late()

    def extend(self, stream: str, times_ns: NDArray[np.int64], payloads: NDArray[np.uint8]) -> None:
        """Take many packed samples of one size, (samples, bytes), that arrived when made."""
        size = MESSAGE_BYTES + payloads.shape[1]
        at_once = max(1, _EXTEND_BYTES // size)
        for first in range(0, len(payloads), at_once):
            times = times_ns[first : first + at_once]
            heads = np.zeros(len(times), MESSAGE)
            heads["opcode"] = MESSAGE_OPCODE
            heads["length"] = size - HEAD.size
            heads["arrival_ns"] = heads["source_ns"] = times
            records = np.empty((len(times), size), np.uint8)
            records[:, MESSAGE_BYTES:] = payloads[first : first + at_once]
            with self._lock:
                pending = self._room(stream, records.nbytes, int(times[0]), int(times[-1]))
                heads["channel"] = pending.channel
                first_number = pending.number(len(times))
                heads["sequence"] = np.arange(first_number, first_number + len(times)) % _UINT32
                records[:, :MESSAGE_BYTES] = heads.view(np.uint8).reshape(len(times), -1)
                pending.records += records.data

    def mark(self, what: str, arrival_ns: int, metadata: dict[str, Any]) -> None:
        """Note that a demonstration began or ended, and what is known of it."""
        text = json.dumps({"what": what, "metadata": metadata}, default=str)
        self.append(MARKS, arrival_ns, arrival_ns, text.encode())

    def cut(self) -> None:
        """End the chunk here: what comes next has a checksum of its own."""
        with self._lock:
            block = self._take(list(self._pending))
            if block:
                self._waiting += len(block)
                self._chunks.append(block)

    def flush(self, stream: str | None = None) -> None:
        """Write what was taken, of one stream or of all, without waiting for the disk.

        Only for a journal without threads, which write by themselves.
        """
        with self._changed:
            block = self._take([stream] if stream is not None else list(self._pending))
            if block:
                self._put(block)
        self._check()

    @property
    def waiting_bytes(self) -> int:
        """Bytes that are not on disk yet."""
        return self._waiting

    def unsynced_s(self, now_s: float) -> float:
        """How old the oldest sample is that the disk does not have, at its worst in a second."""
        with self._lock:
            oldest_s = self._unsynced[0][1] if self._unsynced else self._oldest_s
            age_s = 0.0 if oldest_s is None else max(0.0, now_s - oldest_s)
            worst_s, at_s = self._worst_wait
            return max(age_s, worst_s) if now_s - at_s < _REMEMBERED_S else age_s

    def finish(self) -> None:
        """Write the rest and end the journal properly; it stays locked until `close`."""
        with self._changed:
            is_first, self._closing = not self._closing, True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        if is_first:
            end = encode_records(DataEnd(0), Footer(0, 0, 0)) + MAGIC
            self._put(self._take_all() + end)
            if self._threads:
                self._sync()
        self._check()

    def close(self) -> None:
        """Finish, and let others in; safe to call twice."""
        try:
            self.finish()
        finally:
            self.file.close()

    def _room(
        self, stream: str, size: int, first_ns: int, last_ns: int, received_s: float | None = None
    ) -> _Pending:
        """Wait, or write, until more may be taken; returns where the records go."""
        pending = self._pending[stream]
        if not self._threads:
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
        if self._threads:
            received_s = time.monotonic() if received_s is None else received_s
            self._oldest_s = min(self._oldest_s or received_s, received_s)
            if len(pending.records) > _MOST_IN_CHUNK:
                self.cut()
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
        return encode_chunk(records, first_ns, last_ns)

    def _take_all(self) -> bytes:
        """All that waits, chunk after chunk."""
        chunks, self._chunks = self._chunks, []
        self._waiting -= sum(map(len, chunks))
        return b"".join((*chunks, self._take(list(self._pending))))

    def _preamble(self, header: Mapping[str, Any]) -> bytes:
        text = json.dumps(header, default=str)
        channels = [
            Channel(pending.channel, name, "corporeal", {}, 0)
            for name, pending in self._pending.items()
        ]
        header_record = encode_header(text, list(self._pending), VERSION)
        # The channels are in a chunk, as the samples are, since a chunk has a checksum; the header
        # is there once more, since a single flipped bit in it would cost the whole episode.
        second = encode_chunk([encode_records(*channels), header_record], 0, 0)
        return MAGIC + encode_records(Header(PROFILE, "corporeal")) + header_record + second

    def _put(self, block: bytes) -> None:
        """Write all of a block."""
        # Nothing may follow a block that was half written.
        if self._error is not None:
            return
        try:
            left = memoryview(block)
            while left:
                left = left[self.file.write(left) or 0 :]
        except (OSError, MemoryError) as error:
            self._error = error
            return
        self._written_bytes += len(block)

    def _take_block(self) -> bytes:
        """All that waits, to be written next; `_lock` and `_writing` are held."""
        self._taken_s = time.monotonic()
        block = self._take_all()
        if block and self._oldest_s is not None:
            self._unsynced.append((self._written_bytes + len(block), self._oldest_s))
            self._oldest_s = None
        return block

    def _write_if_late(self) -> None:
        """Do the work of the thread that writes, unless it is at it; `_lock` is held."""
        now_s = time.monotonic()
        is_late = now_s - (self._oldest_s or now_s) > _LATE * (self._every_s or 0.0)
        is_due = is_late and now_s - self._taken_s >= _LEAST_BETWEEN_S
        if is_due and self._writing.acquire(blocking=False):
            try:
                self._put(self._take_block())
            finally:
                self._writing.release()
                self._changed.notify_all()

    def _sync(self) -> None:
        """Wait until the disk has all that was written until now."""
        if self._error is not None:
            return
        begin_s, until = time.monotonic(), self._written_bytes
        try:
            os.fdatasync(self.file.fileno())
        except OSError as error:
            self._error = error
            return
        with self._lock:
            now_s = time.monotonic()
            while self._unsynced and self._unsynced[0][0] <= until:
                wait = now_s - self._unsynced.popleft()[1], now_s
                is_old = now_s - self._worst_wait[1] >= _REMEMBERED_S
                self._worst_wait = wait if is_old else max(wait, self._worst_wait)
            self.synced_bytes = until
            self.slowest_sync_s = max(self.slowest_sync_s, now_s - begin_s)

    def _write_on(self) -> None:
        while not self._closing and self._error is None:
            with self._changed:
                # From when the last block was taken: a slow write must not add to the interval.
                wait_s = self._taken_s + (self._every_s or 0.0) - time.monotonic()
                if not self._closing and wait_s > 0:
                    self._changed.wait(wait_s)
            with self._writing:
                with self._changed:
                    block = self._take_block()
                    self._changed.notify_all()
                self._put(block)
            with self._changed:
                self._changed.notify_all()

    def _sync_on(self) -> None:
        while not self._closing and self._error is None:
            with self._changed:
                while not (self._closing or self._written_bytes > self.synced_bytes):
                    self._changed.wait(1.0)
            if not self._closing:
                self._sync()

    def _check(self) -> None:
        if self._error is not None:
            why = getattr(self._error, "strerror", None) or self._error or "out of memory"
            raise JournalError(
                f"{self.path}: {why}. Recording stopped; what was "
                f"synced before is safe. Free space, then: corporeal recover {self.path.parent}."
            ) from self._error


def _channels(streams: list[str], raw: Iterable[str]) -> dict[str, _Pending]:
    pending = {name: _Pending(number, [0]) for number, name in enumerate(streams, start=1)}
    for number, name in enumerate(raw, start=len(streams) + 1):
        pending[RAW + name] = _Pending(number, pending[name].numbers)
    return pending


def lock_journal(path: Path, file: BinaryIO) -> None:
    """Keep others away from a journal while `file` is open; the lock dies with its process."""
    if not take_lock(file):
        file.close()
        raise JournalError(
            f"{path} is in use by another writer. Wait for it, or choose another name."
        )
