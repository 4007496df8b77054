"""Chunks of Zarr arrays, packed and unpacked: never more bytes than the chunk has."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

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
