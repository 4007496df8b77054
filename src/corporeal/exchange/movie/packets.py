"""The packets of a movie: when each is shown, which stand alone, and the H.264 in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from corporeal.episode.video import open_movie
from corporeal.errors import EpisodeError
from corporeal.files import refuse_pointer

_START_CODE = b"\x00\x00\x01"
_IDR, _SPS, _PPS = 5, 7, 8
_LENGTH_BYTES = 4
_BASELINE = 66
# A slice header up to the picture's id fits in this many bytes.
_HEADER_BYTES = 24
_IN_NEED_OF_ESCAPE = re.compile(rb"\x00\x00(?=[\x00-\x03])")


def parameters_in(packet: bytes) -> tuple[bytes, ...]:
    """The parameter sets that an encoder puts before a key frame (Annex B)."""
    return tuple(unit for unit in annex_b_units(packet) if _kind(unit) in (_SPS, _PPS))


def stored_parameters(extradata: bytes) -> tuple[bytes, ...] | None:
    """The parameter sets in the header of an MP4; None unless lengths take four bytes."""
    if len(extradata) < 7 or extradata[0] != 1 or (extradata[4] & 3) + 1 != _LENGTH_BYTES:
        return None
    parameters, place = [], 5
    for mask in (0x1F, 0xFF):
        if place >= len(extradata):
            return None
        count = extradata[place] & mask
        place += 1
        for _ in range(count):
            length = int.from_bytes(extradata[place : place + 2], "big")
            parameters.append(extradata[place + 2 : place + 2 + length])
            place += 2 + length
    return tuple(parameters)


def as_stored(packet: bytes) -> bytes:
    """A packet (Annex B) as an MP4 holds it: lengths, and no parameter sets."""
    kept = (unit for unit in annex_b_units(packet) if _kind(unit) not in (_SPS, _PPS))
    return b"".join(len(unit).to_bytes(_LENGTH_BYTES, "big") + unit for unit in kept)


def stands_alone(packet: bytes) -> bool:
    """Whether a packet of an MP4 has an IDR picture: a table of key frames may say more."""
    return any(_kind(unit) == _IDR for unit in _storedannex_b_units(packet))


def frame_number_bits(extradata: bytes) -> int | None:
    """How many bits of a slice header number the frames; None unless the profile is baseline.

    Slices of other profiles may be aligned to bytes, so that nothing in their header can grow.
    """
    stored = stored_parameters(extradata)
    if not stored or len(stored[0]) < 5 or stored[0][1] != _BASELINE:
        return None
    bits = _bits(stored[0][4:])
    number, _ = _read_number(bits, _read_number(bits, 0)[1])
    return 4 + number


def told_apart(packet: bytes, last: int | None, number_bits: int) -> tuple[bytes, int]:
    """An IDR packet of an MP4 whose id is not that of the IDR packet just before, and its id.

    The standard wants neighbours to differ, lest one be taken for a part of the other.
    """
    ids, units = [], []
    for unit in _storedannex_b_units(packet):
        if _kind(unit) == _IDR:
            bits = _bits(unit[1:].replace(b"\x00\x00\x03", b"\x00\x00"))
            begin = 0
            for _ in range(3):
                _, begin = _read_number(bits, begin)
            begin += number_bits
            number, end = _read_number(bits, begin)
            if number == last:
                # Two is a longer number than zero, so that all bits after it move.
                number = 2 if last != 2 else 0
                unit = unit[:1] + _spliced(unit[1:], begin, end, _written_number(number))
            ids.append(number)
        units.append(unit)
    data = b"".join(len(unit).to_bytes(_LENGTH_BYTES, "big") + unit for unit in units)
    return data, ids[0]


def _spliced(body: bytes, begin: int, end: int, new: str) -> bytes:
    """The body of a unit with other bits from `begin` to `end`, and escaped as it must be."""
    plain = body.replace(b"\x00\x00\x03", b"\x00\x00")
    value, length = int.from_bytes(plain, "big"), 8 * len(plain)
    # A unit ends with a one and zeros up to a whole byte.
    padding = (value & -value).bit_length() - 1
    after = (value & ((1 << (length - end)) - 1)) >> padding
    after_length = length - end - padding
    changed = (((value >> (length - begin)) << len(new)) | int(new, 2)) << after_length | after
    total = begin + len(new) + after_length
    whole = (changed << (-total % 8)).to_bytes(-(-total // 8), "big")
    return _IN_NEED_OF_ESCAPE.sub(b"\x00\x00\x03", whole)


def _bits(plain: bytes) -> str:
    head = plain[:_HEADER_BYTES]
    return f"{int.from_bytes(head, 'big'):0{8 * len(head)}b}"


def _read_number(bits: str, begin: int) -> tuple[int, int]:
    """An Exp-Golomb number, and where the bits after it begin."""
    one = bits.find("1", begin)
    if one < 0 or 2 * one - begin >= len(bits):
        raise EpisodeError("a packet of H.264 has no whole header. Replace the movie.")
    end = 2 * one - begin + 1
    return int(bits[one:end], 2) - 1, end


def _written_number(number: int) -> str:
    digits = f"{number + 1:b}"
    return "0" * (len(digits) - 1) + digits


def _storedannex_b_units(packet: bytes) -> Iterator[bytes]:
    """The units of a packet of an MP4."""
    place = 0
    while place + _LENGTH_BYTES < len(packet):
        begin = place + _LENGTH_BYTES
        place = begin + int.from_bytes(packet[place:begin], "big")
        if begin < place:
            yield packet[begin:place]


def annex_b_units(packet: bytes) -> Iterator[bytes]:
    """The units of a packet in Annex B, without their start codes."""
    for part in packet.split(_START_CODE)[1:]:
        unit = part.rstrip(b"\x00")
        if unit:
            yield unit


def _kind(unit: bytes) -> int:
    return unit[0] & 0x1F


Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Coding:
    """How the pictures of a movie are coded; two movies join only where this is equal."""

    codec: str
    height: int
    width: int
    pix_fmt: str
    extradata: bytes


@dataclass(frozen=True, eq=False)
class Packets:
    """The packets of a movie in decoding order.

    `pts_s` says when each is shown, from the movie's start on, and `rate_hz` how fast on average.
    """

    coding: Coding
    pts: Numbers
    is_key: NDArray[np.bool_]
    pts_s: NDArray[np.float64]
    rate_hz: float

    def __len__(self) -> int:
        return len(self.pts)

    @cached_property
    def picture(self) -> Numbers:
        """The number of the picture that each packet holds, in the order they are shown."""
        numbers = np.empty(len(self), np.int64)
        numbers[np.argsort(self.pts)] = np.arange(len(self))
        return numbers

    @cached_property
    def _is_cut(self) -> NDArray[np.bool_]:
        """Whether the first n packets hold the first n pictures: for n from 0 to all of them."""
        highest = np.maximum.accumulate(self.picture)
        return np.concatenate([[True], highest == np.arange(len(self))])

    @cached_property
    def delay(self) -> int:
        """How many packets some picture has to wait for others that are shown after it."""
        return max(0, int((np.arange(len(self)) - self.picture).max(initial=0)))

    def stretch(self, first: int, stop: int) -> tuple[int, int]:
        """The part of pictures `first` to `stop` that can be decoded without any other."""
        places = np.arange(first, stop)
        is_start = self.is_key[first:stop] & self._is_cut[first:stop]
        starts = places[is_start & (self.picture[first:stop] == places)]
        if not len(starts):
            return stop, stop
        begin = int(starts[0])
        return begin, begin + int(np.flatnonzero(self._is_cut[begin : stop + 1])[-1])

    def is_even(self, first: int, stop: int) -> bool:
        """Whether time and rate give the same numbers to pictures `first` to `stop`."""
        shown = np.sort(self.pts_s)[first:stop] * self.rate_hz
        return bool((np.abs(shown - np.arange(first, stop)) < 0.5).all())


@contextmanager
def movie_errors_explained(name: object) -> Iterator[None]:
    """Turn what FFmpeg says of a movie into an error that names it."""
    if isinstance(name, Path):
        refuse_pointer(name)
    try:
        yield
    except (av.FFmpegError, IndexError, OSError) as error:
        raise EpisodeError(
            f"{name}: the movie cannot be read ({error}). Replace the file."
        ) from error


def coding_at(path: Path) -> Coding:
    """How the pictures of a movie are coded."""
    with movie_errors_explained(path), open_movie(path) as container:
        return _coding(container.streams.video[0])


def _coding(stream: Any) -> Coding:
    context = stream.codec_context
    return Coding(
        codec=context.codec.canonical_name,
        height=context.height,
        width=context.width,
        pix_fmt=context.pix_fmt or "",
        extradata=bytes(context.extradata or b""),
    )


def packets_of(source: Any, name: object) -> Packets | None:
    """Look through a movie without decoding; None when its pictures cannot be told apart by time.

    That is so where a packet has no time, shares it with another, or is hidden by the container.
    """
    with movie_errors_explained(name):
        if isinstance(source, str | Path):
            state = Path(source).stat()
            return _packets_at(str(source), state.st_mtime_ns, state.st_size)
        return _read(source)


@lru_cache(maxsize=16)
def _packets_at(path: str, _changed_ns: int, _size: int) -> Packets | None:
    """Many episodes may lie in one movie, which is looked through once."""
    return _read(path)


def _read(source: Any) -> Packets | None:
    with open_movie(source) as container:
        stream = container.streams.video[0]
        coding = _coding(stream)
        pts, is_key = [], []
        for packet in container.demux(stream):
            if not packet.size:
                continue
            if packet.pts is None or packet.is_discard:
                return None
            pts.append(packet.pts)
            is_alone = coding.codec != "h264" or not packet.is_keyframe
            is_key.append(packet.is_keyframe and (is_alone or stands_alone(bytes(packet))))
        if len(set(pts)) < len(pts) or stream.time_base is None:
            return None
        stamps = np.array(pts, np.int64)
        pts_s = (stamps - (stream.start_time or 0)) * float(stream.time_base)
        rate_hz = float(stream.average_rate or 0)
        return Packets(coding, stamps, np.array(is_key, bool), pts_s, rate_hz)


class PacketReader:
    """An open movie whose packets are asked for by their place, each no earlier than the last."""

    def __init__(self, source: Any, packets: Packets, name: object) -> None:
        self._packets, self._name = packets, name
        with movie_errors_explained(name):
            self._container = open_movie(source)
            self.stream = self._container.streams.video[0]
        self._queue: Iterator[Any] | None = None
        self._place, self._data = -1, b""

    def __enter__(self) -> PacketReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._container.close()

    def data(self, place: int) -> bytes:
        """The packet with this place in decoding order."""
        with movie_errors_explained(self._name):
            if self._queue is None:
                self._queue = self._from(place)
            while self._place < place:
                self._take(next(self._queue, None), self._place + 1)
            return self._data

    def _from(self, place: int) -> Iterator[Any]:
        """The packets after the nearest key frame, or after the movie's beginning."""
        pts = self._packets.pts
        queue: Iterator[Any]
        if place:
            self._container.seek(int(pts[place]), stream=self.stream)
            queue = self._container.demux(self.stream)
            packet = next(queue, None)
            places = np.flatnonzero(pts[: place + 1] == (packet.pts if packet else None))
            if len(places):
                self._take(packet, int(places[0]))
                return queue
            self._container.seek(int(pts[0]), stream=self.stream)
        queue = self._container.demux(self.stream)
        return queue

    def _take(self, packet: Any, place: int) -> None:
        if packet is None or packet.pts != self._packets.pts[place]:
            raise EpisodeError(
                f"{self._name}: packet {place} of the movie is not where it was. Export again, and "
                "leave the file alone meanwhile."
            )
        self._place, self._data = place, bytes(packet)
