"""A camera's rows as an MP4 of constant rate: packets are copied where that is exact."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path

import av
import numpy as np

from corporeal.episode.video import Encoder, is_key_frame
from corporeal.errors import EpisodeError, WriteError
from corporeal.exchange.movie.h264 import as_stored
from corporeal.exchange.movie.packets import Coding, PacketReader, Packets, coding_at, packets_of
from corporeal.exchange.movie.pictures import Colours, LevelHistogram, array_of, frames_of
from corporeal.exchange.movie.remux import Copy, FrameClock, MoviePart, copy_of, write_parts
from corporeal.exchange.table import TableCamera


@dataclass(frozen=True)
class WrittenMovie:
    """What was written: `mended` pictures were encoded anew; `remuxed` unless all of them were."""

    path: Path
    frames: int
    height: int
    width: int
    codec: str
    pix_fmt: str
    mended: int
    remuxed: bool


def write_movie(
    camera: TableCamera, target: Path, *, rate_hz: float, histogram: LevelHistogram | None = None
) -> WrittenMovie:
    """Write an MP4 whose picture k is that of row k, shown at k / `rate_hz` from 0 on.

    Packets of a movie of the right size are copied. A picture that needs one which is left out is
    encoded anew: it alone where the movie is of the episode writer's making, else all of them.
    H.264 needs even sizes: an odd one is scaled to the even one below. `histogram` counts the
    pictures as decoded from the source.
    """
    clock = FrameClock.of(rate_hz)
    rows = len(camera.numbers)
    if not rows:
        raise EpisodeError(f"{camera.spec.key}: the episode has no rows; expected at least one.")
    if (np.diff(camera.numbers) < 0).any():
        raise EpisodeError(f"{camera.spec.key}: rows go back in time; expected rising pictures.")
    copy = copy_of(camera, rate_hz)
    if copy is not None:
        movie = _remux(camera, copy, target, clock, histogram)
    else:
        movie = _encode(camera, target, clock, rate_hz, histogram)
    if movie.frames != rows:
        raise WriteError(
            f"{target}: the movie has {movie.frames} pictures; expected {rows}, one for each row. "
            "Run corporeal check on the dataset, and leave the episode out."
        )
    return movie


def _remux(
    camera: TableCamera,
    copy: Copy,
    target: Path,
    clock: FrameClock,
    histogram: LevelHistogram | None,
) -> WrittenMovie:
    """Copy packets, and encode what cannot be copied between them."""
    packets, source = copy.packets, copy.source
    encoded = _mended(camera, copy, histogram)
    with PacketReader(source.open(), packets, source.spec.path) as reader:

        def parts() -> Iterator[MoviePart]:
            for row, place in enumerate(copy.places.tolist()):
                if copy.is_copied[row]:
                    number = row + int(packets.picture[place]) - place
                    yield MoviePart(reader.data(place), bool(packets.is_key[place]), number)
                else:
                    data = next(encoded)
                    yield MoviePart(as_stored(data), is_key_frame(data), row)

        frames = write_parts(target, parts(), reader.stream, clock=clock, delay=packets.delay)
    # The rows after the last mended one are still to be counted.
    for _ in encoded:
        frames += 1
    coding = packets.coding
    return WrittenMovie(
        path=target,
        frames=frames,
        height=coding.height,
        width=coding.width,
        codec=coding.codec,
        pix_fmt=coding.pix_fmt,
        mended=int((~copy.is_copied).sum()),
        remuxed=True,
    )


def _mended(camera: TableCamera, copy: Copy, histogram: LevelHistogram | None) -> Iterator[bytes]:
    """The packets (Annex B) of the rows not copied, each stretch of which begins with a key frame.

    With a histogram every row is decoded, else only up to the last one needed.
    """
    needed = np.flatnonzero(~copy.is_copied) if histogram is None else np.arange(len(copy.places))
    if not len(needed):
        return
    height, width = camera.spec.size
    colours = Colours(height, width)
    encoder = None
    numbers = camera.numbers[: int(needed[-1]) + 1]
    for row, frame in enumerate(frames_of(TableCamera(camera.spec, camera.signal, numbers))):
        if histogram is not None:
            histogram.add(frame)
        if copy.is_copied[row]:
            encoder = None
        else:
            assert copy.encoder_hz is not None
            encoder = encoder or Encoder(height, width, rate_hz=copy.encoder_hz)
            yield encoder.encode(array_of(colours.of(frame)))


def _encode(
    camera: TableCamera,
    target: Path,
    clock: FrameClock,
    rate_hz: float,
    histogram: LevelHistogram | None,
) -> WrittenMovie:
    """Decode every row and encode it as the episode writer would."""
    height, width = (max(2, size - size % 2) for size in camera.spec.size)
    packets = _encoded(camera, height, width, rate_hz, histogram)
    first = next(packets)
    # The first packet is a key frame: FFmpeg learns the stream's parameters from it.
    with av.open(io.BytesIO(first), "r", format="h264") as head:
        parts = (
            MoviePart(data, is_key_frame(data), row)
            for row, data in enumerate(chain([first], packets))
        )
        frames = write_parts(target, parts, head.streams.video[0], clock=clock)
    return WrittenMovie(target, frames, height, width, "h264", "yuv420p", frames, False)


def _encoded(
    camera: TableCamera, height: int, width: int, rate_hz: float, histogram: LevelHistogram | None
) -> Iterator[bytes]:
    encoder = Encoder(height, width, rate_hz=rate_hz)
    colours = Colours(height, width)
    for frame in frames_of(camera):
        shown = colours.of(frame)
        if histogram is not None:
            histogram.add(shown)
        yield encoder.encode(array_of(shown))


def can_join(first: Path, second: Path) -> bool:
    """Whether two movies have the same codec, size, pixel format and parameters."""
    return coding_at(first) == coding_at(second)


def join_movies(movies: Sequence[Path], target: Path, *, rate_hz: float) -> tuple[int, ...]:
    """Join movies packet by packet into one MP4 of constant rate.

    Returns the number that the first picture of each has in it.
    """
    clock = FrameClock.of(rate_hz)
    if not movies:
        raise WriteError(f"{target}: there is no movie to join; expected at least one.")
    coding = coding_at(movies[0])
    sources = [_joinable(path, coding, rate_hz) for path in movies]
    *firsts, _ = accumulate((len(packets) for packets in sources), initial=0)

    def parts() -> Iterator[MoviePart]:
        for path, packets, first in zip(movies, sources, firsts, strict=True):
            with PacketReader(str(path), packets, path) as reader:
                for place, number in enumerate(packets.picture.tolist()):
                    yield MoviePart(reader.data(place), bool(packets.is_key[place]), first + number)

    delay = max(packets.delay for packets in sources)
    with av.open(str(movies[0])) as head:
        write_parts(target, parts(), head.streams.video[0], clock=clock, delay=delay)
    return tuple(firsts)


def _joinable(path: Path, coding: Coding, rate_hz: float) -> Packets:
    """The packets of a movie that can follow others; raises WriteError when they cannot."""
    packets = packets_of(path, path)
    if packets is None or packets.stretch(0, len(packets)) != (0, len(packets)):
        raise WriteError(
            f"{path}: the movie does not begin with a key frame, or its pictures have no times; "
            "expected one that stands alone. Write it with write_movie."
        )
    if packets.coding != coding:
        raise WriteError(
            f"{path}: {packets.coding.codec} {packets.coding.width}x{packets.coding.height} is "
            "coded otherwise than the first movie. Start a new movie with it."
        )
    if np.abs(packets.pts_s - packets.picture / rate_hz).max(initial=0.0) > 0.25 / rate_hz:
        raise WriteError(
            f"{path}: the movie has {packets.rate_hz:g} pictures a second; expected {rate_hz:g}."
        )
    return packets
