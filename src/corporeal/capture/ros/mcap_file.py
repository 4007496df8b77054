"""MCAP files of other people: messages in order of time, chunks unpacked within bounds."""

from __future__ import annotations

import heapq
import io
import struct
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, ChunkIndex, Schema

from corporeal.capture.ros.bag_record import (
    BagChannel,
    BagRecord,
    check_stamp,
    describe_break,
    says_latched,
)
from corporeal.capture.ros.unpacking import MAX_UNPACKED_BYTES, UnpackingBudget, UnpackingError

_MAGIC = b"\x89MCAP0\r\n"
_HEAD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<HIQQ")
_FOOTER = struct.Struct("<BQQQI")
# Chunks of the same time wait side by side until it is their turn.
_MAX_WAITING_BYTES = 1 << 30
# What mcap's records raise when their bytes are not what they should be.
_UNREADABLE = (McapError, ValueError, LookupError, RuntimeError, EOFError, OSError,
               OverflowError, MemoryError, TypeError, struct.error)  # fmt: skip
_KINDS: Mapping[int, Any] = {
    Opcode.SCHEMA: Schema,
    Opcode.CHANNEL: Channel,
    Opcode.CHUNK: Chunk,
    Opcode.CHUNK_INDEX: ChunkIndex,
}


def read_mcap(path: Path, problems: list[str]) -> Iterator[BagRecord]:
    """Every message, in order of time where there is an index; `problems` gets what is wrong."""
    count = 0
    with path.open("rb") as file:
        log = _McapFile(file, path.stat().st_size)
        log.read_summary()
        if not log.chunks:
            problems.append(f"{path.name} has no usable index: it is read from front to back.")
        elif not log.has_statistics:
            problems.append(f"{path.name} has no statistics record: messages had to be counted.")
        try:
            for record in log.ordered_messages() if log.chunks else log.messages():
                count += 1
                yield record
        except _UNREADABLE as error:
            advice = "Repair it: mcap recover."
            problems.append(describe_break(path, "MCAP", count, error, advice))


@dataclass
class _WaitingChunk:
    """An unpacked chunk and its messages in order of time, each by where its bytes begin."""

    content: bytes
    log_ns: np.ndarray[Any, np.dtype[np.uint64]]
    starts: np.ndarray[Any, np.dtype[np.int64]]
    taken: int = 0


