"""The packets of a movie, picture by picture: for an episode, a log or a viewer as they are."""

from __future__ import annotations

import io
import struct
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.bitstream import BitStreamFilterContext
from av.codec.context import Flags
from av.video.codeccontext import VideoCodecContext
from numpy.typing import NDArray

from corporeal.episode.recording import VideoFile
from corporeal.episode.video import TICKS_PER_S, TIME_BASE, is_key_frame, ticks
from corporeal.errors import EpisodeError

MAX_GROUP = 32
"""Pictures from one key frame to the next, at most: so many decodes may a jump cost."""
_LAYOUTS = ("yuv420p", "yuvj420p")


@dataclass(frozen=True)
class MovieSurvey:
    """What a movie holds, told without decoding more than its first group of pictures."""

    codec: str
    pictures: int
    obstacle: str | None
    """Why its packets cannot go into an episode as they are; None when they can."""


def survey(footage: VideoFile) -> MovieSurvey:
    """Look at every packet of the pictures that the footage shows.

    They can be copied when they are H.264 that browsers play, in the order of time (no B-frames),
    from a key frame on, with at most `MAX_GROUP` pictures from one key frame to the next.
    """
    with _movie(footage) as (container, stream):
        codec = str(stream.codec_context.name)
        layout = str(stream.codec_context.pix_fmt)
        size = (stream.codec_context.height, stream.codec_context.width)
        order = _Order()
        probe = _Probe(size) if codec == "h264" else None
        annex_b = _filter(stream) if codec == "h264" else None
        count = 0
        for packet in _shown(container, stream, footage):
            count += 1
            order.add(packet)
            if probe is not None and annex_b is not None:
                probe.add(_filtered(annex_b, packet))
    wanted = tuple(int(length) for length in footage.spec.shape[:2])
    if codec != "h264":
        obstacle: str | None = f"it is {_plain(codec)}"
    elif layout not in _LAYOUTS:
        obstacle = f"its pictures are {layout}"
    elif size != wanted:
        obstacle = f"its pictures are {size[0]} x {size[1]}"
    elif order.goes_back:
        obstacle = "it has B-frames"
    else:
        assert probe is not None
        obstacle = probe.obstacle()
    return MovieSurvey(_plain(codec), count, obstacle)


def copy_packets(footage: VideoFile) -> Iterator[bytes]:
    """One H.264 packet (Annex B) for every picture; only for footage that `survey` let through."""
    with _movie(footage) as (container, stream):
        annex_b = _filter(stream)
        for packet in _shown(container, stream, footage):
            yield _filtered(annex_b, packet)


class _Order:
    """Whether packets come in the order in which their pictures are shown."""

    def __init__(self) -> None:
        self._last: int | None = None
        self.goes_back = False

    def add(self, packet: Any) -> None:
        pts = packet.pts
        if pts is None or packet.is_discard or packet.is_corrupt:
            self.goes_back = True
            return
        self.goes_back |= self._last is not None and pts <= self._last
        self._last = pts


class _Probe:
    """Decodes the first group of pictures as an episode's reader will: one packet, one picture."""

    def __init__(self, size: tuple[int, int]) -> None:
        context = av.CodecContext.create("h264", "r")
        assert isinstance(context, VideoCodecContext)
        context.thread_count = 1
        context.flags |= Flags.low_delay
        self._context = context
        self._size = size
        self._keys = 0
        self._group = 0
        self._longest = 0
        self._fault: str | None = None

    def add(self, data: bytes) -> None:
        if is_key_frame(data):
            self._keys += 1
            self._group = 0
        elif not self._keys:
            self._fault = "its first picture is no key frame"
        self._group += 1
        self._longest = max(self._longest, self._group)
        if self._fault is None and self._keys == 1 and self._group <= MAX_GROUP:
            try:
                shown = self._context.decode(av.Packet(data))
            except av.FFmpegError as error:
                self._fault = f"its packets cannot be decoded one by one ({error.strerror})"
                return
            if [(frame.height, frame.width) for frame in shown] != [self._size]:
                self._fault = "its packets are not one picture each"

    def obstacle(self) -> str | None:
        if self._fault is None and self._longest > MAX_GROUP:
            return f"it has {self._longest} pictures from one key frame to the next"
        return self._fault


@contextmanager
def _movie(footage: VideoFile) -> Iterator[tuple[Any, Any]]:
    try:
        with av.open(footage.open()) as container:
            yield container, container.streams.video[0]
    except (av.FFmpegError, IndexError, OSError) as error:
        raise EpisodeError(
            f"{footage.spec.path}: the movie cannot be read ({error}). Replace the file."
        ) from error


