"""H.264 that every browser plays and any frame of which is a few milliseconds away."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.codec.context import Flags
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType
from av.video.reformatter import Interpolation, VideoReformatter
from numpy.typing import NDArray

from corporeal.errors import EpisodeError
from corporeal.files import refuse_pointer

Picture = NDArray[np.uint8]
VideoError = av.FFmpegError

TICKS_PER_S = 90_000
TIME_BASE = Fraction(1, TICKS_PER_S)
# Every second picture stands alone, so that an exact seek decodes one and a half on average.
GROUP_OF_PICTURES = 2
# Quick to decode comes first, since training decodes a picture thousands of times: no CABAC and no
# deblocking (both part of ultrafast). Key frames are so frequent that they get few extra bits.
_X264 = {
    "preset": "ultrafast",
    "tune": "zerolatency",
    "crf": "23",
    "x264-params": "scenecut=0:ipratio=1.1",
}
# 3.3 hours: the step between two pictures must fit the 31 bits that an MP4 has for it.
_MAX_STEP = 1 << 30
_START_CODE = b"\x00\x00\x01"
_PER_LEVEL = np.float32(1 / 255)
# Containers and streams that hold their pictures themselves. A playlist (HLS, DASH, concat) names
# other files and hosts, and whoever wrote it would choose what is read.
_HOLDS_PICTURES = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,asf,ogg,mxf,gif,apng,"
    "h264,hevc,av1,obu,ivf,m4v,mjpeg"
)
_BT601 = {"colorspace": 6, "color_primaries": 6, "color_trc": 6, "color_range": 1}


def open_movie(source: Any) -> Any:
    """A movie of others, a path or an open file, as a container of FFmpeg's.

    Raises EpisodeError for what holds no pictures itself, FFmpegError for what is damaged.
    """
    if isinstance(source, str | Path):
        refuse_pointer(Path(source))
        source = str(source)
    options = {"format_whitelist": _HOLDS_PICTURES, "protocol_whitelist": "file"}
    try:
        # Titles and the like that are no UTF-8 are nothing to refuse a movie for.
        return av.open(source, "r", options=options, metadata_errors="replace")
    except av.error.ArgumentError:
        raise EpisodeError(
            f"{getattr(source, 'name', source)}: is no movie that holds its own pictures; expected "
            "MP4, Matroska, AVI or the like. Write it again: ffmpeg -i FILE movie.mp4."
        ) from None


class Encoder:
    """Pictures (height, width, 3) in, one H.264 packet (Annex B) for each out, without delay."""

    def __init__(self, height: int, width: int, *, rate_hz: float) -> None:
        context = av.CodecContext.create("libx264", "w")
        assert isinstance(context, VideoCodecContext)
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
        self._restarts = False

    def encode(self, picture: Picture) -> bytes:
        """The packet of one picture; a key frame carries what a decoder needs to start."""
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame.pts, frame.time_base = self._count * self._step, TIME_BASE
        self._count += 1
        if self._restarts:
            frame.pict_type, self._restarts = PictureType.I, False
        (packet,) = self._context.encode(frame)
        return bytes(packet)

    def restart(self) -> None:
        """Make the next picture a key frame: others lie between it and the one before."""
        self._restarts = True


def ticks(time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Presentation times of an MP4: the stamps from the first on, kept strictly increasing.

    A jump of the clock by more than an MP4 can hold (some hours) is shortened to that.
    """
    first = int(time_ns[0])
    # Python's own integers: a broken clock may span more than 64 bits.
    wanted = np.array(
        [((stamp - first) * 9 + 50_000) // 100_000 for stamp in time_ns.tolist()], np.int64
    )
    steps = np.arange(len(wanted))
    rising = np.maximum.accumulate(wanted - steps) + steps
    shortened: NDArray[np.int64] = np.cumsum(np.minimum(np.diff(rising, prepend=0), _MAX_STEP))
    return shortened


@dataclass(frozen=True)
class PacketIndex:
    """Where every picture's packet lies in an MP4, from its first byte on."""

    codec: str
    extradata: bytes
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    is_key: NDArray[np.bool_]


def write_mp4(target: Path, packets: Iterable[bytes], time_ns: NDArray[np.int64]) -> None:
    """Mux one H.264 packet (Annex B) per stamp into an MP4 whose index comes first."""
    pts = ticks(time_ns).tolist()
    durations = [*np.diff(pts).tolist(), pts[-1] - pts[-2] if len(pts) > 1 else TICKS_PER_S // 30]
    options = {"movflags": "faststart", "video_track_timescale": str(TICKS_PER_S)}
    queue = iter(packets)
    first = next(queue)
    with (
        # The first packet is a key frame: FFmpeg learns the stream's parameters from it.
        av.open(io.BytesIO(first), "r", format="h264") as head,
        av.open(str(target), "w", format="mp4", options=options) as container,
    ):
        stream = container.add_stream_from_template(head.streams.video[0], opaque=True)
        stream.time_base = TIME_BASE
        # The stamps lead: a packet beyond them may be torn, and must not be asked for.
        for begin, duration, data in zip(pts, durations, chain([first], queue), strict=False):
            packet = av.Packet(data)
            packet.time_base = TIME_BASE
            packet.pts = packet.dts = begin
            packet.duration = duration
            packet.is_keyframe = is_key_frame(data)
            packet.stream = stream
            container.mux(packet)


def packets_of(movie: Any) -> Iterator[bytes]:
    """The H.264 packet (Annex B) of every picture of an episode's own movie, an open file."""
    with av.open(movie, "r", format="mp4") as container:
        stream = container.streams.video[0]
        rewrite = av.BitStreamFilterContext("h264_mp4toannexb", stream)
        for packet in container.demux(stream):
            if packet.size:
                yield from (bytes(each) for each in rewrite.filter(packet))


def is_key_frame(packet: bytes) -> bool:
    """Whether an H.264 packet (Annex B) is one to start at: its first slice is an IDR slice."""
    start = packet.find(_START_CODE)
    while start >= 0 and start + 3 < len(packet):
        kind = packet[start + 3] & 0x1F
        if kind in (1, 5):
            return kind == 5
        start = packet.find(_START_CODE, start + 3)
    return False


def index_mp4(path: Path) -> PacketIndex:
    """Find every packet of the first video track."""
    start, size, is_key = [], [], []
    length = path.stat().st_size
    with av.open(str(path), format="mp4") as container:
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


@cache
def one_thread() -> dict[str, Any]:
    """What keeps a converter to one thread; older versions of PyAV never take more."""
    try:
        VideoReformatter().reformat(av.VideoFrame(2, 2, "rgb24"), format="gbrp", threads=1)
    except TypeError:
        return {}
    return {"threads": 1}


class Decoder:
    """Decodes the pictures asked for, from the nearest key frame on, and remembers its place.

    `read(start, size)` returns bytes of the MP4.
    """

    def __init__(
        self, index: PacketIndex, shape: tuple[int, ...], read: Callable[[int, int], bytes]
    ) -> None:
        self._shape = shape
        self._follow(index, read)
        self._context: VideoCodecContext | None = None
        # Converters are kept: setting one up costs more than converting a picture. They have one
        # thread: more cost more in all, and a process that is forked would wait for them for ever.
        self._colours, self._planar = VideoReformatter(), VideoReformatter()

    def picture(self, number: int, *, out: Picture) -> None:
        """Write one picture into `out` (height, width, 3)."""
        shown = self._colours.reformat(self._frame(number), format="rgb24", **one_thread())
        (plane,) = shown.planes
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        height, width = self._shape[:2]
        out.reshape(height, 3 * width)[...] = rows[:height, : 3 * width]

    def planes(self, number: int, *, out: NDArray[Any]) -> None:
        """Write one picture into `out` (3, height, width), red first: bytes, or floats in 0..1.

        An `out` of another size gets the picture in that size.
        """
        height, width = out.shape[1:]
        frame = self._frame(number)
        if (height, width) == self._shape[:2]:
            shown = self._planar.reformat(frame, format="gbrp", **one_thread())
        else:
            # Planes cost half of what pixels of three bytes cost, to scale and to take apart.
            shown = self._planar.reformat(
                frame, width=width, height=height, format="gbrp",
                interpolation=Interpolation.AREA, **one_thread(),
            )  # fmt: skip
        for place, plane in zip((1, 2, 0), shown.planes, strict=True):
            rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
            if out.dtype == np.uint8:
                out[place] = rows[:height, :width]
            else:
                np.multiply(rows[:height, :width], _PER_LEVEL, out=out[place])

    def turn_to(self, index: PacketIndex, read: Callable[[int, int], bytes]) -> None:
        """Go on with another movie of the same size, without the cost of a new decoder."""
        if (index.codec, index.extradata) != (self._index.codec, self._index.extradata):
            self._context = None
        self._follow(index, read)

    def _follow(self, index: PacketIndex, read: Callable[[int, int], bytes]) -> None:
        self._index, self._read = index, read
        self._keys, self._next = np.flatnonzero(index.is_key), -1

    def _frame(self, number: int) -> av.VideoFrame:
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
        return frame

    def _packets(self, first: int, stop: int) -> Iterator[bytes]:
        start, size = (each[first:stop].tolist() for each in (self._index.start, self._index.size))
        low, high = min(start), max(map(sum, zip(start, size, strict=True)))
        block = self._read(low, high - low)
        for begin, length in zip(start, size, strict=True):
            yield block[begin - low : begin - low + length]

    def _restart(self) -> VideoCodecContext:
        if self._context is not None:
            self._context.flush_buffers()
            return self._context
        context = av.CodecContext.create(self._index.codec, "r")
        assert isinstance(context, VideoCodecContext)
        context.extradata = self._index.extradata
        context.thread_count = 1
        context.flags |= Flags.low_delay
        # A picture may not be larger than the stream says it is, FFmpeg's padding aside.
        height, width = self._shape[0] + 128, self._shape[1] + 128
        context.options = {"max_pixels": str(height * width)}
        self._context = context
        return context
