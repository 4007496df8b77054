"""An MP4 of constant rate from packets that are coded already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from corporeal.errors import WriteError
from corporeal.exchange.movie.h264 import frame_number_bits, told_apart

_TICKS_PER_S = 90_000
_MAX_RATE_HZ = 1000.0


@dataclass(frozen=True)
class Clock:
    """A constant rate whose every picture falls on a whole tick."""

    ticks_per_s: int
    step: int

    @classmethod
    def of(cls, rate_hz: float) -> Clock:
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
class Part:
    """A packet to write: `number` is that of its picture in the new movie."""

    data: bytes
    is_key: bool
    number: int


def write_parts(
    target: Path, parts: Iterable[Part], template: Any, *, clock: Clock, delay: int = 0
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


def _told_apart(parts: Iterable[Part], extradata: bytes | None) -> Iterator[Part]:
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
            yield Part(data, part.is_key, part.number)