def _shown(container: Any, stream: Any, footage: VideoFile) -> Iterator[Any]:
    """Packets of the footage's pictures, counted as `VideoFile.frames` counts its pictures."""
    first = footage.first
    stop = None if footage.count is None else first + footage.count
    by_time = bool(first and stream.average_rate and stream.time_base)
    begin = stream.start_time or 0
    if by_time:
        container.seek(begin + int(first / stream.average_rate / stream.time_base), stream=stream)
    number = -1
    for packet in container.demux(stream):
        if not packet.size:
            continue
        number += 1
        if by_time:
            if packet.pts is None:
                continue
            number = round((packet.pts - begin) * stream.time_base * stream.average_rate)
        if number >= first and (stop is None or number < stop):
            yield packet
        elif stop is not None and number >= stop and packet.dts == packet.pts:
            return


def _filter(stream: Any) -> BitStreamFilterContext:
    """Makes packets that start anywhere: each key frame brings what a decoder needs to begin."""
    return BitStreamFilterContext("h264_mp4toannexb", stream)


def _filtered(annex_b: BitStreamFilterContext, packet: Any) -> bytes:
    return b"".join(bytes(each) for each in annex_b.filter(packet))


def _plain(codec: str) -> str:
    """The format's name, where FFmpeg gives that of the decoder."""
    return {"libdav1d": "av1", "libaom-av1": "av1", "libvpx-vp9": "vp9"}.get(codec, codec)


@dataclass(frozen=True)
class Header:
    """Pictures that are really in the file, their rate and size."""

    frames: int
    fps: float | None
    width: int
    height: int


def read_header(path: Path) -> Header:
    """The header of a movie; raises EpisodeError when it is none."""
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            rate = stream.average_rate or stream.guessed_rate
            return Header(
                frames=_pictures(container, stream, path.stat().st_size),
                fps=float(rate) if rate else None,
                width=int(stream.width),
                height=int(stream.height),
            )
    except (av.FFmpegError, IndexError, OSError, ValueError) as error:
        raise EpisodeError(f"{path}: not a movie ({error}). Replace the file.") from None


def _pictures(container: Any, stream: Any, size: int) -> int:
    """Pictures whose bytes are all there: a file that was cut short keeps its full index."""
    index: Any = getattr(stream, "index_entries", ())
    if len(index) and len(index) >= stream.frames:
        if index[-1].pos + index[-1].size <= size:
            return len(index)
        return sum(entry.pos + entry.size <= size for entry in index)
    if stream.frames:
        return int(stream.frames)
    return sum(packet.size > 0 for packet in container.demux(stream))


CODECS = {"h264": "h264", "hevc": "h265", "av1": "av1", "vp9": "vp9"}
"""Codecs that viewers play packet by packet, by FFmpeg's name: what viewers call them."""

_DECODERS = {"libdav1d": "av1", "libvpx-vp9": "vp9"}
# FFmpeg keeps parameter sets apart from the pictures; a viewer wants them in every key frame.
_FILTERS = {"h264": "h264_mp4toannexb", "hevc": "hevc_mp4toannexb"}
_FOURCC = {"av1": b"AV01", "vp9": b"VP90"}
_START_CODE = b"\x00\x00\x01"


@dataclass(frozen=True)
class PlayablePackets:
    """A camera whose pictures can be had without decoding: one packet each, in order.

    H.264 and H.265 are in Annex B with parameter sets in every key frame.
    """

    codec: str
    footage: VideoFile

    def __iter__(self) -> Iterator[tuple[bytes, bool]]:
        """Each packet, and whether it is a key frame; as many as there are stamps and pictures."""
        footage = self.footage
        wanted = len(footage) if footage.count is None else min(footage.count, len(footage))
        yield from islice(_packets(footage, self.codec), footage.first, footage.first + wanted)


def playable_packets(footage: VideoFile) -> PlayablePackets | None:
    """The camera's packets; None when viewers cannot play them one by one.

    That is so for other codecs, for pictures that are stored in another order than they are shown
    in, and for a stretch of a movie that does not begin with a key frame.
    """
    begins_with_key, last = False, None
    try:
        with av.open(footage.open()) as container:
            stream = container.streams.video[0]
            name = stream.codec_context.name
            codec = _DECODERS.get(name, name)
            if codec not in CODECS:
                return None
            for number, packet in enumerate(_sized(container.demux(stream))):
                if packet.pts is None or (last is not None and packet.pts <= last):
                    return None
                last = packet.pts
                if number == footage.first:
                    begins_with_key = bool(packet.is_keyframe)
    except (av.FFmpegError, IndexError, OSError) as error:
        raise _unreadable(footage, error) from error
    return PlayablePackets(codec, footage) if begins_with_key else None


