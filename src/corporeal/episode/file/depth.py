"""16-bit depth, lossless or rounded within a stated error, one frame at a time, with deflate."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import EpisodeError
from corporeal.schema import Stream
from corporeal.schema.stream import DepthError

Frame = NDArray[np.uint16]

ENCODING = "delta zigzag"
ROUNDED = "delta zigzag of levels"
LEVELS = "levels"
_MODULUS = 65535
# Run-length matching only: sensor noise has no repeats to find, and looking for them costs 60 %.
_STRATEGY = zlib.Z_RLE


def encoding_of(stream: Stream) -> str:
    """The word by which the file says how depth is stored."""
    return ENCODING if stream.depth_error is None else ROUNDED


@dataclass(frozen=True, eq=False)
class DepthLevels:
    """The depths that a rounded stream can have: `depth` by number, `number` by measured depth."""

    depth: Frame
    number: Frame


@lru_cache(maxsize=16)
def levels_within(error: DepthError) -> DepthLevels:
    """As few levels as keep every depth within the error; level 0 is depth 0, not measured.

    Each level lies as far above the first depth that it stands for as the error there allows, and
    stands for all depths up to the last that is not too far above it.
    """
    depths, number = [0], np.zeros(_MODULUS + 1, np.uint16)
    first = 1
    while first <= _MODULUS:
        level = min(first + int(error.at(first)), _MODULUS)
        last = level
        while last < _MODULUS and last + 1 - level <= error.at(last + 1):
            last += 1
        number[first : last + 1] = len(depths)
        depths.append(level)
        first = last + 1
    return DepthLevels(np.array(depths, np.uint16), number)


def encode(frame: Frame, levels: DepthLevels | None = None) -> bytes:
    """One chunk of the `data` dataset: steps between neighbours, zigzag, byte planes, deflate.

    The byte planes are what HDF5's shuffle filter makes, so that plain h5py undoes this step
    and the deflate by itself and only `restore` is left to do. With `levels` the steps are those
    of level numbers.
    """
    if levels is not None:
        frame = levels.number[frame]
    planes = _planes(_residual(frame))
    deflate = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, 9, _STRATEGY)
    return deflate.compress(planes.data) + deflate.flush()


def decode(chunk: bytes, shape: tuple[int, int], levels: DepthLevels | None = None) -> Frame:
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
    frame = restore(stored.view("<u2").reshape(shape))
    if levels is None:
        return frame
    if frame.size and int(frame.max()) >= len(levels.depth):
        raise EpisodeError(
            f"a depth frame has level {frame.max()}; expected {len(levels.depth) - 1} at most."
        )
    return levels.depth[frame]


def restore(stored: Frame) -> Frame:
    """Depth (..., height, width), or the numbers of its levels, from what plain h5py reads."""
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
