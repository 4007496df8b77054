"""The packets of a foreign movie, for an episode that can hold them as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
from av.bitstream import BitStreamFilterContext
from av.codec.context import Flags
from av.video.codeccontext import VideoCodecContext

from corporeal.episode.recording import VideoFile
from corporeal.episode.video import is_key_frame
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
