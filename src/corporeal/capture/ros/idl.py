"""ROS 2 types on DDS without a ROS installation: type names, DDS types, messages of zeros."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from corporeal.capture.ros.message import NotMappedError
from corporeal.capture.ros.message_type import normal_type, public_class, public_fields
from corporeal.errors import MissingExtraError

PREFIX = "rt/"
_BASE, _NAME, _ARRAY, _SEQUENCE = 1, 2, 3, 4


def dds_topic(topic: str) -> str:
    """The DDS name of a ROS 2 topic."""
    return PREFIX + topic.lstrip("/")


def ros_topic(name: str) -> str | None:
    """The ROS 2 name of a DDS topic, or None for a service, an action, or no ROS topic."""
    return "/" + name.removeprefix(PREFIX) if name.startswith(PREFIX) else None


def dds_type_name(message_type: str) -> str:
    """`sensor_msgs::msg::dds_::Imu_` for sensor_msgs/msg/Imu."""
    package, folder, name = normal_type(message_type).split("/")
    return f"{package}::{folder}::dds_::{name}_"


def ros_type_name(name: str) -> str | None:
    """The ROS 2 type of a DDS type name, or None."""
    match = re.fullmatch(r"(\w+)::msg::dds_::(\w+)_", name)
    return f"{match[1]}/msg/{match[2]}" if match else None


@cache
def dds_type(message_type: str) -> Any:
    """The DDS type of a public ROS 2 message type, with all the types it is made of."""
    try:
        idl: Any = import_module("cyclonedds.idl")
        annotations: Any = import_module("cyclonedds.idl.annotations")
    except ImportError:
        raise MissingExtraError("cyclonedds", "live") from None
    name = normal_type(message_type)
    _, entries = public_fields(name)[name]
    fields = {entry: _field_type(node) for entry, node in entries}
    struct = idl.make_idl_struct(f"{name.split('/')[-1]}_", dds_type_name(name), fields)
    return annotations.autoid("sequential")(annotations.final(struct))


def _field_type(node: Any) -> Any:
    types: Any = import_module("cyclonedds.idl.types")
    kind, detail = node
    if kind.value == _NAME:
        return dds_type(detail)
    if kind.value == _BASE:
        name, limit = detail
        if name == "string":
            return types.bounded_str[limit] if limit else str
        if name == "bool":
            return bool
        if name == "wstring":
            raise NotMappedError("wide strings, which are not read over DDS")
        return getattr(types, {"octet": "uint8", "byte": "uint8", "char": "uint8"}.get(name, name))
    inner, size = detail
    if kind.value == _ARRAY:
        return types.array[_field_type(inner), size]
    return types.sequence[_field_type(inner), size] if size else types.sequence[_field_type(inner)]


def is_fixed(message_type: str) -> bool:
    """True when every message of the type has the same shape: only then zeros tell it."""
    fields = public_fields(message_type)

    def fixed(node: Any) -> bool:
        kind, detail = node
        if kind.value == _NAME:
            return all(fixed(inner) for _, inner in fields[detail][1])
        return kind.value == _BASE or (kind.value == _ARRAY and fixed(detail[0]))

    return all(fixed(node) for _, node in fields[normal_type(message_type)][1])


def zero_message(message_type: str) -> Any:
    """A message of zeros, empty lists and empty strings."""
    name = normal_type(message_type)
    _, entries = public_fields(name)[name]
    return public_class(name)(**{entry: _zero(node) for entry, node in entries})


def _zero(node: Any) -> Any:
    kind, detail = node
    if kind.value == _NAME:
        return zero_message(detail)
    if kind.value == _BASE:
        name = detail[0]
        blank = {"string": "", "wstring": "", "bool": False, "float32": 0.0, "float64": 0.0}
        return blank.get(name, 0)
    inner, size = detail
    count = size if kind.value == _ARRAY else 0
    if inner[0].value == _BASE and inner[1][0] not in ("string", "wstring"):
        dtype = {"octet": "uint8", "byte": "uint8", "char": "uint8"}.get(inner[1][0], inner[1][0])
        return np.zeros(count, dtype)
    return [_zero(inner) for _ in range(count)]
