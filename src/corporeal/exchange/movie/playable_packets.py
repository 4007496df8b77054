"""A camera's packets, one for each picture, as viewers play them: nothing is encoded anew."""

from __future__ import annotations

import io
import struct
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import av
import numpy as np
from av.bitstream import BitStreamFilterContext
from numpy.typing import NDArray

from corporeal.episode.recording import VideoFile
from corporeal.episode.video import TICKS_PER_S, TIME_BASE, ticks
from corporeal.errors import EpisodeError

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
