"""The bytes of a journal: records of MCAP, and chunks of them with a checksum."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode

MAGIC = b"\x89MCAP0\r\n"
HEAD = struct.Struct("<BQ")
# Opcode, length, first and last time, size, checksum, no compression, size.
CHUNK = struct.Struct("<BQQQQIIQ")
# Opcode, length, channel: the same for all records of a run; then sequence, arrival, source.
MESSAGE = np.dtype(
    [("opcode", "u1"), ("length", "<u8"), ("channel", "<u2"), ("sequence", "<u4"),
     ("arrival_ns", "<i8"), ("source_ns", "<i8")]
)  # fmt: skip
MESSAGE_BYTES = MESSAGE.itemsize
MESSAGE_OPCODE = int(Opcode.MESSAGE)
_UINT64, _UINT32 = 1 << 64, 1 << 32
_PACK_MESSAGE = struct.Struct("<BQHIQQ").pack


def encode_message_head(
    channel: int, number: int, arrival_ns: int, source_ns: int, payload_bytes: int
) -> bytes:
    """What stands before the payload of one sample; times may be negative."""
    return _PACK_MESSAGE(
        MESSAGE_OPCODE,
        MESSAGE_BYTES - HEAD.size + payload_bytes,
        channel,
        number % _UINT32,
        arrival_ns % _UINT64,
        source_ns % _UINT64,
    )


def encode_chunk(records: list[bytes] | list[bytearray], first_ns: int, last_ns: int) -> bytes:
    """An uncompressed chunk of records, with their checksum."""
    checksum = 0
    for record in records:
        checksum = zlib.crc32(record, checksum)
    size = sum(map(len, records))
    head = CHUNK.pack(
        Opcode.CHUNK, CHUNK.size - HEAD.size + size, first_ns % _UINT64, last_ns % _UINT64,
        size, checksum, 0, size,
    )  # fmt: skip
    return b"".join((head, *records))


def encode_records(*records: Any) -> bytes:
    """Records of mcap, one behind the other."""
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    return bytes(builder.end())
