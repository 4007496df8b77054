"""Zarr of format 2 in a folder or a ZIP file: only chunks asked for are read, no object is made."""

from __future__ import annotations

import itertools
import json
import lzma
import math
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError

_BLOSC_HEADER = 16
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
COMPRESSORS = ("blosc", "gzip", "lz4", "zlib", "zstd")


def packer(*, bits: bool = False) -> Any:
    """What chunks are packed with: Zstandard in Blosc, as diffusion policy has it on disk.

    `bits` sorts the bits of numbers first, which helps numbers and hinders pictures.
    """
    from numcodecs.blosc import Blosc

    return Blosc(cname="zstd", clevel=3, shuffle=Blosc.BITSHUFFLE if bits else Blosc.NOSHUFFLE)


def decode(data: bytes, compressor: Mapping[str, Any] | None, size: int, where: str) -> bytes:
    """The `size` bytes of a chunk; raises EpisodeError when it has more or fewer."""
    kind = None if compressor is None else compressor.get("id")
    if kind is not None and kind not in COMPRESSORS:
        raise EpisodeError(
            f"{where} is packed with {str(kind)[:40]!r}; expected one of: "
            f"{', '.join(COMPRESSORS)}. Write the array anew with one of them."
        )
    try:
        plain = data if kind is None else _unpacked(data, kind, size)
    except (ValueError, RuntimeError, zlib.error) as error:
        raise EpisodeError(f"{where} cannot be unpacked ({error}). Replace the file.") from None
    if len(plain) != size:
        raise EpisodeError(f"{where} has {len(plain)} bytes; expected {size}. Replace the file.")
    return plain


def _unpacked(data: bytes, kind: str, size: int) -> bytes:
    if kind in ("zlib", "gzip"):
        return zlib.decompressobj(wbits=31 if kind == "gzip" else 15).decompress(data, size + 1)
    stated = {"blosc": _blosc_size, "zstd": _zstd_size, "lz4": _lz4_size}[kind](data)
    if stated != size:
        raise ValueError(f"states {stated} bytes; expected {size}")
    from numcodecs.registry import get_codec

    return bytes(get_codec({"id": kind}).decode(data))


def _blosc_size(data: bytes) -> int:
    """The size when unpacked; the packed one must be that of the data."""
    if len(data) < _BLOSC_HEADER or _number(data, 12, 4) != len(data):
        raise ValueError("is cut short")
    return _number(data, 4, 4)


def _zstd_size(data: bytes) -> int:
    """The size that the header of a Zstandard frame states, which it need not."""
    if len(data) < 6 or not data.startswith(_ZSTD_MAGIC):
        raise ValueError("is not Zstandard")
    flags = data[4]
    is_single = bool(flags & 0x20)
    bytes_stated = {0: 1 if is_single else 0, 1: 2, 2: 4, 3: 8}[flags >> 6]
    begin = 5 + (0 if is_single else 1) + (0, 1, 2, 4)[flags & 3]
    if not bytes_stated or len(data) < begin + bytes_stated:
        raise ValueError("does not state its size")
    return _number(data, begin, bytes_stated) + (256 if bytes_stated == 2 else 0)


def _lz4_size(data: bytes) -> int:
    return _number(data, 0, 4) if len(data) >= 4 else -1


def _number(data: bytes, begin: int, count: int) -> int:
    return int.from_bytes(data[begin : begin + count], "little")


MAX_BYTES = 1 << 31
MAX_CHUNK_BYTES = 1 << 29
MAX_CHUNKS = 1 << 20
MAX_METADATA = 1 << 26
_FILLS = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


class ZarrStore(Protocol):
    """Bytes by name, below one root."""

    @property
    def source(self) -> str:
        """Where it is, for messages."""

    def read(self, name: str, limit: int) -> bytes | None:
        """What is stored under a name; None when nothing is, EpisodeError when it is larger."""

    def arrays(self, group: str) -> list[str]:
        """Names of the arrays in a group."""


