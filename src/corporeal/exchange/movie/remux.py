"""Which rows of a camera can be shown by the packets that its movie has already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import VideoFile
from corporeal.episode.video import Encoder
from corporeal.errors import WriteError
from corporeal.exchange.movie.h264 import (
    frame_number_bits,
    parameters_in,
    stored_parameters,
    told_apart,
)
from corporeal.exchange.movie.packets import Packets, packets_of
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
