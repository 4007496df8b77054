"""The streams of an open episode: nothing is read before it is asked for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.file import depth, layout
from corporeal.episode.file.attributes import read_attribute
from corporeal.episode.file.storage import RangeFile, Region, Storage, explained
from corporeal.episode.video import Decoder, PacketIndex
from corporeal.errors import EpisodeError
from corporeal.schema import Stream

Selection = int | slice | Sequence[int] | NDArray[np.integer[Any]]


class StreamReader(ABC):
    """One stream: `spec` says what it is, `time_ns` when, indexing gives the samples.

    `stream[5]` is one sample, `stream[10:20]` and `stream[[3, 1]]` are several; only those are
    read from the file.
    """

    def __init__(self, storage: Storage, spec: Stream) -> None:
        self.spec = spec
        self._storage = storage
        with explained(storage.path):
            self._time = storage.region(f"{spec.path}/time_ns", "int64", (), None)

    def __len__(self) -> int:
        return self._time.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"<{self.spec.path}: {len(self)} samples, {self.spec.kind}>"

    @cached_property
    def time_ns(self) -> NDArray[np.int64]:
        """Stamps of all samples, int64 nanoseconds since the episode's epoch; read-only."""
        with explained(self._storage.path):
            stamps = self._time.read()
        stamps.flags.writeable = False
        return stamps

    @property
    def nbytes(self) -> int:
        """Bytes in the file, stamps included."""
        with explained(self._storage.path):
            return self._time.nbytes + self._data_bytes()

    @overload
    def __getitem__(self, selection: int) -> Any: ...
    @overload
    def __getitem__(self, selection: slice | Sequence[int] | NDArray[np.integer[Any]]) -> Any: ...
    def __getitem__(self, selection: Selection) -> Any:
        if isinstance(selection, slice) and selection.step in (None, 1):
            first, stop, _ = selection.indices(len(self))
            with explained(self._storage.path):
                return self._span(first, max(first, stop))
        numbers = self._numbers(selection)
        with explained(self._storage.path):
            if numbers.ndim == 0:
                return self._span(int(numbers), int(numbers) + 1)[0]
            return self._pick(numbers)

    def _numbers(self, selection: Any) -> NDArray[np.int64]:
        """Sample numbers from 0 on; Python's own errors, so that `for` and `reversed` work."""
        if isinstance(selection, slice):
            return np.arange(*selection.indices(len(self)))
        numbers = np.asarray(selection)
        if numbers.ndim > 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise TypeError(
                f"index, got {numbers.dtype} of shape {numbers.shape}; expected whole numbers."
            )
        if numbers.size and not (-len(self) <= numbers.min() and numbers.max() < len(self)):
            raise IndexError(f"sample {selection}; {self.spec.path} has {len(self)}.")
        numbers = numbers.astype(np.int64)
        return np.where(numbers < 0, numbers + len(self), numbers)

    def _span(self, first: int, stop: int) -> Any:
        return self._pick(np.arange(first, stop))

    @abstractmethod
    def _pick(self, numbers: NDArray[np.int64]) -> Any:
        """The samples with these numbers."""

    @abstractmethod
    def sizes(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Bytes (or rows, for points) that each of these samples takes: a cheap hint of change."""

    @abstractmethod
    def _data_bytes(self) -> int:
        """Bytes of the data in the file."""


class ArrayReader(StreamReader):
    """Numbers of a fixed shape, as an array (T, ...)."""

    @cached_property
    def _data(self) -> Region:
        row = tuple(int(size) for size in self.spec.shape)
        return self._storage.region(f"{self.spec.path}/data", self.spec.dtype, row, len(self))

    def _span(self, first: int, stop: int) -> NDArray[Any]:
        return self._data.read(first, stop)

    def _pick(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        if not numbers.size:
            return self._data.read(0, 0)
        low, high = int(numbers.min()), int(numbers.max()) + 1
        if high - low <= 64 * len(numbers):
            return self._data.read(low, high)[numbers - low]
        return np.concatenate([self._data.read(number, number + 1) for number in numbers.tolist()])

    def sizes(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """All the same."""
        return np.full(len(numbers), float(self._data.row_bytes))

    def _data_bytes(self) -> int:
        return self._data.nbytes


class RaggedReader(StreamReader):
    """Samples of changing length: point clouds (n, columns), or text."""

    @cached_property
    def _data(self) -> Region:
        row = tuple(int(size) for size in self.spec.shape)
        return self._storage.region(f"{self.spec.path}/data", self.spec.dtype, row, None)

    @cached_property
    def _offset(self) -> NDArray[np.int64]:
        path = f"{self.spec.path}/offset"
        offset = self._storage.region(path, "int64", (), len(self) + 1).read()
        falls = (offset[1:] < offset[:-1]).any()
        if offset[0] != 0 or offset[-1] != self._data.shape[0] or falls:
            raise EpisodeError(f"{self._storage.path}: {path} does not rise from 0 to its end.")
        return offset

    def _pick(self, numbers: NDArray[np.int64]) -> list[Any]:
        return [self._sample(number) for number in numbers.tolist()]

    def sizes(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Rows of each cloud, bytes of each text."""
        return (self._offset[numbers + 1] - self._offset[numbers]).astype(np.float64)

    def _sample(self, number: int) -> Any:
        rows = self._data.read(int(self._offset[number]), int(self._offset[number + 1]))
        return rows.tobytes().decode("utf-8") if self.spec.kind == "text" else rows

    def _data_bytes(self) -> int:
        return self._data.nbytes


class DepthReader(StreamReader):
    """16-bit depth frames, as an array (T, height, width), metric also where they were rounded."""

    @cached_property
    def levels(self) -> depth.DepthLevels | None:
        """The depths that a frame can have; None where it is stored exactly."""
        error = self.spec.depth_error
        return depth.levels_within(error) if error is not None else None

    @cached_property
    def _data(self) -> Any:
        path = f"{self.spec.path}/data"
        dataset = self._storage.dataset(path)
        frame = tuple(int(size) for size in self.spec.shape)
        expected = (len(self), *frame)
        if (
            dataset.shape != expected
            or dataset.dtype != np.dtype("<u2")
            or dataset.chunks != (1, *frame)
            or read_attribute(dataset, "encoding") != depth.encoding_of(self.spec)
            or frame[0] * frame[1] * 2 > layout.MAX_FRAME_BYTES
            or dataset.id.get_num_chunks() != len(self)
        ):
            raise EpisodeError(
                f"{self._storage.path}: {path} is {dataset.dtype} of shape {dataset.shape} in "
                f"chunks {dataset.chunks}; expected uint16 of shape {expected}, a chunk per frame."
            )
        return dataset

    def _pick(self, numbers: NDArray[np.int64]) -> NDArray[np.uint16]:
        height, width = (int(size) for size in self.spec.shape)
        frames = np.empty((len(numbers), height, width), np.uint16)
        for place, number in enumerate(numbers.tolist()):
            frames[place] = depth.decode(self._chunk(number), (height, width), self.levels)
        return frames

    def sizes(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Packed bytes of each frame."""
        info = self._data.id.get_chunk_info_by_coord
        return np.array([info((number, 0, 0)).size for number in numbers.tolist()], np.float64)

    def packed(self, number: int) -> bytes:
        """One frame as the file holds it, for `EpisodeWriter.append_packed`."""
        with explained(self._storage.path):
            return self._chunk(number)

    def _chunk(self, number: int) -> bytes:
        where = (number, 0, 0)
        size = self._data.id.get_chunk_info_by_coord(where).size
        if not 0 < size <= self._storage.size:
            raise EpisodeError(f"{self._storage.path}: {self.spec.path}: frame {number} is lost.")
        mask, chunk = self._data.id.read_direct_chunk(where)
        if mask:
            raise EpisodeError(
                f"{self._storage.path}: {self.spec.path}: frame {number} is not packed."
            )
        return bytes(chunk)

    def _data_bytes(self) -> int:
        return int(self._data.id.get_storage_size())


class VideoReader(StreamReader):
    """RGB pictures, as an array (T, height, width, 3)."""

    @cached_property
    def _data(self) -> Region:
        return self._storage.region(f"{self.spec.path}/data", "uint8", (), None)

    @cached_property
    def packets(self) -> PacketIndex:
        """Where each picture lies in the MP4."""
        with explained(self._storage.path):
            return self._read_packets()

    def _read_packets(self) -> PacketIndex:
        path = self.spec.path
        start = self._storage.region(f"{path}/packet_start", "int64", (), len(self)).read()
        size = self._storage.region(f"{path}/packet_size", "int64", (), len(self)).read()
        key = self._storage.region(f"{path}/packet_key", "uint8", (), len(self)).read()
        end = self._data.shape[0]
        inside = (start >= 0) & (size > 0) & (start <= end - size)
        if not inside.all() or not key[:1].all():
            raise EpisodeError(f"{self._storage.path}: {path} has packets outside of its video.")
        dataset = self._storage.dataset(f"{path}/data")
        codec, extradata = (read_attribute(dataset, name) for name in ("codec", "extradata"))
        if codec not in layout.CODECS or not isinstance(extradata, list):
            raise EpisodeError(
                f"{self._storage.path}: {path} has codec {codec!r}; "
                f"expected one of: {', '.join(layout.CODECS)}."
            )
        return PacketIndex(codec, bytes(extradata), start, size, key.astype(bool))

    @property
    def byte_range(self) -> tuple[int, int]:
        """(offset, length) of the complete MP4 inside the episode file."""
        with explained(self._storage.path):
            return self._data.offset, self._data.nbytes

    def movie(self) -> RangeFile:
        """The MP4 itself, as a file open for reading."""
        with explained(self._storage.path):
            return RangeFile(self._data, self._storage)

    @cached_property
    def _decoder(self) -> Decoder:
        offset = self._data.offset

        def read(start: int, count: int) -> bytes:
            return self._storage.bytes_at(offset + start, count)

        return Decoder(self.packets, self._picture_shape, read)

    def sizes(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Bytes by which each picture differs from the last: a key frame takes its neighbour's."""
        index = self.packets
        moving = np.flatnonzero(~index.is_key)
        if not len(moving):
            return index.size[numbers].astype(np.float64)
        place = np.minimum(np.searchsorted(moving, numbers), len(moving) - 1)
        return index.size[moving[place]].astype(np.float64)

    def planes(self, selection: Selection, *, as_float: bool = False) -> NDArray[Any]:
        """Pictures as (T, 3, height, width), one as (3, height, width): as networks take them.

        Bytes, or with `as_float` float32 in 0..1.
        """
        numbers = self._numbers(selection)
        with explained(self._storage.path):
            height, width, _ = self._picture_shape
            planes = np.empty(
                (numbers.size, 3, height, width), np.float32 if as_float else np.uint8
            )
            self._decode(numbers.reshape(-1), self._decoder.planes, planes)
        return planes[0] if numbers.ndim == 0 else planes

    def _pick(self, numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
        pictures = np.empty((len(numbers), *self._picture_shape), np.uint8)
        self._decode(numbers, self._decoder.picture, pictures)
        return pictures

    @staticmethod
    def _decode(
        numbers: NDArray[np.int64],
        decode: Callable[..., None],
        out: NDArray[Any],
    ) -> None:
        """In order of time, so that neighbours share the decoding of their group of pictures."""
        for place in np.argsort(numbers, kind="stable"):
            decode(int(numbers[place]), out=out[place])

    @cached_property
    def _picture_shape(self) -> tuple[int, ...]:
        shape = tuple(int(size) for size in self.spec.shape)
        if math.prod(shape) > layout.MAX_FRAME_BYTES:
            raise EpisodeError(f"{self._storage.path}: {self.spec.path} has pictures of {shape}.")
        return shape

    def _data_bytes(self) -> int:
        return self._data.nbytes


READERS: dict[str, type[StreamReader]] = {
    "array": ArrayReader,
    "points": RaggedReader,
    "text": RaggedReader,
    "depth": DepthReader,
    "video": VideoReader,
}