def _packets(footage: VideoFile, codec: str) -> Iterator[tuple[bytes, bool]]:
    try:
        with av.open(footage.open()) as container:
            stream = container.streams.video[0]
            name = _FILTERS.get(codec)
            rewrite = BitStreamFilterContext(name, stream) if name else None
            for packet in _sized(container.demux(stream)):
                is_key = bool(packet.is_keyframe)
                for each in rewrite.filter(packet) if rewrite else (packet,):
                    yield bytes(each), is_key
    except (av.FFmpegError, IndexError, OSError) as error:
        raise _unreadable(footage, error) from error


def _sized(packets: Iterable[Any]) -> Iterator[Any]:
    return (packet for packet in packets if packet.size)


def _unreadable(footage: VideoFile, error: Exception) -> EpisodeError:
    return EpisodeError(
        f"{footage.spec.path}: the movie cannot be read ({error}). Replace the file."
    )


def movie_of(packets: Iterable[bytes], time_ns: NDArray[np.int64], codec: str) -> io.BytesIO:
    """An MP4 of these packets; each is shown at its stamp. FFmpegError if they are no packets.

    It is in memory, as large as the packets. Packets beyond the stamps are left out.
    """
    queue = iter(packets)
    first = next(queue, None)
    if first is None:
        raise EpisodeError("a camera has no picture; expected at least one.")
    pts = ticks(time_ns).tolist()
    steps = [*np.diff(pts).tolist(), TICKS_PER_S // 30]
    movie = io.BytesIO()
    kind = "ivf" if codec in _FOURCC else codec
    options = {"video_track_timescale": str(TICKS_PER_S)}
    with (
        av.open(io.BytesIO(_head(first, codec)), "r", format=kind) as head,
        av.open(movie, "w", format="mp4", options=options) as container,
    ):
        stream = container.add_stream_from_template(head.streams.video[0], opaque=True)
        stream.time_base = TIME_BASE
        for begin, duration, data in zip(pts, steps, chain([first], queue), strict=False):
            packet = av.Packet(data)
            packet.time_base = TIME_BASE
            packet.pts = packet.dts = begin
            packet.duration = duration
            packet.stream = stream
            packet.is_keyframe = is_key_packet(data, codec)
            container.mux(packet)
    movie.seek(0)
    return movie


def _head(packet: bytes, codec: str) -> bytes:
    """The first packet as a movie of its own, from which FFmpeg learns what the codec needs."""
    if codec not in _FOURCC:
        return packet
    head = struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, _FOURCC[codec], 0, 0, 30, 1, 1, 0)
    return head + struct.pack("<IQ", len(packet), 0) + packet


def is_key_packet(packet: bytes, codec: str) -> bool:
    """Whether a decoder can begin with this packet."""
    if codec == "h264":
        return _first_slice(packet, 0, 0x1F, (1, 5)) == 5
    if codec == "hevc":
        return _first_slice(packet, 1, 0x3F, range(32)) in range(16, 24)
    if codec == "av1":
        return _has_sequence_header(packet)
    # VP9: two bits that say 2, two of the profile, show-existing, frame type (0 for a key frame).
    return bool(packet) and (packet[0] & 0b1100_1100) == 0b1000_0000


def _first_slice(packet: bytes, shift: int, mask: int, slices: Collection[int]) -> int:
    start = packet.find(_START_CODE)
    while 0 <= start < len(packet) - 3:
        kind = (packet[start + 3] >> shift) & mask
        if kind in slices:
            return kind
        start = packet.find(_START_CODE, start + 3)
    return -1


def _has_sequence_header(packet: bytes) -> bool:
    """AV1 repeats its sequence header in front of every key frame."""
    place = 0
    while place < len(packet):
        head = packet[place]
        if (head >> 3) & 0xF == 1:
            return True
        if not head & 2:  # The unit has no size, so it is the last.
            return False
        place += 2 if head & 4 else 1
        size = shift = 0
        while place < len(packet) and shift < 56:
            byte = packet[place]
            size |= (byte & 0x7F) << shift
            place, shift = place + 1, shift + 7
            if not byte & 0x80:
                break
        place += size
    return False
