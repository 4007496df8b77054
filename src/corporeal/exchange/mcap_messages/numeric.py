"""Streams of numbers as messages: joints, IMU, wrench, pose, velocity, or a labelled array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.exchange.mcap_messages.message_type import (
    Bytes,
    Stencil,
    encode,
    header,
    make_message,
)
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
        shape = (len(messages), *(int(size) for size in self.spec.shape))
        return flat.astype(self.spec.dtype, copy=False).reshape(shape)


def numeric_form(spec: Stream) -> NumericForm:
    """The message that viewers understand best among those that hold the stream exactly."""
    named = spec.components if isinstance(spec.components, tuple) and len(spec.shape) == 1 else ()
    if named and len(set(named)) == len(named) and spec.dtype in ("float64", "float32"):
        if spec.name.startswith("joint_"):
            return _form(spec, "sensor_msgs/msg/JointState", _joints(spec, named), len(named))
        for fields, fits, type_name, build in _MEANINGS:
            if fits(frozenset(named)):
                order = tuple(named.index(each) for each in fields if each in named)
                present = np.array([field in named for field in fields])
                return _form(spec, type_name, build(spec, present), len(named), order)
    count = int(np.prod([int(size) for size in spec.shape], dtype=np.int64))
    type_name = f"std_msgs/msg/{_ARRAYS[spec.dtype]}MultiArray"
    kind = "uint8" if spec.dtype == "bool" else spec.dtype
    layout = array_layout(spec, tuple(int(size) for size in spec.shape))

    def build_array(_: int, numbers: NDArray[Any]) -> bytes:
        return encode(make_message(type_name, layout, numbers), type_name)

    return NumericForm(spec, type_name, Stencil(build_array, count, kind))


def array_layout(spec: Stream, shape: tuple[int, ...]) -> Any:
    """The axes of an array; the last one is labelled with the names of its entries."""
    named = ",".join(spec.components) if isinstance(spec.components, tuple) else ""
    axes = []
    for place, size in enumerate(shape):
        label = named if place == len(shape) - 1 and named else f"axis{place}"
        stride = int(np.prod(shape[place:], dtype=np.int64))
        axes.append(make_message("std_msgs/msg/MultiArrayDimension", label, size, stride))
    return make_message("std_msgs/msg/MultiArrayLayout", axes, 0)


def _form(
    spec: Stream,
    type_name: str,
    build: Callable[[int, NDArray[Any]], Any],
    count: int,
    order: tuple[int, ...] | None = None,
) -> NumericForm:
    def bytes_of(stamp_ns: int, numbers: NDArray[Any]) -> bytes:
        return encode(build(stamp_ns, numbers), type_name)

    return NumericForm(spec, type_name, Stencil(bytes_of, count, "float64"), order)


def _joints(spec: Stream, names: tuple[str, ...]) -> Callable[[int, NDArray[Any]], Any]:
    unit = spec.unit if isinstance(spec.unit, str) else spec.unit[0]
    place = 1 if unit in _VELOCITY_UNITS else 2 if unit in _EFFORT_UNITS else 0

    def build(stamp_ns: int, numbers: NDArray[Any]) -> Any:
        fields = [np.zeros(0) for _ in range(3)]
        fields[place] = numbers
        head = header(stamp_ns, spec.frame or "")
        return make_message("sensor_msgs/msg/JointState", head, list(names), *fields)

    return build


def _spread(numbers: NDArray[Any], present: NDArray[np.bool_]) -> list[float]:
    """The numbers of all fields: zero for those that the stream does not have."""
    values = np.zeros(len(present))
    values[present] = numbers
    return [float(value) for value in values]


def _imu(spec: Stream, present: NDArray[np.bool_]) -> Callable[[int, NDArray[Any]], Any]:
    unknown = np.zeros(9)
    # By convention of the type: no orientation is given.
    unknown[0] = 0.0 if present[:4].all() else -1.0

    def build(stamp_ns: int, numbers: NDArray[Any]) -> Any:
        values = _spread(numbers, present)
        return make_message(
            "sensor_msgs/msg/Imu", header(stamp_ns, spec.frame or ""),
            make_message("geometry_msgs/msg/Quaternion", *values[:4]), unknown,
            make_message("geometry_msgs/msg/Vector3", *values[4:7]), np.zeros(9),
            make_message("geometry_msgs/msg/Vector3", *values[7:]), np.zeros(9),
        )  # fmt: skip

    return build


def _pose(spec: Stream, present: NDArray[np.bool_]) -> Callable[[int, NDArray[Any]], Any]:
    def build(stamp_ns: int, numbers: NDArray[Any]) -> Any:
        values = _spread(numbers, present)
        point = make_message("geometry_msgs/msg/Point", *values[:3])
        rotation = make_message("geometry_msgs/msg/Quaternion", *values[3:])
        pose = make_message("geometry_msgs/msg/Pose", point, rotation)
        head = header(stamp_ns, spec.frame or WORLD)
        return make_message("geometry_msgs/msg/PoseStamped", head, pose)

    return build


def _pair(kind: str) -> Callable[..., Callable[[int, NDArray[Any]], Any]]:
    """Wrench or Twist: two vectors below a header."""

    def of(spec: Stream, present: NDArray[np.bool_]) -> Callable[[int, NDArray[Any]], Any]:
        def build(stamp_ns: int, numbers: NDArray[Any]) -> Any:
            values = _spread(numbers, present)
            vectors = [
                make_message("geometry_msgs/msg/Vector3", *values[at : at + 3]) for at in (0, 3)
            ]
            both = make_message(f"geometry_msgs/msg/{kind}", *vectors)
            head = header(stamp_ns, spec.frame or "")
            return make_message(f"geometry_msgs/msg/{kind}Stamped", head, both)

        return build

    return of


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
