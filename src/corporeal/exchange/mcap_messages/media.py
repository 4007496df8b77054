"""Pictures, depth, point clouds and text as messages, each of a size of its own."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corporeal.episode.recording import ImageSequence, Signal, VideoFile
from corporeal.errors import EpisodeError
from corporeal.exchange.mcap_messages.message_type import (
    VIDEO,
    decode,
    encode,
    header,
    make_message,
    time,
)
from corporeal.exchange.mcap_messages.numeric import array_layout
from corporeal.exchange.movie.playable_packets import CODECS, PlayablePackets, playable_packets
from corporeal.schema import Stream

Pack = Callable[[Stream, int, Any], bytes]

IMAGE, DEPTH = "sensor_msgs/msg/CompressedImage", "sensor_msgs/msg/Image"
CLOUD, TEXT = "sensor_msgs/msg/PointCloud2", "std_msgs/msg/String"
_WIDE = {"int64": "std_msgs/msg/Int64MultiArray", "uint64": "std_msgs/msg/UInt64MultiArray"}
_FIELD = {"int8": 1, "uint8": 2, "bool": 2, "int16": 3, "uint16": 4, "int32": 5, "uint32": 6,
          "float32": 7, "float64": 8}  # fmt: skip
_BLOCK = 16


@dataclass(frozen=True, eq=False)
class MediaForm:
    """How one stream is written: `messages` packs its samples one by one, in order.

    `codec` is FFmpeg's name of it, for a camera whose packets are taken from its movie.
    """

    type_name: str
    messages: Callable[[NDArray[np.uint64]], Iterator[bytes]]
    codec: str | None = None


def media_form(signal: Signal) -> MediaForm:
    """The message of a stream of pictures, depth, points or text."""
    spec = signal.spec
    if spec.kind == "video":
        packets = playable_packets(signal) if isinstance(signal, VideoFile) else None
        if packets is not None:
            return MediaForm(VIDEO, lambda stamps: _video(packets, stamps), packets.codec)
        return MediaForm(IMAGE, lambda stamps: _stills(signal, stamps))
    packers: dict[str, Pack] = {"depth": _depth, "points": _points, "text": _text}
    pack = packers[spec.kind]

    def messages(stamps: NDArray[np.uint64]) -> Iterator[bytes]:
        for first in range(0, len(stamps), _BLOCK):
            block = signal[first : first + _BLOCK]
            for stamp, sample in zip(stamps[first : first + _BLOCK].tolist(), block, strict=True):
                yield pack(spec, stamp, sample)

    return MediaForm(media_type(spec), messages)


def media_type(spec: Stream) -> str:
    """The message type of depth, points or text."""
    return {"depth": DEPTH, "text": TEXT}.get(spec.kind) or _WIDE.get(spec.dtype, CLOUD)


def _video(packets: PlayablePackets, stamps: NDArray[np.uint64]) -> Iterator[bytes]:
    spec, name = packets.footage.spec, CODECS[packets.codec]
    # A stamp whose picture the movie lacks stays, with nothing: that is for a check to find.
    pictures = chain((data for data, _ in packets), repeat(b""))
    for stamp, data in zip(stamps.tolist(), pictures, strict=False):
        picture = np.frombuffer(data, np.uint8)
        yield encode(
            make_message(VIDEO, time(stamp), spec.frame or spec.name, picture, name), VIDEO
        )


def _stills(signal: Any, stamps: NDArray[np.uint64]) -> Iterator[bytes]:
    """JPEG and PNG as they are; anything else as PNG, which keeps every pixel."""
    spec = signal.spec
    pictures = (
        iter(signal.pictures)
        if isinstance(signal, ImageSequence)
        else (frame.to_ndarray(format="rgb24") for frame in signal.frames())
    )
    for stamp in stamps.tolist():
        picture = next(pictures, b"")
        data = picture if isinstance(picture, bytes) else _png(np.asarray(picture, np.uint8))
        kind = "png" if data.startswith(b"\x89PNG") else "jpeg"
        head = header(stamp, spec.frame or spec.name)
        yield encode(make_message(IMAGE, head, kind, np.frombuffer(data, np.uint8)), IMAGE)


def _png(picture: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _depth(spec: Stream, stamp_ns: int, frame: NDArray[np.uint16]) -> bytes:
    height, width = frame.shape
    pixels = np.ascontiguousarray(frame, "<u2").view(np.uint8).reshape(-1)
    head = header(stamp_ns, spec.frame or spec.name)
    return encode(make_message(DEPTH, head, height, width, "16UC1", 0, 2 * width, pixels), DEPTH)


def _points(spec: Stream, stamp_ns: int, points: NDArray[Any]) -> bytes:
    points = np.ascontiguousarray(points, spec.dtype).reshape(-1, int(spec.shape[0]))
    if spec.dtype in _WIDE:
        layout = array_layout(spec, points.shape)
        return encode(
            make_message(_WIDE[spec.dtype], layout, points.reshape(-1)), _WIDE[spec.dtype]
        )
    size = points.dtype.itemsize
    named = spec.components if isinstance(spec.components, tuple) else None
    fields = [
        make_message("sensor_msgs/msg/PointField", named[place] if named else f"c{place}",
                place * size, _FIELD[spec.dtype], 1)
        for place in range(points.shape[1])
    ]  # fmt: skip
    step = size * points.shape[1]
    return encode(
        make_message(CLOUD, header(stamp_ns, spec.frame or "world"), 1, len(points), fields, False,
                step, step * len(points), points.view(np.uint8).reshape(-1), True),
        CLOUD,
    )  # fmt: skip


def _text(_: Stream, __: int, text: str) -> bytes:
    return encode(make_message(TEXT, text), TEXT)


def read_sample(spec: Stream, type_name: str, data: bytes, *, where: str) -> Any:
    """The sample of a message: bytes of a picture, a depth frame, points, or a text."""
    value = decode(data, type_name, where=where)
    if spec.kind == "text":
        return value.data
    numbers = np.asarray(value.data)
    if spec.kind == "video":
        return numbers.tobytes()
    shape = tuple(int(size) for size in spec.shape)
    dtype = np.dtype("uint16" if spec.kind == "depth" else spec.dtype)
    row = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    plain = np.ascontiguousarray(numbers).view(np.uint8).reshape(-1)
    if plain.size % row or (spec.kind == "depth" and plain.size != row):
        raise EpisodeError(
            f"{where}: a message holds {plain.size} bytes; expected {row} for shape {shape}. "
            "Take the file from its source again."
        )
    if spec.kind == "depth":
        return plain.view("<u2").reshape(shape)
    return plain.view(dtype).reshape(-1, *shape)
