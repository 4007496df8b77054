"""Pictures of an RLDS episode as signals: of a camera, or of depth."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corporeal.episode.recording import MAX_PIXELS, Signal, Stills
from corporeal.errors import EpisodeError
from corporeal.exchange.foreign_stream import picture_stream, stream_name
from corporeal.exchange.rlds.features import Leaf
from corporeal.exchange.rlds.meaning import Meaning
from corporeal.schema import Stream


@dataclass(frozen=True, eq=False)
class DepthStills:
    """Depth stored one by one as PNG, decoded when asked for: (height, width) each.

    16 bits as they are; floats stand in the four bytes of the pixels, as TensorFlow Datasets
    stores them.
    """

    spec: Stream
    time_ns: NDArray[np.int64]
    pictures: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> NDArray[Any]:
        """Depth (T, height, width), or one (height, width)."""
        numbers = np.arange(len(self.pictures))[selection]
        if np.ndim(numbers) == 0:
            return self._depth(self.pictures[int(numbers)])
        # Stacked at last: memory is taken for what was decoded, not for what features.json claims.
        return np.stack([self._depth(self.pictures[int(number)]) for number in numbers])

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return map(self._depth, self.pictures)

    def _depth(self, stored: bytes) -> NDArray[Any]:
        is_float = self.spec.dtype == "float32"
        try:
            with Image.open(io.BytesIO(stored), formats=("PNG",)) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise ValueError(f"{image.width} x {image.height} pixels")
                raw = np.asarray(image)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise self._broken(str(error)) from error
        if is_float and raw.dtype == np.uint8 and raw.ndim == 3 and raw.shape[2] == 4:
            raw = np.ascontiguousarray(raw).view("<f4")[..., 0]
        if raw.shape != self.spec.shape or (raw.dtype.kind == "f") != is_float:
            raise self._broken(f"it is {raw.shape} of {raw.dtype}, not {self.spec.shape}")
        return raw.astype(self.spec.dtype, copy=False)

    def _broken(self, why: str) -> EpisodeError:
        return EpisodeError(f"{self.spec.path}: depth cannot be decoded ({why}). Replace the file.")


def picture_signal(
    label: str,
    leaf: Leaf,
    values: Any,
    stamps: NDArray[np.int64],
    rate_hz: float,
    meaning: Meaning | None,
) -> Signal | None:
    """A camera or a depth camera; None when the feature holds no encoded pictures."""
    is_encoded = leaf.kind == "image"
    if is_encoded and not isinstance(values, list):
        return None
    if is_encoded and leaf.dtype in ("uint16", "float32"):
        return _depth_signal(label, leaf, values, stamps, rate_hz)
    height, width = leaf.shape[:2] if len(leaf.shape) == 3 else (-1, -1)
    if min(height, width) <= 0:
        height, width = _size(values[0])
    spec = picture_stream(label, height=height, width=width, rate_hz=rate_hz)
    told = meaning.cameras.get(label) if meaning else None
    if told is not None:
        spec = spec.model_copy(update=told.model_dump())
    return Stills(spec, stamps, values)


def _depth_signal(
    label: str, leaf: Leaf, values: Sequence[bytes], stamps: NDArray[np.int64], rate_hz: float
) -> DepthStills | None:
    if len(leaf.shape) != 3 or leaf.shape[2] != 1 or min(leaf.shape) <= 0:
        return None
    is_float = leaf.dtype == "float32"
    spec = Stream(
        name=stream_name(label),
        group="observations",
        kind="array" if is_float else "depth",
        dtype="float32" if is_float else "uint16",
        shape=leaf.shape[:2],
        rate_hz=rate_hz,
    )
    return DepthStills(spec, stamps, values)


def _size(stored: bytes) -> tuple[int, int]:
    """Height and width that a picture itself states, where features.json leaves them open."""
    try:
        with Image.open(io.BytesIO(stored), formats=("JPEG", "PNG")) as image:
            return image.height, image.width
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return 0, 0
