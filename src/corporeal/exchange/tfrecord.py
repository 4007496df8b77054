"""A tf.train.Example read and written without TensorFlow: bytes, floats or integers by name.

What a hostile record may take apart into is bounded. In writing every length stands before what it
measures, so a feature is collected in a file of its own until all of it is there; then the record
is put together, and no feature is ever held in memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Self

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError, WriteError
from corporeal.files import refuse_pointer

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
    refuse_pointer(path)
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


# What one record may take apart into: every entry is an object, so that bytes alone are no bound.
_MAX_FEATURES = 1 << 14
_MAX_ENTRIES = 1 << 22
_BLOCK = 1 << 20

Values = list[bytes] | NDArray[Any]


def parse_example(data: bytes) -> dict[str, Values]:
    """The features of an Example by name."""
    try:
        found: dict[str, Values] = {}
        for number, features in _fields(memoryview(data)):
            if number == 1:
                for key, entry in _fields(features):
                    if key == 1:
                        found.update([_entry(entry)])
                    if len(found) > _MAX_FEATURES:
                        raise ValueError(f"more than {_MAX_FEATURES} features")
        return found
    except (IndexError, ValueError, struct.error) as error:
        raise EpisodeError(f"a record is not a tf.train.Example ({error}).") from None


def _entry(data: Any) -> tuple[str, Values]:
    name, values = "", []
    for number, content in _fields(data):
        if number == 1:
            name = _bytes(content).decode("utf-8", "replace")
        elif number == 2:
            values = _feature(content)
    return name, values


def _bytes(content: Any) -> bytes:
    # bytes(n) of a number would be that many zeros.
    if not isinstance(content, memoryview):
        raise ValueError("a number where bytes belong")
    return bytes(content)


def _feature(data: Any) -> Any:
    for number, content in _fields(data):
        parts = [part for key, part in islice(_fields(content), _MAX_ENTRIES + 1) if key == 1]
        if len(parts) > _MAX_ENTRIES:
            raise ValueError(f"more than {_MAX_ENTRIES} entries in a feature")
        if number == 1:
            return [_bytes(part) for part in parts]
        packed = [part for part in parts if not isinstance(part, int | float)]
        if number == 2:
            loose = [part for part in parts if isinstance(part, float)]
            return np.frombuffer(b"".join(packed), "<f4") if packed else np.array(loose, "<f4")
        if number == 3:
            loose_int = [part for part in parts if isinstance(part, int)]
            return _varints(b"".join(packed)) if packed else np.array(loose_int, np.int64)
    return []


def _fields(data: Any) -> Iterator[tuple[int, Any]]:
    """Field numbers and contents of a message: bytes, or a number."""
    if not isinstance(data, memoryview):
        raise ValueError("a number where a message belongs")
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        kind = tag & 7
        if kind == 0:
            value, place = _varint(data, place)
            yield tag >> 3, value - (1 << 64) if value >= 1 << 63 else value
        elif kind == 2:
            size, place = _varint(data, place)
            if place + size > len(data):
                raise ValueError("a field is longer than its record")
            yield tag >> 3, data[place : place + size]
            place += size
        elif kind == 5:
            yield tag >> 3, struct.unpack_from("<f", data, place)[0]
            place += 4
        elif kind == 1:
            place += 8
        else:
            raise ValueError(f"wire type {kind}")


def _varint(data: Any, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number of more than ten bytes")


def _varints(data: bytes) -> NDArray[np.int64]:
    """Packed integers: a byte each where all are small, else seven bits from every byte."""
    raw = np.frombuffer(data, np.uint8)
    small = raw < 0x80
    if small.all():
        return raw.astype(np.int64)
    ends = np.flatnonzero(small)
    found = np.empty(len(ends), np.int64)
    for first in range(0, len(ends), _BLOCK):
        some = ends[first : first + _BLOCK]
        begin = int(ends[first - 1]) + 1 if first else 0
        found[first : first + _BLOCK] = _added(raw[begin : some[-1] + 1], some - begin)
    return found


def _added(raw: NDArray[np.uint8], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers that end at these bytes, their parts added up from where each one starts."""
    starts = np.concatenate(([0], ends[:-1] + 1))
    if (ends - starts).max() > 9:
        raise ValueError("a number of more than ten bytes")
    shift = (np.arange(len(raw)) - np.repeat(starts, ends - starts + 1)) * 7
    bits = (raw & 0x7F).astype(np.uint64) << shift.astype(np.uint64)
    return np.add.reduceat(bits, starts).view(np.int64)


