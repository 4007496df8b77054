"""Any ROS message: its numbers as one array, its strings as text; and the table of known types."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from corporeal.capture.ros import foxglove, unitree
from corporeal.capture.ros import message as known
from corporeal.capture.ros.foxglove import foxglove_name
from corporeal.capture.ros.message import (
    MessagePart,
    NotMappedError,
    array_piece,
    field_names,
    frame_of,
    text_piece,
)
from corporeal.capture.ros.picture import compressed_image, image, point_cloud

MAX_NUMBERS = 1 << 20
MAX_NAMED = 512
_EXACT = 1 << 53
_NAMES = ("name", "names", "joint_names")
# Units of the fields of common types; a field not listed is a bare number.
_UNITS = {
    "geometry_msgs/msg/Point": {"": "m"},
    "geometry_msgs/msg/Point32": {"": "m"},
    "geometry_msgs/msg/PointStamped": {"": "m"},
    "sensor_msgs/msg/FluidPressure": {"fluid_pressure": "Pa"},
    "sensor_msgs/msg/MagneticField": {"magnetic_field": "T"},
    "sensor_msgs/msg/Temperature": {"temperature": "degC"},
    "sensor_msgs/msg/Range": {
        "field_of_view": "rad", "min_range": "m", "max_range": "m", "range": "m",
    },
    "sensor_msgs/msg/LaserScan": {
        "angle_min": "rad", "angle_max": "rad", "angle_increment": "rad", "time_increment": "s",
        "scan_time": "s", "range_min": "m", "range_max": "m", "ranges": "m",
    },
    "sensor_msgs/msg/NavSatFix": {"latitude": "deg", "longitude": "deg", "altitude": "m"},
    "sensor_msgs/msg/BatteryState": {
        "voltage": "V", "cell_voltage": "V", "current": "A", "temperature": "degC",
    },
}  # fmt: skip

_NUMBERS = {
    "Bool": "bool", "Byte": "uint8", "Char": "uint8", "Float32": "float32", "Float64": "float64",
    "Int8": "int8", "Int16": "int16", "Int32": "int32", "Int64": "int64", "UInt8": "uint8",
    "UInt16": "uint16", "UInt32": "uint32", "UInt64": "uint64",
}  # fmt: skip
_ARRAYS = {name: dtype for name, dtype in _NUMBERS.items() if name not in ("Bool", "Char")}

CONVERTERS: dict[str, Callable[[Any], list[MessagePart]]] = {
    "sensor_msgs/msg/JointState": known.joint_state,
    "sensor_msgs/msg/Imu": known.imu,
    "sensor_msgs/msg/Image": image,
    "sensor_msgs/msg/CompressedImage": compressed_image,
    "sensor_msgs/msg/PointCloud2": point_cloud,
    "nav_msgs/msg/Odometry": known.odometry,
    "tf2_msgs/msg/TFMessage": known.transform_tree,
    "tf/msg/tfMessage": known.transform_tree,
    "std_msgs/msg/String": known.text,
    "rcl_interfaces/msg/Log": known.log,
    "rosgraph_msgs/msg/Log": known.log,
    "sensor_msgs/msg/CameraInfo": known.camera_info,
    **foxglove.CONVERTERS,
    **unitree.CONVERTERS,
    **{
        f"geometry_msgs/msg/{name}{ending}": convert
        for name, convert in (
            ("Pose", known.pose), ("PoseWithCovariance", known.pose), ("Twist", known.twist),
            ("TwistWithCovariance", known.twist), ("Accel", known.accel),
            ("AccelWithCovariance", known.accel), ("Wrench", known.wrench),
            ("Transform", known.transform), ("Quaternion", known.quaternion),
        )
        for ending in ("", "Stamped")
    },
    **{f"std_msgs/msg/{name}": known.scalar(dtype) for name, dtype in _NUMBERS.items()},
    **{f"std_msgs/msg/{name}MultiArray": known.multi_array(t) for name, t in _ARRAYS.items()},
}  # fmt: skip


def pieces_of(message: Any, message_type: str) -> list[MessagePart]:
    """Everything a message holds; NotMappedError says why it cannot be held."""
    convert = CONVERTERS.get(foxglove_name(message_type))
    if convert is None:
        return flatten(message, message_type)
    try:
        return convert(message)
    except (AttributeError, TypeError, ValueError) as error:
        # Only messages that describe themselves can lack a field of their type, or have another.
        if not isinstance(message, SimpleNamespace):
            raise
        raise NotMappedError(f"fields other than those of {message_type} ({error})") from None


@dataclass
class _Leaves:
    names: list[str] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    texts: dict[str, Any] = field(default_factory=dict)
    count: int = 0


def flatten(message: Any, message_type: str) -> list[MessagePart]:
    """All numbers in the order of the definition as one array; all strings as one JSON text.

    The text is on_change: a name repeated in every message is stored once. A list called `name`
    or `names` gives the components of the arrays that are as long as it.
    """
    labels = _labels(message)
    leaves = _Leaves()
    units = _UNITS.get(message_type, {})
    names = field_names(message)
    for name in names:
        if name in ("header", "timestamp") and not isinstance(getattr(message, name), int | float):
            continue
        if labels and name in _NAMES:
            continue
        unit = units.get(name, units.get("", "1"))
        _walk(leaves, name, getattr(message, name), unit, labels)
    pieces = []
    if leaves.count:
        pieces.append(_numbers(leaves, frame_of(message)))
    if leaves.texts:
        text = json.dumps(leaves.texts, ensure_ascii=False, sort_keys=True)
        pieces.append(text_piece("text", text, on_change=True))
    if not names:
        # A message without fields is an event.
        pieces.append(text_piece("", ""))
    if not pieces:
        raise NotMappedError("every field is empty")
    return pieces


def _labels(message: Any) -> tuple[str, ...]:
    for name in _NAMES:
        found = getattr(message, name, None)
        if isinstance(found, list) and found and all(isinstance(text, str) for text in found):
            return tuple(found)
    return ()


def _walk(leaves: _Leaves, name: str, value: Any, unit: str, labels: tuple[str, ...]) -> None:
    if isinstance(value, str):
        leaves.texts[name] = value
    elif isinstance(value, bool | int | float | np.generic):
        _add(leaves, name, np.asarray(value), unit, ())
    elif isinstance(value, np.ndarray):
        _add(leaves, name, value.reshape(-1), unit, labels)
    elif isinstance(value, bytes):
        _add(leaves, name, np.frombuffer(value, np.uint8), unit, labels)
    elif is_dataclass(value) or isinstance(value, SimpleNamespace):
        for inner in field_names(value):
            _walk(leaves, f"{name}.{inner}", getattr(value, inner), unit, labels)
    elif isinstance(value, list) and value and isinstance(value[0], str):
        leaves.texts[name] = value
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            _walk(leaves, f"{name}[{number}]", entry, unit, labels)


def _add(
    leaves: _Leaves, name: str, value: Any, unit: str, labels: tuple[str, ...]
) -> None:  # fmt: skip
    leaves.count += value.size
    if leaves.count > MAX_NUMBERS:
        raise NotMappedError(f"more than {MAX_NUMBERS} numbers in a message")
    leaves.values.append(value)
    if leaves.count > MAX_NAMED:
        return
    if value.ndim == 0:
        leaves.names.append(name)
    elif len(labels) == value.size:
        leaves.names.extend(f"{name}.{label}" for label in labels)
    else:
        leaves.names.extend(f"{name}[{number}]" for number in range(value.size))
    leaves.units.extend([unit] * value.size)


def _numbers(leaves: _Leaves, frame: str | None) -> MessagePart:
    kinds = {value.dtype.kind for value in leaves.values}
    if "O" in kinds:
        raise NotMappedError("a whole number beyond 64 bits")
    if kinds <= {"b", "i", "u"}:
        dtype = "int64"
    else:
        dtype = "float64"
        whole = [value for value in leaves.values if value.dtype.kind in "iu" and value.size]
        if any(int(value.max()) > _EXACT or int(value.min()) < -_EXACT for value in whole):
            raise NotMappedError("a whole number too large to stand beside fractions")
    if any(value.dtype == np.uint64 and value.size and int(value.max()) >= 1 << 63
           for value in leaves.values):  # fmt: skip
        raise NotMappedError("a whole number beyond 63 bits")
    values = np.concatenate([np.atleast_1d(value).astype(dtype) for value in leaves.values])
    is_named = len(leaves.names) == values.size
    units = set(leaves.units)
    unit: str | tuple[str, ...] = "1"
    if is_named:
        unit = units.pop() if len(units) == 1 else tuple(leaves.units)
    return array_piece(
        "", values, unit, components=tuple(leaves.names) if is_named else None, frame=frame
    )