@dataclass(frozen=True)
class ZarrFolderStore:
    """A folder, of which no link leads out."""

    root: Path

    @property
    def source(self) -> str:
        """The folder."""
        return str(self.root)

    def read(self, name: str, limit: int) -> bytes | None:
        """The bytes of a file."""
        path = self.root / name
        try:
            if not path.resolve().is_relative_to(self.root.resolve()):
                raise EpisodeError(f"{path} leads out of {self.root}; expected files inside it.")
            with path.open("rb") as file:
                data = file.read(limit + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise EpisodeError(f"{path}: cannot be read ({error.strerror}).") from None
        return _bounded(data, limit, str(path))

    def arrays(self, group: str) -> list[str]:
        """Folders with a file .zarray."""
        folder = self.root / group
        if not folder.is_dir():
            return []
        return sorted(each.name for each in folder.iterdir() if (each / ".zarray").is_file())


@dataclass(frozen=True)
class ZipStore:
    """A ZIP file; `prefix` is the folder in it that the arrays are below."""

    path: Path
    archive: zipfile.ZipFile
    prefix: str = ""

    @property
    def source(self) -> str:
        """The file."""
        return str(self.path)

    def read(self, name: str, limit: int) -> bytes | None:
        """The bytes of a member."""
        try:
            with self.archive.open(self.prefix + name) as file:
                data = file.read(limit + 1)
        except KeyError:
            return None
        except (
            zipfile.BadZipFile,
            EOFError,
            OSError,
            RuntimeError,
            ValueError,
            zlib.error,
            lzma.LZMAError,
        ) as error:
            raise EpisodeError(f"{self.path}: {name} cannot be read ({error}).") from None
        return _bounded(data, limit, f"{self.path}: {name}")

    def arrays(self, group: str) -> list[str]:
        """Members NAME/.zarray of the group."""
        inside = re.compile(re.escape(f"{self.prefix}{group}/") + r"([^/]+)/\.zarray")
        found = (inside.fullmatch(name) for name in self.archive.namelist())
        return sorted(match[1] for match in found if match)


def _bounded(data: bytes, limit: int, where: str) -> bytes:
    if len(data) > limit:
        raise EpisodeError(f"{where}: more than {limit} bytes; expected less. Replace the file.")
    return data


def read_json(store: ZarrStore, name: str) -> dict[str, Any]:
    """The object in a JSON file; empty when there is no such file."""
    data = store.read(name, MAX_METADATA)
    try:
        value = json.loads(data) if data is not None else {}
    except (ValueError, RecursionError) as error:
        raise EpisodeError(f"{store.source}: {name} is not JSON ({error}).") from None
    if not isinstance(value, dict):
        raise EpisodeError(f"{store.source}: {name}, got {type(value).__name__}; expected {{...}}.")
    return value


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array whose chunks are read when they are needed; the last one read is kept."""

    store: ZarrStore
    name: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    compressor: Mapping[str, Any] | None
    fill: Any
    order: Any
    separator: str
    _last: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.shape[0]

    def rows(self, first: int, stop: int) -> NDArray[Any]:
        """Rows `first` to `stop`; their size is looked at before memory is taken."""
        row_bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        if (stop - first) * row_bytes > MAX_BYTES:
            raise self._wrong(f"{stop - first} rows of {row_bytes} bytes", f"{MAX_BYTES} bytes")
        spans = [range(first // self.chunks[0], -(-stop // self.chunks[0]))]
        spans += [range(-(-size // chunk))
                  for size, chunk in zip(self.shape[1:], self.chunks[1:], strict=True)]  # fmt: skip
        if math.prod(map(len, spans)) > MAX_CHUNKS:
            raise self._wrong(f"{math.prod(map(len, spans))} chunks", f"at most {MAX_CHUNKS}")
        values = np.empty((stop - first, *self.shape[1:]), self.dtype)
        for place in itertools.product(*spans):
            inside, outside = [], []
            for axis, number in enumerate(place):
                size, chunk = self.shape[axis], self.chunks[axis]
                low, high = (first, stop) if axis == 0 else (0, size)
                begin, end = max(low, number * chunk), min(high, (number + 1) * chunk)
                inside.append(slice(begin - number * chunk, end - number * chunk))
                outside.append(slice(begin - low, end - low))
            values[tuple(outside)] = self._chunk(place)[tuple(inside)]
        return values

    def _chunk(self, place: tuple[int, ...]) -> NDArray[Any]:
        name = f"{self.name}/{self.separator.join(map(str, place))}"
        if name not in self._last:
            size = math.prod(self.chunks) * self.dtype.itemsize
            data = self.store.read(name, 2 * size + (1 << 16))
            if data is None:
                return np.broadcast_to(np.asarray(self.fill, self.dtype), self.chunks)
            plain = decode(data, self.compressor, size, f"{self.store.source}: {name}")
            values = np.frombuffer(plain, self.dtype).reshape(self.chunks, order=self.order)
            self._last.clear()
            self._last[name] = values
        return self._last[name]

    def _wrong(self, got: str, expected: str) -> EpisodeError:
        return EpisodeError(
            f"{self.store.source}: {self.name}, got {got}; expected {expected}. Replace the file."
        )


def open_array(store: ZarrStore, name: str) -> StoredArray:
    """An array by its .zarray, which is checked; nothing else of it is read."""
    head = read_json(store, f"{name}/.zarray")
    where = f"{store.source}: {name}/.zarray"
    shape, chunks = (_sizes(head.get(key), least, where)
                     for key, least in (("shape", 0), ("chunks", 1)))  # fmt: skip
    kind = head.get("dtype")
    if head.get("zarr_format") != 2 or len(shape) != len(chunks) or not shape:
        raise EpisodeError(
            f"{where}, got format {head.get('zarr_format')!r}, shape {list(shape)} and chunks "
            f"{list(chunks)}; expected format 2 and as many chunks as axes, at least one."
        )
    if not isinstance(kind, str) or not re.fullmatch(r"[<>|](b1|[iu][1248]|f[248])", kind):
        raise EpisodeError(f"{where}, got dtype {str(kind)[:40]}; expected numbers.")
    if head.get("filters"):
        raise EpisodeError(f"{where}, got filters; expected none. Write the array without them.")
    dtype = np.dtype(kind)
    if math.prod(chunks) * dtype.itemsize > MAX_CHUNK_BYTES:
        raise EpisodeError(f"{where}, got chunks {list(chunks)}; expected {MAX_CHUNK_BYTES} bytes.")
    compressor, order = head.get("compressor"), head.get("order", "C")
    separator = head.get("dimension_separator", ".")
    if not isinstance(compressor, dict | None) or order not in ("C", "F") or separator not in "./":
        raise EpisodeError(f"{where}: compressor, order or separator makes no sense.")
    fill = _fill(head.get("fill_value"), dtype, where)
    return StoredArray(store, name, shape, chunks, dtype, compressor, fill, order, separator)


def _sizes(stated: Any, least: int, where: str) -> tuple[int, ...]:
    if not isinstance(stated, list) or len(stated) > 8:
        raise EpisodeError(f"{where}, got shape {str(stated)[:80]}; expected at most 8 sizes.")
    if not all(type(size) is int and least <= size < 1 << 40 for size in stated):
        raise EpisodeError(f"{where}, got shape {str(stated)[:80]}; expected sizes.")
    return tuple(stated)


def _fill(stated: Any, dtype: np.dtype[Any], where: str) -> Any:
    value = _FILLS.get(stated, stated) if isinstance(stated, str) else stated or 0
    try:
        return np.array(value).astype(dtype, casting="same_kind" if dtype.kind == "f" else "unsafe")
    except (TypeError, ValueError, OverflowError):
        raise EpisodeError(f"{where}, got fill value {str(stated)[:40]}; expected one.") from None
