"""A sample as bytes: checked against its stream, encoded as its kind asks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file import depth
from corporeal.episode.video import Encoder
from corporeal.errors import WriteError
from corporeal.schema import Stream

_SLOW = ("video", "depth")


class Packer:
    """Turns the samples of one stream into bytes; a camera's must be packed in their order."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.is_slow = stream.kind in _SLOW
        self.dtype = np.dtype(stream.dtype).newbyteorder("<")
        self.shape = tuple(int(size) for size in stream.shape)
        self.row_bytes = math.prod(self.shape) * self.dtype.itemsize
        error = stream.depth_error
        self._levels = depth.levels_within(error) if error is not None else None
        self._encoder: Encoder | None = None

    def check(self, value: Any) -> Any:
        """The sample in the stream's dtype and shape, or WriteError; the caller keeps its own."""
        if self.stream.kind == "text":
            if not isinstance(value, str):
                raise WriteError(f"{self.stream.path}: got {type(value).__name__}; expected text.")
            if not value.isascii() and value.encode(errors="replace").decode() != value:
                raise WriteError(
                    f"{self.stream.path}: got half of a character; expected text that UTF-8 holds."
                )
            return value
        if self.stream.kind == "points":
            rows = len(value) if hasattr(value, "__len__") else 0
            return self.check_array(value, (rows, *self.shape))
        array = self.check_array(value, self.shape)
        # A camera driver may use its buffer again before the encoder has read it.
        return array.copy() if self.is_slow else array

    def pack(self, checked: Any) -> bytes:
        """The bytes of a sample that `check` returned."""
        if self.stream.kind == "text":
            return str(checked).encode()
        if self.stream.kind == "depth":
            return depth.encode(checked, self._levels)
        if self.stream.kind == "video":
            return self._video_encoder().encode(checked)
        return bytes(checked.tobytes())

    def _video_encoder(self) -> Encoder:
        if self._encoder is None:
            height, width = self.shape[:2]
            self._encoder = Encoder(height, width, rate_hz=self.stream.rate_hz or 30.0)
        return self._encoder

    def pack_raw(self, checked: Any) -> bytes:
        """The bytes of a picture that `check` returned, as they are: `encode_raw` packs them.

        No more than a copy; the next picture that is packed stands alone.
        """
        if self._encoder is not None:
            self._encoder.restart()
        return bytes(checked.tobytes())

    def encode_raw(self, raw: bytes) -> bytes:
        """What `pack` makes of a picture, from what `pack_raw` made of it."""
        if not self.is_slow or len(raw) != self.row_bytes:
            raise WriteError(
                f"{self.stream.path}: got {len(raw)} bytes of a raw picture; "
                f"expected {self.row_bytes}."
            )
        return self.pack(np.frombuffer(raw, self.dtype).reshape(self.shape))

    def check_array(self, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        """An array of exactly this shape, in the stream's dtype."""
        try:
            array = np.asarray(value)
        except ValueError:
            raise WriteError(
                f"{self.stream.path}: got rows of different lengths; expected shape {shape}."
            ) from None
        if array.shape != shape or not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise WriteError(
                f"{self.stream.path}: got {array.dtype} of shape {array.shape}; "
                f"expected {self.dtype.name} of shape {shape}."
            )
        return self._fitted(array)

    def _fitted(self, array: NDArray[Any]) -> NDArray[Any]:
        """The values in the stream's dtype, if that has room for them."""
        if np.can_cast(array.dtype, self.dtype) or not array.size:
            return array.astype(self.dtype, copy=False)
        with np.errstate(over="ignore"):
            fitted = array.astype(self.dtype)
        fits = fitted == array if self.dtype.kind in "iu" else np.isfinite(fitted)
        lost = ~fits & (np.isfinite(array) if self.dtype.kind == "f" else True)
        if lost.any():
            raise WriteError(
                f"{self.stream.path}: got the value {array[lost][0]}; "
                f"expected values that fit {self.dtype.name}."
            )
        return fitted
