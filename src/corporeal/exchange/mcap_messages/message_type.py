"""ROS 2 message types, most of which viewers know: their definitions and their bytes (CDR)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from corporeal.errors import EpisodeError

Bytes = NDArray[np.uint8]
Build = Callable[[int, NDArray[Any]], bytes]

# No byte of it is zero, and it is a number in every type, so that its places can be seen.
_MARK = 0x3F
_STAMP_NS = 0x3F3F3F3F * 1_000_000_000 + 0x3A3F3F3F


class Stencil:
    """Packs and unpacks many messages at once, whatever their type is.

    `build(stamp_ns, numbers)` gives one message with `count` numbers of type `dtype`. Where they
    stand is found by comparing messages, so that nothing here knows about any type.
    """

    def __init__(self, build: Build, count: int, dtype: str) -> None:
        self._dtype = np.dtype(dtype)
        self._count = count
        zeros = np.zeros(count, self._dtype)
        marks = np.full(count * self._dtype.itemsize, _MARK, np.uint8).view(self._dtype)
        self._template = np.frombuffer(build(0, zeros), np.uint8)
        marked = np.frombuffer(build(0, marks), np.uint8)
        stamped = np.frombuffer(build(_STAMP_NS, zeros), np.uint8)
        self._numbers = np.flatnonzero(marked != self._template)
        self._stamps = np.flatnonzero(stamped != self._template)
        assert len(self._numbers) == count * self._dtype.itemsize
        assert len(self._stamps) % 8 == 0

    @property
    def size(self) -> int:
        """Bytes of one message."""
        return len(self._template)

    def pack(self, stamp_ns: NDArray[np.uint64], numbers: NDArray[Any]) -> Bytes:
        """Messages (T, size) of numbers (T, count)."""
        messages = np.tile(self._template, (len(numbers), 1))
        plain = np.ascontiguousarray(numbers, self._dtype)
        messages[:, self._numbers] = plain.view(np.uint8).reshape(len(numbers), -1)
        if len(self._stamps):
            seconds, rest = np.divmod(stamp_ns, np.uint64(1_000_000_000))
            pair = np.stack([np.minimum(seconds, np.uint64(2**31 - 1)), rest], axis=1)
            stamps = pair.astype("<u4").view(np.uint8).reshape(len(numbers), 8)
            messages[:, self._stamps] = np.tile(stamps, (1, len(self._stamps) // 8))
        return messages

    def unpack(self, messages: Bytes, *, where: str) -> NDArray[Any]:
        """Numbers (T, count) of messages (T, size); EpisodeError when they have another form."""
        if messages.shape[1] != self.size:
            raise EpisodeError(
                f"{where}: a message has {messages.shape[1]} bytes; expected {self.size}. "
                "Take the file from its source again."
            )
        plain = np.ascontiguousarray(messages[:, self._numbers])
        return plain.view(self._dtype).reshape(len(messages), self._count)


VIDEO = "foxglove_msgs/msg/CompressedVideo"
LABEL = "corporeal_msgs/msg/Label"
EPISODE_LABELS = "corporeal_msgs/msg/EpisodeLabels"
_DEFINITIONS = {
    VIDEO: """\
builtin_interfaces/Time timestamp
string frame_id
uint8[] data
string format
""",
    LABEL: """\
string label
float64 start_s
float64 end_s
string attributes
""",
    EPISODE_LABELS: """\
string taxonomy
string[] instructions
string outcome
string failure_mode
string variant
string[] flags
""",
}
# What generated code makes of bytes that do not fit the definition.
_BROKEN = (SerdeError, ValueError, IndexError, TypeError, AssertionError, OverflowError)


@cache
def _store() -> Any:
    store = get_typestore(Stores.ROS2_HUMBLE)
    for name, text in _DEFINITIONS.items():
        store.register(get_types_from_msg(text, name))
    return store


def make_message(type_name: str, *values: Any) -> Any:
    """A message of this type; values in the order of its fields."""
    return _store().types[type_name](*values)


def definition(type_name: str) -> str:
    """The text that a file carries, so that any program can read its messages."""
    text, _ = _store().generate_msgdef(type_name, ros_version=2)
    return str(text)


def encode(type_name: str, *values: Any) -> bytes:
    """The bytes of a message of this type; values in the order of its fields."""
    return bytes(_store().serialize_cdr(make_message(type_name, *values), type_name))


def decode(data: bytes, type_name: str, *, where: str) -> Any:
    """The message of these bytes; EpisodeError when they are no such message."""
    try:
        return _store().deserialize_cdr(data, type_name)
    except _BROKEN as error:
        reason = str(error) or type(error).__name__
        raise EpisodeError(
            f"{where}: a message is no {type_name} ({reason}). Take the file from its source again."
        ) from None


def time(stamp_ns: int) -> Any:
    """A stamp in whole seconds and nanoseconds; one that the type cannot hold stops at its end."""
    seconds, rest = divmod(stamp_ns, 1_000_000_000)
    return make_message("builtin_interfaces/msg/Time", min(seconds, 2**31 - 1), rest)


def vector(xyz: Iterable[float]) -> Any:
    """Three numbers."""
    return make_message("geometry_msgs/msg/Vector3", *map(float, xyz))


def quaternion(xyzw: Iterable[float]) -> Any:
    """A rotation."""
    return make_message("geometry_msgs/msg/Quaternion", *map(float, xyzw))


def pose(position: Iterable[float], xyzw: Iterable[float]) -> Any:
    """Where something is, and how it is turned."""
    point = make_message("geometry_msgs/msg/Point", *map(float, position))
    return make_message("geometry_msgs/msg/Pose", point, quaternion(xyzw))


def header(stamp_ns: int, frame: str) -> Any:
    """What most messages begin with."""
    return make_message("std_msgs/msg/Header", time(stamp_ns), frame)
