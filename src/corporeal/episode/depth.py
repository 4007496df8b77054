"""Lossless 16-bit depth, one frame at a time, with nothing but deflate."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError

Frame = NDArray[np.uint16]

ENCODING = "row-delta zigzag"
# Run-length matching only: sensor noise has no repeats to find, and looking for them costs 60 %.
_STRATEGY = zlib.Z_RLE


def encode(frame: Frame) -> bytes:
    """One chunk of the `data` dataset: differences along rows, zigzag, byte planes, deflate.

    The byte planes are what HDF5's shuffle filter makes, so that plain h5py undoes this step
    and the deflate by itself and only `restore` is left to do.
    """
    planes = _planes(_residual(frame))
    deflate = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, 9, _STRATEGY)
    return deflate.compress(planes.data) + deflate.flush()


def decode(chunk: bytes, shape: tuple[int, int]) -> Frame:
    """The frame of one stored chunk; never inflates more than the shape allows."""
    size = shape[0] * shape[1] * 2
    inflate = zlib.decompressobj()
    try:
        planes = inflate.decompress(chunk, size)
        surplus = inflate.decompress(inflate.unconsumed_tail, 1) if not inflate.eof else b""
    except zlib.error as error:
        raise EpisodeError(f"a depth frame cannot be inflated: {error}") from None
    if len(planes) != size or surplus:
        raise EpisodeError(f"a depth frame holds {len(planes)} bytes or more; expected {size}.")
    split = np.frombuffer(planes, np.uint8).reshape(2, -1)
    stored = np.empty(split.shape[::-1], np.uint8)
    stored[:, 0], stored[:, 1] = split[0], split[1]
    return restore(stored.view("<u2").reshape(shape))


def restore(stored: Frame) -> Frame:
    """Depth (..., height, width) from the values that plain h5py reads from the dataset."""
    residual = (stored >> 1) ^ -(stored & 1)
    return np.cumsum(residual, axis=-1, dtype=np.uint16)


def _residual(frame: Frame) -> NDArray[np.uint16]:
    difference = np.empty(frame.shape, np.uint16)
    difference[:, 0] = frame[:, 0]
    np.subtract(frame[:, 1:], frame[:, :-1], out=difference[:, 1:])
    sign = (difference.view(np.int16) >> 15).view(np.uint16)
    return np.asarray((difference << 1) ^ sign, np.uint16)


def _planes(values: NDArray[np.uint16]) -> NDArray[np.uint8]:
    little = values.astype("<u2", copy=False)
    return np.ascontiguousarray(little.reshape(-1).view(np.uint8).reshape(-1, 2).T)
