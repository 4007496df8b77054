"""16-bit depth as PNG: every value kept, and quick to make."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_FILTER_LEFT = 1


def depth_png(frame: NDArray[np.uint16]) -> bytes:
    """A greyscale PNG of one frame (height, width); each byte as the step from its neighbour."""
    height, width = frame.shape
    planes = frame.astype(">u2").view(np.uint8).reshape(height, 2 * width)
    lines = np.empty((height, 2 * width + 1), np.uint8)
    lines[:, 0] = _FILTER_LEFT
    lines[:, 1:3] = planes[:, :2]
    np.subtract(planes[:, 2:], planes[:, :-2], out=lines[:, 3:])
    # Sensor noise has no repeats to find, so nothing but the frequency of bytes is used.
    deflate = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_HUFFMAN_ONLY)
    packed = deflate.compress(lines.data) + deflate.flush()
    head = struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(data, zlib.crc32(kind))
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
