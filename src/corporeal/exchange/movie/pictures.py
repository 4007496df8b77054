"""The pictures of a camera row by row, decoded once, in the size of the dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import av
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter
from numpy.typing import NDArray
from PIL import Image

from corporeal.episode.video import one_thread
from corporeal.errors import EpisodeError
from corporeal.exchange.table import TableCamera

Picture = NDArray[np.uint8]

# So many pixels at a time are converted to rgb24 and to planes alike; what is left over is not.
_ALIKE = 16


def pictures_of(camera: TableCamera) -> Iterator[Picture]:
    """One picture (height, width, 3) for each row, in order; the caller may keep it."""
    colours = Colours(*camera.spec.size)
    for frame in frames_of(camera):
        yield array_of(colours.of(frame))


def array_of(frame: av.VideoFrame) -> Picture:
    """A frame in rgb24 as (height, width, 3), copied."""
    return np.asarray(frame.to_ndarray(), np.uint8)


class Colours:
    """Turns a decoder's frames into RGB of one size; what is set up for the first is kept."""

    def __init__(self, height: int, width: int) -> None:
        self._height, self._width = height, width
        self._reformatter, self._scaler = VideoReformatter(), VideoReformatter()

    def of(self, frame: av.VideoFrame) -> av.VideoFrame:
        """The frame as rgb24; a pixel of a smaller picture is the mean of its area."""
        if (frame.height, frame.width) != (self._height, self._width):
            # In planes first, as a decoder for training does it: both show the same pictures.
            frame = self._scaler.reformat(
                frame, width=self._width, height=self._height, format="gbrp",
                interpolation=Interpolation.AREA, **one_thread(),
            )  # fmt: skip
        return self._reformatter.reformat(frame, format="rgb24", **one_thread())


def frames_of(camera: TableCamera) -> Iterator[av.VideoFrame]:
    """The decoder's frame for each row, in order; a picture shown twice is decoded once."""
    wanted = camera.numbers
    if (np.diff(wanted) < 0).any():
        raise EpisodeError(f"{camera.spec.key}: rows go back in time; expected rising pictures.")
    row = 0
    for number, frame in enumerate(camera.signal.frames()):
        while row < len(wanted) and wanted[row] == number:
            yield frame
            row += 1
        if row == len(wanted):
            return
    raise EpisodeError(
        f"{camera.spec.stream.path}: the movie ends before picture {int(wanted[row])}, which row "
        f"{row} shows. Run corporeal check on the dataset, and leave the episode out."
    )


class LevelHistogram:
    """How often each channel has each level: what exact statistics of pictures follow from."""

    def __init__(self) -> None:
        self.counts = np.zeros((3, 256), np.int64)
        self.pictures = 0
        self._planar = VideoReformatter()
        self._colours: Colours | None = None
        self._last: tuple[av.VideoFrame, NDArray[np.int64]] | None = None

    def add(self, frame: av.VideoFrame) -> None:
        """Count one picture; the same frame again is not looked at again."""
        if self._last is None or self._last[0] is not frame:
            self._last = frame, self._count(frame)
        self.counts += self._last[1]
        self.pictures += 1

    def _count(self, frame: av.VideoFrame) -> NDArray[np.int64]:
        is_alike = frame.width % _ALIKE == 0 and frame.height % 2 == 0
        if frame.format.name != "yuv420p" or not is_alike:
            self._colours = self._colours or Colours(frame.height, frame.width)
            frame = self._colours.of(frame)
        green, blue, red = self._planar.reformat(frame, format="gbrp", **one_thread()).planes
        return np.stack([_levels(plane) for plane in (red, green, blue)])


def _levels(plane: Any) -> NDArray[np.int64]:
    """How often each level occurs in a plane of bytes, which Pillow counts where they lie."""
    # As four channels side by side, since counting equal neighbours in one waits for memory.
    mode, bands = ("RGBX", 4) if plane.width % 4 == 0 else ("L", 1)
    size = (plane.width // bands, plane.height)
    image = Image.frombuffer(mode, size, plane, "raw", mode, plane.line_size, 1)
    counts = np.fromiter(image.histogram(), np.int64, 256 * bands)
    return np.asarray(counts.reshape(bands, 256).sum(axis=0), np.int64)
