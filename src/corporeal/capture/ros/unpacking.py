"""Packed parts of bags, unpacked within bounds: what a part claims is never taken on trust."""

from __future__ import annotations

import bz2
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import lz4.frame
import zstandard

MAX_UNPACKED_BYTES = 256 << 20
"""The most that one chunk or one message may unpack to."""
_BLOCK = 1 << 20
_MAX_WINDOW = 1 << 27
# What a reader may unpack of a whole file: honest chunks are rarely a tenth of their content.
_FREE_BYTES = 1 << 30
_MOST_TIMES = 256


class UnpackingError(ValueError):
    """A part of a bag cannot be unpacked, or is larger than it may be."""


def unpack(data: bytes, packing: str, limit: int = MAX_UNPACKED_BYTES) -> bytes:
    """The content of a packed part; raises UnpackingError before it has more than `limit` bytes."""
    readers: dict[str, Callable[[bytes, int], bytes]] = {
        "": _keep, "none": _keep, "bz2": _unpack_bz2, "lz4": _unpack_lz4, "zstd": _unpack_zstd,
    }  # fmt: skip
    if packing not in readers:
        raise UnpackingError(f"it is packed with {packing[:40]!r}, which is not known")
    limit = min(limit, MAX_UNPACKED_BYTES)
    try:
        content = readers[packing](data, limit + 1)
    except (OSError, EOFError, RuntimeError, ValueError, zstandard.ZstdError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise UnpackingError(f"a chunk cannot be unpacked: {reason}") from None
    if len(content) > limit:
        raise UnpackingError(f"a chunk unpacks to more than the {limit} bytes that it may have")
    return content


@dataclass
class UnpackingBudget:
    """Unpacks the chunks of one file, and ends when all together have become too much."""

    file_bytes: int
    spent: int = field(default=0, init=False)

    def unpack(self, data: bytes, packing: str, limit: int = MAX_UNPACKED_BYTES) -> bytes:
        """The same as `unpack`, counted."""
        content = unpack(data, packing, limit)
        self.spent += len(content)
        most = _FREE_BYTES + _MOST_TIMES * self.file_bytes
        if packing not in ("", "none") and self.spent > most:
            raise UnpackingError(f"its chunks unpack to more than {most >> 20} MiB altogether")
        return content


def _keep(data: bytes, limit: int) -> bytes:
    return data[:limit]


def _unpack_bz2(data: bytes, limit: int) -> bytes:
    return _join_streams(data, bz2.BZ2Decompressor, limit)


def _unpack_lz4(data: bytes, limit: int) -> bytes:
    return _join_streams(data, lz4.frame.LZ4FrameDecompressor, limit)


def _join_streams(data: bytes, begin: Callable[[], Any], limit: int) -> bytes:
    """The content of one stream after the other, a block at a time."""
    content = bytearray()
    while data and len(content) < limit:
        stream = begin()
        content += stream.decompress(data, min(_BLOCK, limit - len(content)))
        while not stream.eof and len(content) < limit:
            block = stream.decompress(b"", min(_BLOCK, limit - len(content)))
            if not block:
                raise EOFError("it is cut short")
            content += block
        data = stream.unused_data or b"" if stream.eof else b""
    return bytes(content)


def _unpack_zstd(data: bytes, limit: int) -> bytes:
    content = bytearray()
    inflate = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    with inflate.stream_reader(data, read_across_frames=True) as reader:
        while len(content) < limit:
            block = reader.read(min(_BLOCK, limit - len(content)))
            if not block:
                break
            content += block
    return bytes(content)
