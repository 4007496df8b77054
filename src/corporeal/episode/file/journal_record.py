"""The bytes of a journal: records of MCAP, and chunks of them with a checksum."""

from __future__ import annotations

import json
import struct
import zlib
from io import BytesIO
from typing import Any

import numpy as np
from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.opcode import Opcode
from mcap.records import Metadata

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


def encode_header(text: str, names: list[str], version: int) -> bytes:
    """The record that says what is known beforehand, the journal's version and its channels."""
    facts = {"json": text, "crc32": str(zlib.crc32(text.encode())), "version": str(version)}
    # Once more, so that damage to the chunk of channels costs no sample behind it.
    channels = json.dumps(names)
    facts |= {"channels": channels, "channels_crc32": str(zlib.crc32(channels.encode()))}
    return encode_records(Metadata("header", facts))


def find_header(chunk: bytes) -> bytes:
    """The record with the header that is in a chunk; empty where there is none."""
    place = CHUNK.size
    while place + HEAD.size <= len(chunk):
        opcode, size = HEAD.unpack_from(chunk, place)
        if opcode == Opcode.METADATA:
            return chunk[place : place + HEAD.size + size]
        place += HEAD.size + size
    return b""


def parse_header(record: bytes) -> tuple[dict[str, Any], int, dict[int, str]]:
    """The header in a record, the version of the journal, and the names of its channels."""
    facts = Metadata.read(ReadDataStream(BytesIO(record[HEAD.size :]))).metadata
    header = json.loads(facts["json"])
    if not isinstance(header, dict) or str(zlib.crc32(facts["json"].encode())) != facts["crc32"]:
        raise ValueError("the header does not match its checksum")
    channels = facts.get("channels", "")
    names: dict[int, str] = {}
    if str(zlib.crc32(channels.encode())) == facts.get("channels_crc32"):
        names = dict(enumerate(map(str, json.loads(channels)), start=1))
    return header, int(facts.get("version", "1")), names
