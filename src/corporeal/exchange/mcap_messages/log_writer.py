"""Writes an MCAP file whose chunks hold one topic each, so that a topic is read on its own."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
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
