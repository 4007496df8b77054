"""Streams as messages: numbers by what they are, pictures, depth, point clouds and text."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
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
    Bytes,
    Stencil,
    decode,
    encode,
    header,
    make_message,
    pose,
    quaternion,
    time,
    vector,
)
from corporeal.exchange.movie.foreign_movie import CODECS, PlayablePackets, playable_packets
from corporeal.schema import Stream

WORLD = "world"
_IMU = ("qx", "qy", "qz", "qw", "wx", "wy", "wz", "ax", "ay", "az")
_POSE = ("x", "y", "z", "qx", "qy", "qz", "qw")
_WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")
_TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
_VELOCITY_UNITS, _EFFORT_UNITS = ("rad/s", "m/s"), ("N m", "N")
_ARRAYS = {
    "float64": "Float64", "float32": "Float32", "int64": "Int64", "int32": "Int32",
    "int16": "Int16", "int8": "Int8", "uint64": "UInt64", "uint32": "UInt32",
    "uint16": "UInt16", "uint8": "UInt8", "bool": "UInt8",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class NumericForm:
    """How one stream of numbers is written: `order` are its entries in the message's order."""

    spec: Stream
    type_name: str
    stencil: Stencil
    order: tuple[int, ...] | None = None

    def pack(self, stamp_ns: NDArray[np.uint64], samples: NDArray[Any]) -> Bytes:
        """Messages (T, size) of samples (T, ...)."""
        flat = np.asarray(samples).reshape(len(samples), -1)
        return self.stencil.pack(stamp_ns, flat if self.order is None else flat[:, self.order])

    def unpack(self, messages: Bytes, *, where: str) -> NDArray[Any]:
        """Samples (T, ...) of messages (T, size)."""
        flat = self.stencil.unpack(messages, where=where)
        if self.order is not None:
            flat = flat[:, np.argsort(self.order)]
        shape = (len(messages), *self.spec.sizes)
        return flat.astype(self.spec.dtype, copy=False).reshape(shape)


Build = Callable[[int, NDArray[Any]], tuple[Any, ...]]
"""The fields of the message of one sample, from its stamp and its numbers."""


def numeric_form(spec: Stream) -> NumericForm:
    """The message that viewers understand best among those that hold the stream exactly."""
    named = spec.names if len(spec.shape) == 1 else ()
    if named and len(set(named)) == len(named) and spec.dtype in ("float64", "float32"):
        if spec.name.startswith("joint_"):
            return _form(spec, "sensor_msgs/msg/JointState", _joints(spec))
        for fields, fits, type_name, build in _MEANINGS:
            if fits(frozenset(named)):
                order = tuple(named.index(each) for each in fields if each in named)
                return _form(spec, type_name, _spread(spec, fields, build), order=order)
    layout = array_layout(spec, spec.sizes)
    dtype = "uint8" if spec.dtype == "bool" else spec.dtype
    type_name = f"std_msgs/msg/{_ARRAYS[spec.dtype]}MultiArray"
    return _form(spec, type_name, lambda _, numbers: (layout, numbers), dtype=dtype)


def array_layout(spec: Stream, shape: tuple[int, ...]) -> Any:
    """The axes of an array; the last one is labelled with the names of its entries."""
    axes = []
    for place, size in enumerate(shape):
        is_named = place == len(shape) - 1 and spec.names
        label = ",".join(spec.names) if is_named else f"axis{place}"
        stride = int(np.prod(shape[place:], dtype=np.int64))
        axes.append(make_message("std_msgs/msg/MultiArrayDimension", label, size, stride))
    return make_message("std_msgs/msg/MultiArrayLayout", axes, 0)


def _form(
    spec: Stream,
    type_name: str,
    build: Build,
    *,
    dtype: str = "float64",
    order: tuple[int, ...] | None = None,
) -> NumericForm:
    def bytes_of(stamp_ns: int, numbers: NDArray[Any]) -> bytes:
        return encode(type_name, *build(stamp_ns, numbers))

    return NumericForm(spec, type_name, Stencil(bytes_of, spec.width, dtype), order)


def _joints(spec: Stream) -> Build:
    place = 1 if spec.units[0] in _VELOCITY_UNITS else 2 if spec.units[0] in _EFFORT_UNITS else 0

    def build(stamp_ns: int, numbers: NDArray[Any]) -> tuple[Any, ...]:
        fields = [np.zeros(0) for _ in range(3)]
        fields[place] = numbers
        return header(stamp_ns, spec.frame or ""), list(spec.names), *fields

    return build


