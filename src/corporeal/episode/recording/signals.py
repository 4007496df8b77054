"""Streams of a recording: numbers in memory, movies, and pictures one by one."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corporeal.episode.video import open_movie
from corporeal.errors import EpisodeError
from corporeal.schema import Stream

MAX_PIXELS = 1 << 26


class Signal(Protocol):
    """What every stream has: a description, stamps, and samples by number."""

    @property
    def spec(self) -> Stream:
        """What the stream is; its name says its role, such as joint_position."""

    @property
    def time_ns(self) -> NDArray[np.int64]:
        """Stamps of all samples."""

    def __len__(self) -> int: ...

    def __getitem__(self, selection: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class ArraySignal:
    """Samples that are in memory: an array (T, ...), or a list for text and points."""

    spec: Stream
    time_ns: NDArray[np.int64]
    values: Any

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> Any:
        return self.values[selection]


@dataclass(frozen=True, eq=False)
class VideoFile:
    """A camera: pictures `first` to `first + count` of a movie, and the stamps the table gives.

    There may be more stamps than pictures or fewer: that is a defect for a check to find.
    `open` gives the movie: a path, or a file open for reading.
    """

    spec: Stream
    time_ns: NDArray[np.int64]
    open: Callable[[], Any]
    first: int = 0
    count: int | None = None

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> NDArray[np.uint8]:
        """Pictures (T, height, width, 3), or one (height, width, 3)."""
        numbers = np.arange(len(self))[selection]
        wanted = {int(number) for number in np.atleast_1d(numbers)}
        found: dict[int, NDArray[np.uint8]] = {}
        for number, frame in enumerate(self.frames()):
            if number in wanted:
                found[number] = np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)
                if len(found) == len(wanted):
                    break
        if len(found) < len(wanted):
            raise EpisodeError(
                f"{self.spec.path}: picture {max(wanted)} is not in the movie; "
                f"it has {len(found)} of the {len(wanted)} asked for."
            )
        pictures = [found[int(number)] for number in np.atleast_1d(numbers)]
        return pictures[0] if np.ndim(numbers) == 0 else np.stack(pictures)

    def frames(self) -> Iterator[av.VideoFrame]:
        """The pictures in order, as the decoder gives them: nothing converted or copied."""
        try:
            with open_movie(self.open()) as container:
                stream = container.streams.video[0]
                stream.thread_type = "NONE"
                yield from _between(container, stream, self.first, self.count)
        except (av.FFmpegError, IndexError, OSError) as error:
            raise EpisodeError(
                f"{self.spec.path}: the movie cannot be decoded ({error}). Replace the file."
            ) from error


def _between(container: Any, stream: Any, first: int, count: int | None) -> Iterator[av.VideoFrame]:
    """Frames `first` to `first + count`, from the key frame before the first."""
    stop = None if count is None else first + count
    number = 0
    if first and stream.average_rate and stream.time_base:
        rate = stream.average_rate
        begin = stream.start_time or 0
        container.seek(begin + int(first / rate / stream.time_base), stream=stream)
        for frame in container.decode(stream):
            if frame.pts is None:
                continue
            number = round((frame.pts - begin) * stream.time_base * rate)
            if number >= first:
                yield frame
            if stop is not None and number + 1 >= stop:
                return
        return
    for frame in container.decode(stream):
        if number >= first:
            yield frame
        number += 1
        if stop is not None and number >= stop:
            return


@dataclass(frozen=True, eq=False)
class ImageSequence:
    """A camera whose pictures are stored one by one: JPEG or PNG bytes, or arrays (h, w, 3)."""

    spec: Stream
    time_ns: NDArray[np.int64]
    pictures: Sequence[Any]

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> NDArray[np.uint8]:
        """Pictures (T, height, width, 3), or one (height, width, 3)."""
        numbers = np.arange(len(self.pictures))[selection]
        if np.ndim(numbers) == 0:
            return self._picture(self.pictures[int(numbers)])
        return np.stack([self._picture(self.pictures[int(number)]) for number in numbers])

    def frames(self) -> Iterator[av.VideoFrame]:
        """The pictures in order, as a decoder of movies would give them."""
        for stored in self.pictures:
            yield av.VideoFrame.from_ndarray(self._picture(stored), format="rgb24")

    def _picture(self, stored: Any) -> NDArray[np.uint8]:
        if not isinstance(stored, bytes):
            return np.ascontiguousarray(stored, np.uint8)
        try:
            with Image.open(io.BytesIO(stored), formats=("JPEG", "PNG")) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise ValueError(f"{image.width} x {image.height} pixels")
                return np.asarray(image.convert("RGB"), np.uint8)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise EpisodeError(
                f"{self.spec.path}: a picture cannot be decoded ({error}). Replace the file."
            ) from error
