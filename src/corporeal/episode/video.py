"""H.264 that every browser plays and any frame of which is a few milliseconds away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.codec.context import Flags
from av.video.codeccontext import VideoCodecContext
from numpy.typing import NDArray

from corporeal.errors import EpisodeError

Picture = NDArray[np.uint8]
VideoError = av.FFmpegError

TICKS_PER_S = 90_000
TIME_BASE = Fraction(1, TICKS_PER_S)
# Every fourth picture stands alone, so that an exact seek decodes two and a half on average.
GROUP_OF_PICTURES = 4
# CAVLC instead of CABAC: some 10 % larger, twice as fast to decode, which is what training does.
_X264 = {
    "preset": "superfast",
    "tune": "zerolatency",
    "crf": "21",
    "x264-params": "scenecut=0:cabac=0",
}
_BT601 = {"colorspace": 6, "color_primaries": 6, "color_trc": 6, "color_range": 1}


class Encoder:
    """Writes pictures (height, width, 3) as H.264 into a fragmented MP4, one fragment for each.

    A file that was cut anywhere still plays up to the last whole fragment.
    """

    def __init__(self, path: Path, height: int, width: int, *, rate_hz: float) -> None:
        options = {"movflags": "frag_every_frame+empty_moov+default_base_moof"}
        self._container = av.open(
            str(path), "w", format="mp4", options=options, container_options={"flush_packets": "1"}
        )
        stream = self._container.add_stream("libx264")
        context = stream.codec_context
        context.width, context.height, context.pix_fmt = width, height, "yuv420p"
        context.time_base = TIME_BASE
        context.framerate = Fraction(rate_hz).limit_denominator(1001)
        context.gop_size, context.max_b_frames = GROUP_OF_PICTURES, 0
        context.thread_count = 1
        context.options = _X264
        for name, value in _BT601.items():
            setattr(context, name, value)
        self._context = context
        self._step = max(1, round(TICKS_PER_S / rate_hz))
        self._count = 0

    def encode(self, picture: Picture) -> None:
        """Append one picture."""
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame.pts, frame.time_base = self._count * self._step, TIME_BASE
        self._count += 1
        self._container.mux(self._context.encode(frame))

    def close(self) -> None:
        """Finish the file; safe to call twice."""
        if self._count:
            self._container.mux(self._context.encode(None))
        self._container.close()


def ticks(time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Presentation times of an MP4: the stamps from the first on, kept strictly increasing."""
    wanted = ((time_ns - time_ns[0]) * 9 + 50_000) // 100_000
    steps = np.arange(len(wanted))
    rising: NDArray[np.int64] = np.maximum.accumulate(wanted - steps) + steps
    return rising


@dataclass(frozen=True)
class PacketIndex:
    """Where every picture's packet lies in an MP4, from its first byte on."""

    codec: str
    extradata: bytes
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    is_key: NDArray[np.bool_]


def remux(source: Path, target: Path, time_ns: NDArray[np.int64]) -> None:
    """Copy one packet per stamp into an MP4 whose index comes first; nothing is re-encoded."""
    pts = ticks(time_ns).tolist()
    durations = [*np.diff(pts).tolist(), pts[-1] - pts[-2] if len(pts) > 1 else TICKS_PER_S // 30]
    options = {"movflags": "faststart", "video_track_timescale": str(TICKS_PER_S)}
    with (
        av.open(str(source)) as spool,
        av.open(str(target), "w", format="mp4", options=options) as container,
    ):
        template = spool.streams.video[0]
        stream = container.add_stream_from_template(template, opaque=True)
        stream.time_base = TIME_BASE
        packets = (packet for packet in spool.demux(template) if packet.size)
        for packet, begin, duration in zip(packets, pts, durations, strict=False):
            packet.time_base = TIME_BASE
            packet.pts = packet.dts = begin
            packet.duration = duration
            packet.stream = stream
            container.mux(packet)


def index_mp4(path: Path) -> PacketIndex:
    """Find every packet of the first video track."""
    start, size, is_key = [], [], []
    length = path.stat().st_size
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        codec = stream.codec_context.name
        extradata = bytes(stream.codec_context.extradata or b"")
        for packet in container.demux(stream):
            if packet.size and packet.pos is not None and packet.pos + packet.size <= length:
                start.append(packet.pos)
                size.append(packet.size)
                is_key.append(packet.is_keyframe)
    return PacketIndex(
        codec,
        extradata,
        np.array(start, np.int64),
        np.array(size, np.int64),
        np.array(is_key, bool),
    )


class Decoder:
    """Decodes the pictures asked for, from the nearest key frame on, and remembers its place.

    `read(start, size)` returns bytes of the MP4.
    """

    def __init__(
        self, index: PacketIndex, shape: tuple[int, ...], read: Callable[[int, int], bytes]
    ) -> None:
        self._index = index
        self._shape = shape
        self._read = read
        self._keys = np.flatnonzero(index.is_key)
        self._next = -1
        self._context: VideoCodecContext | None = None

    def pictures(self, numbers: Sequence[int]) -> Iterator[Picture]:
        """The pictures with these numbers, in the order asked for."""
        for number in numbers:
            yield self._picture(int(number))

    def _picture(self, number: int) -> Picture:
        place = int(np.searchsorted(self._keys, number, side="right")) - 1
        if place < 0:
            raise EpisodeError(f"picture {number} has no key frame before it.")
        key = int(self._keys[place])
        context = self._context
        first = self._next
        if context is None or not key <= first <= number:
            context = self._restart()
            first = key
        frame = None
        for position, data in zip(range(first, number + 1), self._packets(first, number + 1),
                                  strict=True):  # fmt: skip
            try:
                decoded = context.decode(av.Packet(data))
            except av.FFmpegError as error:
                self._context = None
                raise EpisodeError(f"picture {position} cannot be decoded: {error}.") from None
            frame = decoded[-1] if decoded else None
        self._next = number + 1
        if frame is None or (frame.height, frame.width) != self._shape[:2]:
            self._context = None
            got = "nothing" if frame is None else f"{frame.height}x{frame.width}"
            raise EpisodeError(
                f"picture {number} decodes to {got}; expected {self._shape[0]}x{self._shape[1]}."
            )
        return np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)

    def _packets(self, first: int, stop: int) -> Iterator[bytes]:
        start, size = self._index.start[first:stop], self._index.size[first:stop]
        low, high = int(start.min()), int((start + size).max())
        block = self._read(low, high - low)
        for begin, length in zip((start - low).tolist(), size.tolist(), strict=True):
            yield block[begin : begin + length]

    def _restart(self) -> VideoCodecContext:
        if self._context is not None:
            self._context.flush_buffers()
            return self._context
        context = av.CodecContext.create(self._index.codec, "r")
        assert isinstance(context, VideoCodecContext)
        context.extradata = self._index.extradata
        context.thread_count = 1
        context.flags |= Flags.low_delay
        self._context = context
        return context
