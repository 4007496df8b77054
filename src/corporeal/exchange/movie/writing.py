"""A camera's rows as an MP4 of constant rate: packets are copied where that is exact."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import VideoFile
from corporeal.episode.video import Encoder, is_key_frame
from corporeal.errors import EpisodeError, WriteError
from corporeal.exchange.movie.packets import (
    Coding,
    PacketReader,
    Packets,
    as_stored,
    coding_at,
    frame_number_bits,
    packets_of,
    parameters_in,
    stored_parameters,
    told_apart,
)
from corporeal.exchange.movie.pictures import Colours, LevelHistogram, array_of, frames_of
from corporeal.exchange.table import TableCamera

_TICKS_PER_S = 90_000
_MAX_RATE_HZ = 1000.0


@dataclass(frozen=True)
class FrameClock:
    """A constant rate whose every picture falls on a whole tick."""

    ticks_per_s: int
    step: int

    @classmethod
    def of(cls, rate_hz: float) -> FrameClock:
        """Ticks near those of most MP4; raises WriteError when it is no rate for pictures."""
        rate = Fraction(0)
        if 0 < rate_hz <= _MAX_RATE_HZ:
            rate = Fraction(rate_hz).limit_denominator(10_000)
        if not rate:
            raise WriteError(
                f"the rate of a movie is {rate_hz} Hz; expected more than 0.0001 and at most "
                f"{_MAX_RATE_HZ:g} Hz. Give the rate of the rows."
            )
        times = max(1, round(_TICKS_PER_S / rate.numerator))
        return cls(rate.numerator * times, rate.denominator * times)


@dataclass(frozen=True)
class MoviePart:
    """A packet to write: `number` is that of its picture in the new movie."""

    data: bytes
    is_key: bool
    number: int


def write_parts(
    target: Path, parts: Iterable[MoviePart], template: Any, *, clock: FrameClock, delay: int = 0
) -> int:
    """Mux packets, given in decoding order, into an MP4; returns how many there were.

    `template` is an open stream of the same coding; `delay` as in `Packets`.
    """
    options = {"movflags": "faststart", "video_track_timescale": str(clock.ticks_per_s)}
    count = 0
    try:
        with av.open(str(target), "w", format="mp4", options=options) as container:
            stream = container.add_stream_from_template(template, opaque=True)
            stream.time_base = Fraction(1, clock.ticks_per_s)
            for part in _told_apart(parts, template.codec_context.extradata):
                packet = av.Packet(part.data)
                packet.time_base = stream.time_base
                packet.pts = part.number * clock.step
                packet.dts = (count - delay) * clock.step
                packet.duration = clock.step
                packet.is_keyframe = part.is_key
                packet.stream = stream
                container.mux(packet)
                count += 1
    except av.FFmpegError as error:
        raise WriteError(
            f"{target}: the movie cannot be written ({error}). Check the free space and the rights."
        ) from error
    return count


def _told_apart(parts: Iterable[MoviePart], extradata: bytes | None) -> Iterator[MoviePart]:
    """Give a key frame of H.264 another id where the one just before has the same.

    That happens where pictures between them are left out, and where movies meet.
    """
    bits = frame_number_bits(extradata or b"")
    last: int | None = None
    for part in parts:
        if bits is None or not part.is_key:
            last = None
            yield part
        else:
            data, last = told_apart(part.data, last, bits)
            yield MoviePart(data, part.is_key, part.number)


# What an MP4 holds and every reader of one decodes.
_COPIED_CODECS = frozenset({"h264", "hevc", "av1", "vp9", "mpeg4"})


@dataclass(frozen=True, eq=False)
class Copy:
    """How a movie is copied: which rows as they are, and the encoder's rate for the others.

    `places` are those of the rows' packets, in decoding order.
    """

    source: VideoFile
    packets: Packets
    places: NDArray[np.int64]
    is_copied: NDArray[np.bool_]
    encoder_hz: float | None


def copy_of(camera: TableCamera, rate_hz: float) -> Copy | None:
    """How to write the rows of a camera; None when every picture has to be encoded."""
    source = camera.signal
    if not isinstance(source, VideoFile):
        return None
    packets = packets_of(source.open(), source.spec.path)
    last = int(camera.numbers[-1])
    if packets is None or source.first + last >= len(packets):
        return None
    coding = packets.coding
    if coding.codec not in _COPIED_CODECS or (coding.height, coding.width) != camera.spec.size:
        return None
    if source.count is not None and last >= source.count:
        return None
    # From a later picture on, footage is numbered by time.
    if source.first and not packets.is_even(source.first, source.first + last + 1):
        return None
    places = source.first + camera.numbers
    is_copied = _copied(packets, places)
    encoder_hz = None
    if not is_copied.all():
        encoder_hz = _encoder_hz(packets, [source.spec.rate_hz, rate_hz])
    if not is_copied.any() or (encoder_hz is None and not is_copied.all()):
        return None
    return Copy(source, packets, places, is_copied, encoder_hz)


def _copied(packets: Packets, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each row can be copied: it is in a run of neighbours that needs nothing else."""
    copied = np.zeros(len(places), bool)
    starts = [0, *(np.flatnonzero(np.diff(places) != 1) + 1).tolist()]
    for row, after in zip(starts, [*starts[1:], len(places)], strict=True):
        first = int(places[row])
        begin, stop = packets.stretch(first, first + after - row)
        copied[row + begin - first : row + stop - first] = True
    return copied


def _encoder_hz(packets: Packets, rates_hz: Sequence[float | None]) -> float | None:
    """The rate at which the encoder's packets fit between those of the movie; None if at none."""
    coding = packets.coding
    if (coding.codec, coding.pix_fmt) != ("h264", "yuv420p") or packets.delay:
        return None
    stored = stored_parameters(coding.extradata)
    for rate_hz in dict.fromkeys(rates_hz):
        if rate_hz and _parameters(coding.height, coding.width, rate_hz) == stored:
            return rate_hz
    return None


@lru_cache(maxsize=16)
def _parameters(height: int, width: int, rate_hz: float) -> tuple[bytes, ...] | None:
    if height % 2 or width % 2:
        return None
    black = np.zeros((height, width, 3), np.uint8)
    return parameters_in(Encoder(height, width, rate_hz=rate_hz).encode(black))


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