def _spread(spec: Stream, fields: Sequence[str], parts: Callable[..., tuple[Any, ...]]) -> Build:
    """The parts of a message below its header: zero for what the stream does not have."""
    present = np.array([field in spec.names for field in fields])
    frame = spec.frame or (WORLD if fields is _POSE else "")

    def build(stamp_ns: int, numbers: NDArray[Any]) -> tuple[Any, ...]:
        values = np.zeros(len(present))
        values[present] = numbers
        return header(stamp_ns, frame), *parts(values, present)

    return build


def _imu(values: NDArray[Any], present: NDArray[np.bool_]) -> tuple[Any, ...]:
    unknown = np.zeros(9)
    # By convention of the type: no orientation is given.
    unknown[0] = 0.0 if present[:4].all() else -1.0
    turn, rate, push = quaternion(values[:4]), vector(values[4:7]), vector(values[7:])
    return turn, unknown, rate, np.zeros(9), push, np.zeros(9)


def _pose(values: NDArray[Any], _: NDArray[np.bool_]) -> tuple[Any, ...]:
    return (pose(values[:3], values[3:]),)


def _pair(kind: str) -> Callable[..., tuple[Any, ...]]:
    """Wrench or Twist: two vectors below a header."""
    name = f"geometry_msgs/msg/{kind}"
    return lambda values, _: (make_message(name, vector(values[:3]), vector(values[3:])),)


def _is_imu(names: frozenset[str]) -> bool:
    return names in (frozenset(_IMU), frozenset(_IMU[4:]))


def _is_twist(names: frozenset[str]) -> bool:
    return names <= frozenset(_TWIST) and any(name.startswith("v") for name in names)


_MEANINGS: tuple[tuple[tuple[str, ...], Callable[[frozenset[str]], bool], str, Any], ...] = (
    (_IMU, _is_imu, "sensor_msgs/msg/Imu", _imu),
    (_POSE, frozenset(_POSE).__eq__, "geometry_msgs/msg/PoseStamped", _pose),
    (_WRENCH, frozenset(_WRENCH).__eq__, "geometry_msgs/msg/WrenchStamped", _pair("Wrench")),
    (_TWIST, _is_twist, "geometry_msgs/msg/TwistStamped", _pair("Twist")),
)


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
        yield encode(VIDEO, time(stamp), spec.frame or spec.name, picture, name)


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
        yield encode(IMAGE, head, kind, np.frombuffer(data, np.uint8))


def _png(picture: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _depth(spec: Stream, stamp_ns: int, frame: NDArray[np.uint16]) -> bytes:
    height, width = frame.shape
    pixels = np.ascontiguousarray(frame, "<u2").view(np.uint8).reshape(-1)
    head = header(stamp_ns, spec.frame or spec.name)
    return encode(DEPTH, head, height, width, "16UC1", 0, 2 * width, pixels)


def _points(spec: Stream, stamp_ns: int, points: NDArray[Any]) -> bytes:
    points = np.ascontiguousarray(points, spec.dtype).reshape(-1, spec.sizes[0])
    if spec.dtype in _WIDE:
        layout = array_layout(spec, points.shape)
        return encode(_WIDE[spec.dtype], layout, points.reshape(-1))
    size = points.dtype.itemsize
    names = spec.names or [f"c{place}" for place in range(points.shape[1])]
    fields = [
        make_message("sensor_msgs/msg/PointField", name, place * size, _FIELD[spec.dtype], 1)
        for place, name in enumerate(names)
    ]
    step = size * points.shape[1]
    head, data = header(stamp_ns, spec.frame or WORLD), points.view(np.uint8).reshape(-1)
    return encode(CLOUD, head, 1, len(points), fields, False, step, data.size, data, True)


def _text(_: Stream, __: int, text: str) -> bytes:
    return encode(TEXT, text)


def read_sample(spec: Stream, type_name: str, data: bytes, *, where: str) -> Any:
    """The sample of a message: bytes of a picture, a depth frame, points, or a text."""
    value = decode(data, type_name, where=where)
    if spec.kind == "text":
        return value.data
    numbers = np.asarray(value.data)
    if spec.kind == "video":
        return numbers.tobytes()
    shape = spec.sizes
    dtype = np.dtype("uint16" if spec.kind == "depth" else spec.dtype)
    row = spec.width * dtype.itemsize
    plain = np.ascontiguousarray(numbers).view(np.uint8).reshape(-1)
    if plain.size % row or (spec.kind == "depth" and plain.size != row):
        raise EpisodeError(
            f"{where}: a message holds {plain.size} bytes; expected {row} for shape {shape}. "
            "Take the file from its source again."
        )
    if spec.kind == "depth":
        return plain.view("<u2").reshape(shape)
    return plain.view(dtype).reshape(-1, *shape)