# The lists of a tf.train.Feature by the kind of their entries: bytes, floats, integers.
_LISTS = {"S": 1, "f": 2, "i": 3}
_COPY = 1 << 22
_SPREAD = 1 << 18


class ExampleWriter:
    """An Example that grows feature by feature. Use it with `with`; `write` ends it.

    `folder` holds the files that are needed meanwhile; they are removed at the end.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._features: dict[str, tuple[str, IO[bytes]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _kind, file in self._features.values():
            file.close()
            Path(file.name).unlink(missing_ok=True)

    def numbers(self, name: str, values: NDArray[Any]) -> None:
        """Append numbers to a feature: floats with 32 bits, anything else as integers."""
        if values.dtype.kind == "f":
            with np.errstate(over="ignore"):
                self._file(name, "f").write(np.ascontiguousarray(values, "<f4").data)
            return
        file, flat = self._file(name, "i"), values.reshape(-1)
        for first in range(0, len(flat), _SPREAD):
            file.write(packed_integers(flat[first : first + _SPREAD]))

    def blobs(self, name: str, entries: Iterable[bytes]) -> None:
        """Append texts or pictures to a feature."""
        file = self._file(name, "S")
        for entry in entries:
            file.write(_head(1, len(entry)))
            file.write(entry)

    def write(self, path: Path) -> int:
        """Write the record as the only one of a file; gives its size without the frame."""
        heads = {name: _feature_head(name, kind, file.tell())
                 for name, (kind, file) in self._features.items()}  # fmt: skip
        sizes = {name: len(head) + self._features[name][1].tell() for name, head in heads.items()}
        inside = sum(_measured(size) for size in sizes.values())
        total = _measured(inside)
        if total > MAX_RECORD:
            raise WriteError(
                f"{path}: an episode of {total >> 20} MiB, and a record has at most "
                f"{MAX_RECORD >> 20}. Export smaller pictures (--image-size) or fewer rows "
                "(--rate)."
            )

        def parts() -> Iterator[bytes]:
            yield _head(1, inside)
            for name, head in heads.items():
                yield _head(1, sizes[name]) + head
                file = self._features[name][1]
                file.seek(0)
                yield from iter(partial(file.read, _COPY), b"")

        write_record(path, total, parts())
        return total

    def _file(self, name: str, kind: str) -> IO[bytes]:
        if name not in self._features:
            path = self._folder / f".feature_{len(self._features):04d}"
            self._features[name] = kind, path.open("w+b")
        known, file = self._features[name]
        if known != kind:
            raise WriteError(f"feature {name!r} has entries of two kinds; expected one.")
        return file


def _feature_head(name: str, kind: str, content: int) -> bytes:
    """What stands before the content of a feature, an entry of the map: its name, its list."""
    # Numbers are packed: one field holds them all. Each text is a field of its own already.
    packed = b"" if kind == "S" else _head(1, content)
    lists = _head(_LISTS[kind], len(packed) + content) + packed
    key = name.encode()
    return _head(1, len(key)) + key + _head(2, len(lists) + content) + lists


def _measured(size: int) -> int:
    """The size of a field with this content, its number and length before it."""
    return len(_head(1, size)) + size


def _head(field: int, size: int) -> bytes:
    return _varint_bytes(field << 3 | 2) + _varint_bytes(size)


def _varint_bytes(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def packed_integers(values: NDArray[Any]) -> bytes:
    """Integers as varints, one after the other; a negative one takes ten bytes."""
    left = values.astype(np.int64).view(np.uint64)
    bits = int(left.max()).bit_length() if len(left) else 0
    if bits <= 7:
        return left.astype(np.uint8).tobytes()
    shifts = np.arange(0, bits, 7, dtype=np.uint64)
    groups = left[:, None] >> shifts
    is_there = groups > 0
    is_there[:, 0] = True
    encoded = (groups & np.uint64(0x7F)).astype(np.uint8)
    encoded[:, :-1][is_there[:, 1:]] |= np.uint8(0x80)
    return encoded[is_there].tobytes()
