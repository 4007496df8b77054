"""TFRecord files: `length (uint64), masked CRC-32C of it, bytes, masked CRC-32C of them`.

See https://www.tensorflow.org/tutorials/load_data/tfrecord.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import google_crc32c

from corporeal.errors import EpisodeError

MAX_RECORD = (1 << 31) - 1
"""As much as a protocol buffer may have."""
_HEAD = 12
_TAIL = 4


def masked_crc(data: bytes) -> int:
    """CRC-32C, turned and shifted as TFRecord stores it."""
    return masked(google_crc32c.value(data))


def masked(crc: int) -> int:
    """A checksum as TFRecord stores it."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@dataclass(frozen=True)
class RecordPlace:
    """Where a record's bytes lie."""

    path: Path
    offset: int
    size: int

    def read(self) -> bytes:
        """The record; raises EpisodeError when its checksum is not that of its bytes."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            data, tail = file.read(self.size), file.read(_TAIL)
        if len(tail) < _TAIL or masked_crc(data) != struct.unpack("<I", tail)[0]:
            raise _broken(self.path, self.offset, "starts a record with a wrong checksum")
        return data


def records(path: Path) -> Iterator[RecordPlace]:
    """Every record of a file; only the lengths are read, and each is checked."""
    total = path.stat().st_size
    with path.open("rb") as file:
        offset = 0
        while offset < total:
            file.seek(offset)
            head = file.read(_HEAD)
            if len(head) < _HEAD:
                raise _broken(path, offset, "ends in the middle of a record")
            size, sum_of_size = struct.unpack("<QI", head)
            if masked_crc(head[:8]) != sum_of_size:
                raise _broken(path, offset, "has a wrong checksum")
            if size > MAX_RECORD or offset + _HEAD + size + _TAIL > total:
                raise _broken(path, offset, f"has a record of {size} bytes, more than are there")
            yield RecordPlace(path, offset + _HEAD, size)
            offset += _HEAD + size + _TAIL


def _broken(path: Path, offset: int, what: str) -> EpisodeError:
    return EpisodeError(f"{path}: byte {offset} {what}. Replace the file.")


def write_record(path: Path, size: int, parts: Iterable[bytes]) -> None:
    """Write a record as the only one of a file; its `parts` have `size` bytes together."""
    crc = 0
    with path.open("wb") as file:
        head = struct.pack("<Q", size)
        file.write(head + struct.pack("<I", masked_crc(head)))
        for part in parts:
            crc = google_crc32c.extend(crc, part)
            file.write(part)
        file.write(struct.pack("<I", masked(crc)))
