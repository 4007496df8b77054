"""MCAP files: written with one topic in each chunk, and read as hostile until checked."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import zstandard
from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    ChunkIndex,
    DataEnd,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from numpy.typing import NDArray

from corporeal import __version__
from corporeal.errors import EpisodeError
from corporeal.exchange.mcap_messages.message_type import Bytes

MAGIC = b"\x89MCAP0\r\n"
HEAD = np.dtype(
    [("opcode", "u1"), ("length", "<u8"), ("channel", "<u2"), ("sequence", "<u4"),
     ("log_time", "<u8"), ("publish_time", "<u8")]
)  # fmt: skip
"""What stands before the bytes of every message."""
_CHUNK = struct.Struct("<BQQQQI")
_LEVEL = 3


@dataclass(frozen=True, eq=False)
class MessageBatch:
    """Messages of one topic that go into one chunk, from the sample `first` on."""

    channel: int
    first: int
    time_ns: NDArray[np.uint64]
    messages: Bytes | Sequence[bytes]
    compressed: bool = True

    def records(self) -> tuple[bytes, NDArray[np.uint64]]:
        """All as records of the file, and where each begins."""
        count = len(self.messages)
        heads = np.zeros(count, HEAD)
        heads["opcode"], heads["channel"] = Opcode.MESSAGE, self.channel
        heads["sequence"] = (self.first + np.arange(count)) & 0xFFFFFFFF
        heads["log_time"] = heads["publish_time"] = self.time_ns
        sizes = np.array([len(message) for message in self.messages], np.uint64)
        heads["length"] = sizes + np.uint64(HEAD.itemsize - 9)
        steps = sizes + np.uint64(HEAD.itemsize)
        places = np.cumsum(steps) - steps
        packed = heads.view(np.uint8).reshape(count, -1)
        if isinstance(self.messages, np.ndarray):
            return np.concatenate([packed, self.messages], axis=1).tobytes(), places
        parts = [part for pair in zip(packed, self.messages, strict=True) for part in pair]
        return b"".join(bytes(part) for part in parts), places


class LogWriter:
    """An MCAP file being written: topics first, then batches, then `finish`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._crc = 0
        self._place = 0
        self._schemas: dict[str, Schema] = {}
        self._channels: list[Channel] = []
        self._chunks: list[ChunkIndex] = []
        self._metadata: list[MetadataIndex] = []
        self._attachments: list[AttachmentIndex] = []
        self._counts: dict[int, int] = {}
        self._span: tuple[int, int] | None = None
        self._squeeze = zstandard.ZstdCompressor(level=_LEVEL)
        self._put(MAGIC + _bytes_of(Header(profile="ros2", library=f"corporeal {__version__}")))

    def add_topic(self, topic: str, type_name: str, definition: str, **facts: str) -> int:
        """The number of a new topic."""
        if type_name not in self._schemas:
            schema = Schema(id=len(self._schemas) + 1, name=type_name, encoding="ros2msg",
                            data=definition.encode())  # fmt: skip
            self._schemas[type_name] = schema
            self._put(_bytes_of(schema))
        channel = Channel(id=len(self._channels) + 1, topic=topic, message_encoding="cdr",
                          metadata=facts, schema_id=self._schemas[type_name].id)  # fmt: skip
        self._channels.append(channel)
        self._counts[channel.id] = 0
        self._put(_bytes_of(channel))
        return channel.id

    def add(self, batch: MessageBatch) -> None:
        """Write one chunk."""
        records, places = batch.records()
        begin, end = int(batch.time_ns.min()), int(batch.time_ns.max())
        stored = self._squeeze.compress(records) if batch.compressed else records
        name = b"zstd" if batch.compressed else b""
        length = _CHUNK.size - 9 + 4 + len(name) + 8 + len(stored)
        head = _CHUNK.pack(Opcode.CHUNK, length, begin, end, len(records), zlib.crc32(records))
        start = self._place
        self._put(head + struct.pack("<I", len(name)) + name + struct.pack("<Q", len(stored)))
        self._put(stored)
        entries = np.stack([batch.time_ns, places], axis=1).astype("<u8").tobytes()
        index_at = self._place
        head = struct.pack("<BQHI", Opcode.MESSAGE_INDEX, 6 + len(entries), batch.channel,
                            len(entries))  # fmt: skip
        self._put(head + entries)
        index = ChunkIndex(
            chunk_length=index_at - start, chunk_start_offset=start, compression=name.decode(),
            compressed_size=len(stored), message_end_time=end, message_start_time=begin,
            message_index_length=self._place - index_at, uncompressed_size=len(records),
            message_index_offsets={batch.channel: index_at},
        )  # fmt: skip
        self._chunks.append(index)
        self._counts[batch.channel] += len(places)
        first, last = self._span or (begin, end)
        self._span = min(first, begin), max(last, end)

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Write a record of names and texts."""
        record = _bytes_of(Metadata(name=name, metadata=dict(values)))
        self._metadata.append(MetadataIndex(offset=self._place, length=len(record), name=name))
        self._put(record)

    def add_attachment(self, name: str, media_type: str, data: bytes) -> None:
        """Write a file inside the file."""
        record = _bytes_of(
            Attachment(create_time=0, log_time=0, name=name, media_type=media_type, data=data)
        )
        self._attachments.append(
            AttachmentIndex(create_time=0, data_size=len(data), length=len(record), log_time=0,
                            media_type=media_type, name=name, offset=self._place)
        )  # fmt: skip
        self._put(record)

    def finish(self) -> None:
        """Write the index; the file is not complete before."""
        self._put(_bytes_of(DataEnd(data_section_crc=self._crc)))
        summary_start, summary, offsets = self._place, bytearray(), bytearray()
        groups: tuple[tuple[Opcode, Sequence[McapRecord]], ...] = (
            (Opcode.SCHEMA, list(self._schemas.values())),
            (Opcode.CHANNEL, self._channels),
            (Opcode.STATISTICS, [self._statistics()]),
            (Opcode.CHUNK_INDEX, self._chunks),
            (Opcode.ATTACHMENT_INDEX, self._attachments),
            (Opcode.METADATA_INDEX, self._metadata),
        )
        for opcode, records in groups:
            if records:
                group = b"".join(map(_bytes_of, records))
                start = summary_start + len(summary)
                offsets += _bytes_of(SummaryOffset(opcode, start, len(group)))
                summary += group
        offsets_start = summary_start + len(summary)
        tail = struct.pack("<BQQQ", Opcode.FOOTER, 20, summary_start, offsets_start)
        checked = bytes(summary + offsets) + tail
        self._put(checked + struct.pack("<I", zlib.crc32(checked)) + MAGIC)

    def _statistics(self) -> Statistics:
        begin, end = self._span or (0, 0)
        return Statistics(
            attachment_count=len(self._attachments), channel_count=len(self._channels),
            channel_message_counts=self._counts, chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()), message_end_time=end,
            message_start_time=begin, metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )  # fmt: skip

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._crc = zlib.crc32(data, self._crc)
        self._place += len(data)


def _bytes_of(record: McapRecord) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    return bytes(builder.end())


MAX_CHUNK_BYTES = 320 << 20
MAX_INDEX_BYTES = 64 << 20
MAX_ATTACHMENT_BYTES = 32 << 20
_MAX_WINDOW = 1 << 27
_FOOTER = struct.Struct("<BQQQI8s")
# What mcap's records raise when their bytes are not what they should be.
_UNREADABLE = (McapError, ValueError, KeyError, struct.error, OSError, zstandard.ZstdError,
               OverflowError, MemoryError)  # fmt: skip
_KINDS: dict[int, Any] = {
    Opcode.SCHEMA: Schema,
    Opcode.CHANNEL: Channel,
    Opcode.CHUNK_INDEX: ChunkIndex,
    Opcode.ATTACHMENT_INDEX: AttachmentIndex,
    Opcode.METADATA_INDEX: MetadataIndex,
}


@contextmanager
def mcap_errors_explained(path: Path) -> Iterator[None]:
    """Whatever a damaged file makes the libraries raise becomes one sentence about that file."""
    try:
        yield
    except _UNREADABLE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EpisodeError(
            f"{path}: cannot be read as MCAP: {reason}. "
            "The file is damaged or was cut off; take it from its source again."
        ) from None


@dataclass(frozen=True, eq=False)
class McapLog:
    """An MCAP file: what its index says. Nothing stays open."""

    path: Path
    size: int
    channels: dict[str, Channel] = field(default_factory=dict)
    schemas: dict[int, str] = field(default_factory=dict)
    chunks: dict[int, list[ChunkIndex]] = field(default_factory=dict)
    """The chunks of each channel, in the order in which they were written."""
    attachments: tuple[AttachmentIndex, ...] = ()
    metadata: tuple[MetadataIndex, ...] = ()

    def bytes_at(self, offset: int, length: int) -> bytes:
        """A stretch of the file; EpisodeError when it is not all there."""
        if not 0 <= offset <= self.size - length or length < 0:
            raise EpisodeError(f"{self.path}: its index points outside of it, at byte {offset}.")
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def named_metadata(self, name: str) -> dict[str, str] | None:
        """The metadata record with this name."""
        for index in self.metadata:
            if index.name == name:
                with mcap_errors_explained(self.path):
                    data = self.bytes_at(index.offset, _bounded(index.length, MAX_INDEX_BYTES))
                    record = Metadata.read(_content(data, Opcode.METADATA))
                    return dict(record.metadata)
        return None

    def attachment(self, index: AttachmentIndex) -> bytes:
        """The data of an attachment, checked against its checksum."""
        with mcap_errors_explained(self.path):
            data = self.bytes_at(index.offset, _bounded(index.length, MAX_ATTACHMENT_BYTES))
            if data[-4:] != struct.pack("<I", zlib.crc32(data[9:-4])):
                raise ValueError(f"the attachment {index.name!r} is damaged")
            return bytes(Attachment.read(_content(data, Opcode.ATTACHMENT)).data)

    def stamps(self, channel: int) -> list[NDArray[np.uint64]]:
        """(time, place in the chunk) of every message (n, 2), for each chunk of the channel."""
        indexes = []
        for chunk in self.chunks.get(channel, ()):
            offset = chunk.message_index_offsets[channel]
            opcode, length, owner, size = struct.unpack("<BQHI", self.bytes_at(offset, 15))
            if (
                opcode != Opcode.MESSAGE_INDEX
                or owner != channel
                or size % 16
                or length != size + 6
            ):
                raise EpisodeError(f"{self.path}: byte {offset} is no index of messages.")
            entries = self.bytes_at(offset + 15, _bounded(size, MAX_INDEX_BYTES))
            pairs = np.frombuffer(entries, "<u8").reshape(-1, 2).astype(np.uint64)
            indexes.append(pairs[np.argsort(pairs[:, 1], kind="stable")])
        return indexes

    def chunk(self, index: ChunkIndex) -> bytes:
        """The records of a chunk, checked against its checksum."""
        with mcap_errors_explained(self.path):
            head = self.bytes_at(index.chunk_start_offset, 41)
            opcode, _, _, _, size, crc, name_size = struct.unpack("<BQQQQII", head)
            if opcode != Opcode.CHUNK or name_size > 16:
                raise EpisodeError(f"{self.path}: byte {index.chunk_start_offset} is no chunk.")
            at = index.chunk_start_offset + 41
            name = self.bytes_at(at, name_size)
            (stored_size,) = struct.unpack("<Q", self.bytes_at(at + name_size, 8))
            stored = self.bytes_at(at + name_size + 8, _bounded(stored_size, MAX_CHUNK_BYTES))
            records = _inflated(stored, name, _bounded(size, MAX_CHUNK_BYTES))
            if len(records) != size or (crc and zlib.crc32(records) != crc):
                raise ValueError(f"the chunk at byte {index.chunk_start_offset} is damaged")
            return records


def messages_at(
    records: bytes, places: NDArray[np.uint64], channel: int, *, where: str
) -> list[bytes]:
    """The bytes of the messages at these rising places of a chunk; none is there twice."""
    payloads, end = [], 0
    for place in places.tolist():
        begin = place + HEAD.itemsize
        if end <= place and begin <= len(records):
            opcode, length, owner = struct.unpack_from("<BQH", records, place)
            end = place + 9 + length
            if opcode == Opcode.MESSAGE and owner == channel and begin <= end <= len(records):
                payloads.append(records[begin:end])
                continue
        raise EpisodeError(f"{where}: no message at place {place} of a chunk, but its index has.")
    return payloads


def _inflated(stored: bytes, name: bytes, size: int) -> bytes:
    """At most one byte more than expected, however much the chunk would give."""
    if name == b"":
        return stored
    if name != b"zstd":
        raise ValueError(f"a chunk is compressed with {name!r}; expected zstd or nothing")
    inflate = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    with inflate.stream_reader(io.BytesIO(stored)) as reader:
        return bytes(reader.read(size + 1))


def _bounded(size: int, limit: int) -> int:
    if not 0 <= size <= limit:
        raise EpisodeError(f"a part of an MCAP file has {size} bytes; expected {limit} at most.")
    return size


def _content(data: bytes, opcode: Opcode) -> ReadDataStream:
    if data[:1] != bytes([opcode]):
        raise ValueError(f"record {data[:1]!r} instead of {opcode.name}")
    return ReadDataStream(io.BytesIO(data[9:]))


def open_log(path: Path) -> McapLog:
    """Read the index of an MCAP file; EpisodeError when it has none."""
    with mcap_errors_explained(path):
        size = path.stat().st_size
        log = McapLog(path, size)
        if size < _FOOTER.size + 2 * len(MAGIC) or log.bytes_at(0, 8) != MAGIC:
            raise ValueError("not an MCAP file")
        footer_at = size - _FOOTER.size
        footer = log.bytes_at(footer_at, _FOOTER.size)
        opcode, _, start, offsets, crc, magic = _FOOTER.unpack(footer)
        if opcode != Opcode.FOOTER or magic != MAGIC or not 0 < start <= footer_at:
            raise ValueError("it has no index at its end")
        summary = log.bytes_at(start, _bounded(footer_at - start, MAX_INDEX_BYTES))
        if crc and zlib.crc32(summary + footer[:25]) != crc:
            raise ValueError("its index is damaged")
        if offsets and not start <= offsets <= footer_at:
            raise ValueError("its index is damaged")
        return _indexed(log, summary[: (offsets or footer_at) - start])


def _indexed(log: McapLog, summary: bytes) -> McapLog:
    by_kind: dict[Any, list[Any]] = {kind: [] for kind in _KINDS.values()}
    for record in _records(summary):
        by_kind[type(record)].append(record)
    chunks: dict[int, list[ChunkIndex]] = {}
    for chunk in sorted(by_kind[ChunkIndex], key=lambda chunk: int(chunk.chunk_start_offset)):
        for channel in chunk.message_index_offsets:
            chunks.setdefault(channel, []).append(chunk)
    return McapLog(
        path=log.path,
        size=log.size,
        channels={channel.topic: channel for channel in by_kind[Channel]},
        schemas={schema.id: schema.name for schema in by_kind[Schema]},
        chunks=chunks,
        attachments=tuple(by_kind[AttachmentIndex]),
        metadata=tuple(by_kind[MetadataIndex]),
    )


def _records(summary: bytes) -> Iterator[McapRecord]:
    place = 0
    while place + 9 <= len(summary):
        opcode, length = struct.unpack_from("<BQ", summary, place)
        place += 9
        if length > len(summary) - place:
            raise ValueError("a record of its index is cut off")
        kind = _KINDS.get(opcode)
        if kind is not None:
            yield kind.read(ReadDataStream(io.BytesIO(summary[place : place + length])))
        place += length
