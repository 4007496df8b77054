"""The packets of a movie, picture by picture: for an episode, a log or a viewer as they are."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterable, Iterator
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
from corporeal.episode.video import TICKS_PER_S, TIME_BASE, is_key_frame, open_movie, ticks
from corporeal.errors import EpisodeError
from corporeal.exchange.movie.packets import annex_b_units, movie_errors_explained

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
    goes_back, last, count = False, None, 0
    with _opened(footage) as (container, stream):
        codec = _codec(stream)
        layout = str(stream.codec_context.pix_fmt)
        size = (stream.codec_context.height, stream.codec_context.width)
        probe = _Probe(size)
        rewrite = _rewriter(stream, codec)
        for packet in _shown(container, stream, footage):
            count += 1
            if packet.pts is None or packet.is_discard or packet.is_corrupt:
                goes_back = True
            else:
                goes_back |= last is not None and packet.pts <= last
                last = packet.pts
            if codec == "h264":
                probe.add(rewrite(packet))
    if codec != "h264":
        obstacle: str | None = f"it is {codec}"
    elif layout not in _LAYOUTS:
        obstacle = f"its pictures are {layout}"
    elif size != footage.spec.sizes[:2]:
        obstacle = f"its pictures are {size[0]} x {size[1]}"
    else:
        obstacle = "it has B-frames" if goes_back else probe.obstacle()
    return MovieSurvey(codec, count, obstacle)


def packets_shown(footage: VideoFile, codec: str) -> Iterator[tuple[bytes, bool]]:
    """The packet of every picture that the footage shows, and whether it is a key frame.

    H.264 and H.265 are in Annex B with parameter sets in every key frame.
    """
    with _opened(footage) as (container, stream):
        rewrite = _rewriter(stream, codec)
        for packet in _shown(container, stream, footage):
            is_key = bool(packet.is_keyframe)
            yield rewrite(packet), is_key


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
def _opened(footage: VideoFile) -> Iterator[tuple[Any, Any]]:
    with movie_errors_explained(footage.spec.path), open_movie(footage.open()) as container:
        yield container, container.streams.video[0]


def _codec(stream: Any) -> str:
    """The format's name, where FFmpeg may have another one for the decoder."""
    return str(stream.codec_context.codec.canonical_name)


def _rewriter(stream: Any, codec: str) -> Callable[[Any], bytes]:
    """Makes packets that start anywhere: each key frame brings what a decoder needs to begin."""
    if codec not in _FILTERS:
        return bytes
    annex_b = BitStreamFilterContext(_FILTERS[codec], stream)
    return lambda packet: b"".join(bytes(each) for each in annex_b.filter(packet))


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
        with open_movie(path) as container:
            stream = container.streams.video[0]
            if stream.codec_context is None:
                raise ValueError("no decoder for its pictures is known")
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

# FFmpeg keeps parameter sets apart from the pictures; a viewer wants them in every key frame.
_FILTERS = {"h264": "h264_mp4toannexb", "hevc": "hevc_mp4toannexb"}
_FOURCC = {"av1": b"AV01", "vp9": b"VP90"}


@dataclass(frozen=True)
class PlayablePackets:
    """A camera whose pictures can be had without decoding: one packet each, in order."""

    codec: str
    footage: VideoFile

    def __iter__(self) -> Iterator[tuple[bytes, bool]]:
        """Each packet, and whether it is a key frame; as many as there are stamps and pictures."""
        yield from islice(packets_shown(self.footage, self.codec), len(self.footage))


def playable_packets(footage: VideoFile) -> PlayablePackets | None:
    """The camera's packets; None when viewers cannot play them one by one.

    That is so for other codecs, for pictures that are stored in another order than they are shown
    in, and for a stretch of a movie that does not begin with a key frame.
    """
    last = None
    with _opened(footage) as (container, stream):
        codec = _codec(stream)
        if codec not in CODECS:
            return None
        for packet in _shown(container, stream, footage):
            is_start = last is not None or packet.is_keyframe
            if packet.pts is None or not is_start or (last is not None and packet.pts <= last):
                return None
            last = packet.pts
    return PlayablePackets(codec, footage) if last is not None else None


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
        return is_key_frame(packet)
    if codec == "hevc":
        kinds = ((unit[0] >> 1) & 0x3F for unit in annex_b_units(packet))
        return next((kind for kind in kinds if kind < 32), -1) in range(16, 24)
    if codec == "av1":
        return _has_sequence_header(packet)
    # VP9: two bits that say 2, two of the profile, show-existing, frame type (0 for a key frame).
    return bool(packet) and (packet[0] & 0b1100_1100) == 0b1000_0000


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
