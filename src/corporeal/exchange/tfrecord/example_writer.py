"""Writes a tf.train.Example as one TFRecord, feature by feature through files on disk.

Every length stands before what it measures, so a feature is collected in a file of its own until
all of it is there; then the record is put together. No feature is ever held in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import WriteError
from corporeal.exchange.tfrecord.example import MAX_RECORD, write_record

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
        bodies = {name: _Body(name, kind, file) for name, (kind, file) in self._features.items()}
        inside = sum(_measured(body.size) for body in bodies.values())
        total = _measured(inside)
        if total > MAX_RECORD:
            raise WriteError(
                f"{path}: an episode of {total >> 20} MiB, and a record has at most "
                f"{MAX_RECORD >> 20}. Export smaller pictures (--image-size) or fewer rows "
                "(--rate)."
            )
        write_record(path, total, _parts(bodies.values(), inside))
        return total

    def _file(self, name: str, kind: str) -> IO[bytes]:
        if name not in self._features:
            path = self._folder / f".feature_{len(self._features):04d}"
            self._features[name] = kind, path.open("w+b")
        known, file = self._features[name]
        if known != kind:
            raise WriteError(f"feature {name!r} has entries of two kinds; expected one.")
        return file


class _Body:
    """An entry of the map: the name, and the list that its file holds."""

    def __init__(self, name: str, kind: str, file: IO[bytes]) -> None:
        content = file.tell()
        # Numbers are packed: one field holds them all. Each text is a field of its own already.
        packed = b"" if kind == "S" else _head(1, content)
        listed = len(packed) + content
        lists = _head(_LISTS[kind], listed) + packed
        key = name.encode()
        self._front = _head(1, len(key)) + key + _head(2, len(lists) + content) + lists
        self._file = file
        self.size = len(self._front) + content

    def parts(self) -> Iterator[bytes]:
        yield self._front
        self._file.seek(0)
        while part := self._file.read(_COPY):
            yield part


def _parts(bodies: Iterable[_Body], inside: int) -> Iterator[bytes]:
    yield _head(1, inside)
    for body in bodies:
        yield _head(1, body.size)
        yield from body.parts()


def _measured(size: int) -> int:
    """The size of a field with this content, its number and length before it."""
    return len(_head(1, size)) + size


def _head(field: int, size: int) -> bytes:
    return _varint(field << 3 | 2) + _varint(size)


def _varint(number: int) -> bytes:
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
