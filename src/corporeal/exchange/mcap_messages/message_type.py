"""ROS 2 message types, most of which viewers know: their definitions and their bytes (CDR)."""

from __future__ import annotations

from functools import cache
from typing import Any

from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from corporeal.errors import EpisodeError

VIDEO = "foxglove_msgs/msg/CompressedVideo"
_VIDEO_DEFINITION = """\
builtin_interfaces/Time timestamp
string frame_id
uint8[] data
string format
"""
LABEL = "corporeal_msgs/msg/Label"
_LABEL_DEFINITION = """\
string label
float64 start_s
float64 end_s
string attributes
"""
EPISODE_LABELS = "corporeal_msgs/msg/EpisodeLabels"
_EPISODE_LABELS_DEFINITION = """\
string taxonomy
string[] instructions
string outcome
string failure_mode
string variant
string[] flags
"""
# What generated code makes of bytes that do not fit the definition.
_BROKEN = (SerdeError, ValueError, IndexError, TypeError, AssertionError, OverflowError)


@cache
def _store() -> Any:
    store = get_typestore(Stores.ROS2_HUMBLE)
    for name, text in (
        (VIDEO, _VIDEO_DEFINITION),
        (LABEL, _LABEL_DEFINITION),
        (EPISODE_LABELS, _EPISODE_LABELS_DEFINITION),
    ):
        store.register(get_types_from_msg(text, name))
    return store


def message(type_name: str, *values: Any) -> Any:
    """A message of this type; values in the order of its fields."""
    return _store().types[type_name](*values)


def definition(type_name: str) -> str:
    """The text that a file carries, so that any program can read its messages."""
    text, _ = _store().generate_msgdef(type_name, ros_version=2)
    return str(text)


def encode(value: Any, type_name: str) -> bytes:
    """The bytes of a message."""
    return bytes(_store().serialize_cdr(value, type_name))


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
    return message("builtin_interfaces/msg/Time", min(seconds, 2**31 - 1), rest)


def header(stamp_ns: int, frame: str) -> Any:
    """What most messages begin with."""
    return message("std_msgs/msg/Header", time(stamp_ns), frame)
