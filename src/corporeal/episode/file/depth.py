"""Lossless 16-bit depth, one frame at a time, with nothing but deflate."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError

Frame = NDArray[np.uint16]

ENCODING = "delta zigzag"
_MODULUS = 65535
# Run-length matching only: sensor noise has no repeats to find, and looking for them costs 60 %.
_STRATEGY = zlib.Z_RLE


def encode(frame: Frame) -> bytes:
    """One chunk of the `data` dataset: steps between neighbours, zigzag, byte planes, deflate.

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
        raise EpisodeError(f"a depth frame cannot be inflated: {error}.") from None
    if len(planes) != size or surplus or not inflate.eof:
        raise EpisodeError(f"a depth frame holds {len(planes)} bytes or more; expected {size}.")
    split = np.frombuffer(planes, np.uint8).reshape(2, -1)
    stored = np.empty(split.shape[::-1], np.uint8)
    stored[:, 0], stored[:, 1] = split[0], split[1]
    return restore(stored.view("<u2").reshape(shape))


def restore(stored: Frame) -> Frame:
    """Depth (..., height, width) from the values that plain h5py reads from the dataset."""
    if stored.ndim > 2:
        return np.stack([restore(frame) for frame in stored])
    flat = stored.reshape(-1)
    holes = np.flatnonzero(flat == 0)
    zigzag = flat - np.uint16(1)
    step = ((zigzag >> 1) ^ -(zigzag & 1)).view(np.int16)
    step[holes] = 0
    total = np.cumsum(step, dtype=np.int64)
    if total.size and (total.min() < 0 or total.max() >= _MODULUS):
        total %= _MODULUS
    frame = total.astype(np.uint16) + np.uint16(1)
    frame[holes] = 0
    return frame.reshape(stored.shape)


def _residual(frame: Frame) -> NDArray[np.uint16]:
    """What is stored: 0 where nothing was measured, else the step from the last measured one."""
    flat = frame.reshape(-1)
    holes = np.flatnonzero(flat == 0)
    values = _filled(flat, holes) - np.uint16(1)
    step = np.empty_like(values)
    step[:1] = values[:1]
    # Modulo 65535, which leaves the number 0 free for a hole: a borrow takes one more.
    np.subtract(values[1:], values[:-1], out=step[1:])
    step[1:] -= values[1:] < values[:-1]
    zigzag = np.asarray(step << 1, np.uint16)
    np.subtract(np.uint16(_MODULUS - 2), zigzag, out=zigzag, where=step > _MODULUS // 2)
    zigzag += np.uint16(1)
    zigzag[holes] = 0
    return zigzag.reshape(frame.shape)


def _filled(flat: Frame, holes: NDArray[np.int64]) -> Frame:
    """The frame with each run of holes at the value before it: a hole changes nothing."""
    filled: Frame = flat.copy()
    if len(holes):
        begins = np.diff(holes, prepend=-2) > 1
        source = holes[begins][np.cumsum(begins) - 1] - 1
        filled[holes] = np.where(source < 0, np.uint16(1), flat[source])
    return filled


def _planes(values: NDArray[np.uint16]) -> NDArray[np.uint8]:
    little = values.astype("<u2", copy=False)
    return np.ascontiguousarray(little.reshape(-1).view(np.uint8).reshape(-1, 2).T)