@dataclass
class _McapFile:
    """An open file, and what was read of its topics so far."""

    file: BinaryIO
    size: int
    has_statistics: bool = False
    chunks: list[ChunkIndex] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._schemas: dict[int, Schema] = {}
        self._raw: dict[int, Channel] = {}
        self._channels: dict[int, BagChannel] = {}
        self._budget = UnpackingBudget(self.size)

    def read_summary(self) -> None:
        """Learn topics and chunks from the end of the file; nothing where that is damaged."""
        try:
            self.file.seek(max(0, self.size - _FOOTER.size - len(_MAGIC)))
            kind, _, start, _, _ = _FOOTER.unpack(self.file.read(_FOOTER.size))
            if kind != Opcode.FOOTER or start == 0:
                return
            for opcode, body in self._records(start):
                self._learn(opcode, body)
                self.has_statistics |= opcode == Opcode.STATISTICS
                if opcode == Opcode.CHUNK_INDEX:
                    self.chunks.append(_parse(opcode, body))
        except _UNREADABLE:
            self.chunks.clear()
        starts = {chunk.chunk_start_offset for chunk in self.chunks}
        if len(starts) != len(self.chunks):
            self.chunks.clear()

    def messages(self) -> Iterator[BagRecord]:
        """All from front to back."""
        self.file.seek(0)
        if self.file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("it does not begin as MCAP does")
        for opcode, body in self._records(len(_MAGIC)):
            if opcode == Opcode.CHUNK:
                content = self._unpack(_parse(opcode, body))
                for inner, start, end in _walk(content):
                    if inner == Opcode.MESSAGE:
                        yield self._message(content, start, end)
                    else:
                        self._learn(inner, content[start:end])
            elif opcode == Opcode.MESSAGE:
                yield self._message(body, 0, len(body))
            else:
                self._learn(opcode, body)

    def ordered_messages(self) -> Iterator[BagRecord]:
        """All of the chunks of the index, in order of time."""
        queue: list[tuple[int, int, int]] = [
            (chunk.message_start_time, chunk.chunk_start_offset, -1) for chunk in self.chunks
        ]
        heapq.heapify(queue)
        waiting: dict[int, _WaitingChunk] = {}
        size = 0
        while queue:
            _, offset, number = heapq.heappop(queue)
            if number < 0:
                chunk = self._open_chunk(offset)
                size += len(chunk.content)
                if size > _MAX_WAITING_BYTES:
                    raise UnpackingError(
                        f"more than {_MAX_WAITING_BYTES >> 20} MiB are of the same time"
                    )
                waiting[offset] = chunk
            else:
                chunk = waiting[offset]
                start = int(chunk.starts[number])
                (length,) = struct.unpack_from("<Q", chunk.content, start - 8)
                yield self._message(chunk.content, start, start + length)
            if number + 1 < len(chunk.starts):
                heapq.heappush(queue, (int(chunk.log_ns[number + 1]), offset, number + 1))
            else:
                size -= len(chunk.content)
                del waiting[offset]

    def _open_chunk(self, offset: int) -> _WaitingChunk:
        opcode, body = next(self._records(offset))
        if opcode != Opcode.CHUNK:
            raise ValueError(f"no chunk begins at byte {offset}, where the index has one")
        content = self._unpack(_parse(opcode, body))
        times, starts = array("Q"), array("q")
        for inner, start, end in _walk(content):
            if inner == Opcode.MESSAGE:
                times.append(struct.unpack_from("<Q", content, start + 6)[0])
                starts.append(start)
            else:
                self._learn(inner, content[start:end])
        log_ns = np.frombuffer(times, np.uint64)
        order = np.argsort(log_ns, kind="stable")
        return _WaitingChunk(content, log_ns[order], np.frombuffer(starts, np.int64)[order])

    def _unpack(self, chunk: Chunk) -> bytes:
        if chunk.uncompressed_size > MAX_UNPACKED_BYTES:
            raise UnpackingError(f"a chunk claims {chunk.uncompressed_size} bytes")
        limit = chunk.uncompressed_size if chunk.compression else MAX_UNPACKED_BYTES
        content = self._budget.unpack(chunk.data, chunk.compression, limit)
        if chunk.compression and len(content) != chunk.uncompressed_size:
            raise UnpackingError(
                f"a chunk unpacks to {len(content)} of {chunk.uncompressed_size} bytes"
            )
        return content

    def _records(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Type and body of every record from a byte on, to the footer; no body is too large."""
        self.file.seek(start)
        while True:
            head = self.file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                raise EOFError("it ends before its footer")
            opcode, length = _HEAD.unpack(head)
            start += _HEAD.size
            if opcode == 0:
                raise ValueError("a record has type 0, which there is not")
            if length > min(MAX_UNPACKED_BYTES, self.size - start):
                raise ValueError(f"a record claims {length} bytes")
            body = self.file.read(length)
            start += length
            yield opcode, body
            if opcode == Opcode.FOOTER:
                return
            self.file.seek(start)

    def _learn(self, opcode: int, body: bytes) -> None:
        if opcode == Opcode.SCHEMA:
            schema = _parse(opcode, body)
            self._schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            channel = _parse(opcode, body)
            self._raw[channel.id] = channel

    def _message(self, content: bytes, start: int, end: int) -> BagRecord:
        if end - start < _MESSAGE.size:
            raise ValueError("a message is cut short")
        number, _, log_ns, _ = _MESSAGE.unpack_from(content, start)
        if number not in self._channels:
            self._channels[number] = self._channel(number)
        data = content[start + _MESSAGE.size : end]
        return BagRecord(self._channels[number], check_stamp(log_ns), data)

    def _channel(self, number: int) -> BagChannel:
        channel = self._raw.get(number)
        if channel is None:
            raise ValueError(f"a message is of channel {number}, which is not in the file")
        schema = self._schemas.get(channel.schema_id)
        if schema is None and channel.schema_id:
            raise ValueError(f"a channel has schema {channel.schema_id}, which is not in the file")
        if schema is None:
            return BagChannel(channel.topic, "", "", "", channel.message_encoding)
        extras = channel.metadata
        is_text = schema.encoding not in ("protobuf", "flatbuffer")
        definition = schema.data.decode("utf-8", "replace") if is_text else bytes(schema.data)
        return BagChannel(
            channel.topic, schema.name, definition, schema.encoding, channel.message_encoding,
            is_latched=says_latched(extras.get("offered_qos_profiles")),
        )  # fmt: skip


def _parse(opcode: int, body: bytes) -> Any:
    """A record of mcap's, from bytes that are all there: no length in it can ask for more."""
    return _KINDS[opcode].read(ReadDataStream(io.BytesIO(body)))


def _walk(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Type, begin and end of the body of every record in a chunk."""
    start = 0
    while start < len(content):
        if start + _HEAD.size > len(content):
            raise ValueError("a chunk ends within a record")
        opcode, length = _HEAD.unpack_from(content, start)
        start += _HEAD.size
        if opcode == 0:
            raise ValueError("a record has type 0, which there is not")
        if length > len(content) - start:
            raise ValueError(f"a record in a chunk claims {length} bytes")
        if opcode == Opcode.MESSAGE and length < _MESSAGE.size:
            raise ValueError("a message is cut short")
        yield opcode, start, start + length
        start += length
