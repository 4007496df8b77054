"""What a ROS message holds, as pieces that can become streams: values, units, frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import CorporealError
from corporeal.schema import roles
from corporeal.schema.stream import Group, Kind
from corporeal.units import SECOND_NS

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WORLD_FRAMES = {"world", "map", "odom", "earth", "utm"}
CAMERA_INFO = "camera_info"

_JOINT_STATE = (
    ("position", "rad", roles.JOINT_POSITION),
    ("velocity", "rad/s", roles.JOINT_VELOCITY),
    ("effort", "N m", roles.JOINT_TORQUE),
)

Numbers = NDArray[Any]
Unit = str | tuple[str, ...]


class NotMappedError(CorporealError):
    """A message that no stream can hold; the text is the reason, to be counted and reported."""


@dataclass(frozen=True, slots=True)
class MessagePart:
    """One value of a message.

    `shape` is that of the sample (of one point, for a cloud). A picture's `value` is a function
    that decodes it, so that a survey need not. `variant` tells apart the joint sets that share a
    topic; `stamp_ns` is the piece's own stamp where it has one; a piece `on_change` is only news
    when it differs from the last. `role` is what the type says that it is, such as
    joint_position, or the end of such a name; `is_event`: it comes when it comes, at no rate.
    `child` is the frame whose pose or velocity it is; `is_motor`: what it is of, the robot tells.
    A piece with a `fact` holds for the whole recording: its text is kept under that name.
    """

    suffix: str
    value: Any
    kind: Kind = "array"
    dtype: str = "float64"
    shape: tuple[int, ...] = ()
    unit: Unit = "1"
    components: tuple[str, ...] | None = None
    frame: str | None = None
    group: Group | None = None
    variant: tuple[str, ...] = ()
    stamp_ns: int | None = None
    on_change: bool = False
    note: str | None = None
    role: str | None = None
    is_event: bool = False
    child: str | None = None
    is_motor: bool = False
    fact: str | None = None

    def load(self) -> Any:
        """The value itself."""
        return self.value() if callable(self.value) else self.value


def array_piece(suffix: str, value: Any, unit: Unit = "1", **facts: Any) -> MessagePart:
    """A piece of numbers: dtype and shape are those of the array."""
    array = np.asarray(value)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    return MessagePart(
        suffix, array, dtype=array.dtype.name, shape=array.shape, unit=unit, **facts
    )  # fmt: skip


def stamp_ns(message: Any) -> int | None:
    """The stamp of a message in nanoseconds, as ROS, Foxglove or JSON write it; None without."""
    stamp = getattr(getattr(message, "header", None), "stamp", None)
    if stamp is None:
        stamp = getattr(message, "timestamp", None)
    if isinstance(stamp, str):
        return _written_time_ns(stamp)
    for seconds, rest in (("sec", "nanosec"), ("sec", "nsec"), ("seconds", "nanos")):
        if hasattr(stamp, seconds) and hasattr(stamp, rest):
            return int(getattr(stamp, seconds)) * SECOND_NS + int(getattr(stamp, rest))
    return None


def _written_time_ns(text: str) -> int | None:
    """A time as ISO 8601 has it, to the microsecond; None for other text."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _UNIX_EPOCH
    return (since // timedelta(microseconds=1)) * 1000


def frame_of(message: Any) -> str | None:
    """The frame that a message names, without ROS 1's leading slash, or None."""
    frame = getattr(getattr(message, "header", None), "frame_id", None)
    for name in ("frame_id", "parent_frame_id"):
        frame = getattr(message, name, None) if frame is None else frame
    return frame.strip("/").replace("\0", "") or None if isinstance(frame, str) else None


def joint_state(message: Any) -> list[MessagePart]:
    """Position, velocity and effort, as far as they are there, with the names of the joints."""
    names = tuple(message.name)
    pieces = []
    for suffix, unit, role in _JOINT_STATE:
        values = getattr(message, suffix, ())
        if not len(values):
            continue
        if names and len(values) != len(names):
            raise NotMappedError(f"{suffix} has {len(values)} values for {len(names)} joint names")
        pieces.append(
            array_piece(
                suffix,
                values,
                unit,
                components=names or None,
                variant=tuple(sorted(names)),
                frame=frame_of(message),
                note="JointState states no units: rad, rad/s, N m are assumed",
                role=role,
            )
        )
    if not pieces:
        raise NotMappedError("the joint state holds no values")
    return pieces


def imu(message: Any) -> list[MessagePart]:
    """Acceleration and angular velocity; orientation where the sensor has one."""
    frame = frame_of(message)
    linear, angular = message.linear_acceleration, message.angular_velocity
    values = [*_xyz(linear), *_xyz(angular)]
    pieces = [
        array_piece(
            "",
            values,
            ("m/s2",) * 3 + ("rad/s",) * 3,
            components=("ax", "ay", "az", "wx", "wy", "wz"),
            frame=frame,
            role=roles.IMU,
        )
    ]
    turned = _wxyz(message.orientation)
    # Two signs of "this sensor gives no orientation": the message's own, and nothing filled in.
    if message.orientation_covariance[0] != -1 and any(turned):
        pieces.append(array_piece("orientation", turned, components=roles.QUATERNION, frame=frame))
    covariances = np.concatenate(
        [
            message.linear_acceleration_covariance,
            message.angular_velocity_covariance,
            message.orientation_covariance,
        ]
    )
    return [*pieces, _covariance(covariances)]


def pose(message: Any) -> list[MessagePart]:
    """x y z and the quaternion, w first; in the room's frame it may be that of the robot's base."""
    first, *rest = posed(_body(message, "pose"), frame_of(message))
    in_world = first.frame in WORLD_FRAMES
    return [replace(first, role=roles.BASE_POSE if in_world else None), *rest]


def posed(outer: Any, frame: str | None) -> list[MessagePart]:
    """A pose in a frame, with its covariance if it has one."""
    return _pose_pieces("", outer, frame)


def log(message: Any) -> list[MessagePart]:
    """A line of a log: level, who wrote it and what; an event, kept as JSON."""
    words = (getattr(message, name, "") for name in ("msg", "message"))
    level = getattr(message, "level", 0)
    line = {
        "level": int(level) if isinstance(level, int | float | np.integer) else str(level),
        "name": str(message.name),
        "message": next((str(text) for text in words if text), ""),
    }
    return [text_piece("", json.dumps(line, ensure_ascii=False))]


def transform(message: Any) -> list[MessagePart]:
    """A transform as the pose of the child in its parent's frame."""
    stamped = getattr(message, "transform", message)
    values = [*_xyz(stamped.translation), *_wxyz(stamped.rotation)]
    child = getattr(message, "child_frame_id", "").strip("/")
    frame, group = _placed(frame_of(message))
    return [
        array_piece(
            child, values, roles.POSE_UNITS, components=roles.POSE, frame=frame, group=group,
            stamp_ns=stamp_ns(message), child=child or None,
            role=roles.BASE_POSE if frame in WORLD_FRAMES else None,
        )
    ]  # fmt: skip


def transform_tree(message: Any) -> list[MessagePart]:
    """Every transform of a tf message; what only the recording floor knows.

    Several senders share a topic of transforms, so that it has no rate.
    """
    pieces = [piece for entry in message.transforms for piece in transform(entry)]
    return [replace(piece, group="debug", is_event=True) for piece in pieces]


def twist(message: Any) -> list[MessagePart]:
    """Linear and angular velocity."""
    return _twist_pieces("", _body(message, "twist"), frame_of(message))


def accel(message: Any) -> list[MessagePart]:
    """Linear and angular acceleration."""
    inner = _body(message, "accel")
    moving = getattr(inner, "accel", inner)
    values = [*_xyz(moving.linear), *_xyz(moving.angular)]
    names = ("ax", "ay", "az", "dwx", "dwy", "dwz")
    units = ("m/s2",) * 3 + ("rad/s2",) * 3
    frame = frame_of(message)
    pieces = [array_piece("", values, units, components=names, frame=frame)]
    return _with_covariance(pieces, "", inner)


def wrench(message: Any) -> list[MessagePart]:
    """Force and torque."""
    inner = getattr(message, "wrench", message)
    values = [*_xyz(inner.force), *_xyz(inner.torque)]
    names = ("fx", "fy", "fz", "tx", "ty", "tz")
    units = ("N",) * 3 + ("N m",) * 3
    frame = frame_of(message)
    return [array_piece("", values, units, components=names, frame=frame, role=roles.WRENCH)]


def odometry(message: Any) -> list[MessagePart]:
    """Pose in the odometry frame and twist in the robot's: never a policy's observation."""
    child = message.child_frame_id.strip("/") or None
    pose, *sure = _pose_pieces("pose", message.pose, frame_of(message))
    moving, *certain = _twist_pieces("twist", message.twist, child)
    in_world = pose.frame in WORLD_FRAMES
    pieces = [
        replace(pose, child=child, role=roles.BASE_POSE if in_world else None),
        *sure,
        replace(moving, child=child, role=roles.BASE_VELOCITY),
        *certain,
    ]
    return [_replace_group(piece) for piece in pieces]


def camera_info(message: Any) -> list[MessagePart]:
    """The calibration of a camera, as a fact: it is said again with every picture."""
    facts: dict[str, Any] = {
        "frame": frame_of(message),
        **{name: int(getattr(message, name)) for name in ("width", "height")},
        "distortion_model": str(message.distortion_model),
    }
    for name in "dkrp":
        # ROS 1 writes the matrices in capitals.
        values = getattr(message, name, None)
        values = getattr(message, name.upper()) if values is None else values
        facts[name] = [float(value) for value in values]
    text = json.dumps(facts, ensure_ascii=False)
    return [replace(text_piece("", text, on_change=True), fact=CAMERA_INFO, is_event=True)]


def quaternion(message: Any) -> list[MessagePart]:
    """A rotation, w first."""
    turned = _wxyz(getattr(message, "quaternion", message))
    names = roles.QUATERNION
    return [array_piece("", turned, components=names, frame=frame_of(message))]


def text(message: Any) -> list[MessagePart]:
    """The string; what its topic says of it decides whether it is an instruction."""
    return [text_piece("", message.data)]


def text_piece(suffix: str, value: str, *, on_change: bool = False) -> MessagePart:
    """A piece of text, without the NUL characters that an episode cannot hold."""
    clean = value.replace("\0", "")
    return MessagePart(suffix, clean, kind="text", dtype="uint8", on_change=on_change)


def scalar(dtype: str) -> Callable[[Any], list[MessagePart]]:
    """The converter of a std_msgs number."""
    return lambda message: [array_piece("", np.asarray(message.data, dtype))]


def multi_array(dtype: str) -> Callable[[Any], list[MessagePart]]:
    """The converter of a std_msgs array, in the shape that its layout states, if that fits."""

    def convert(message: Any) -> list[MessagePart]:
        values = np.asarray(message.data, dtype)
        sizes = tuple(int(entry.size) for entry in message.layout.dim)
        if not values.size:
            raise NotMappedError("the array is empty")
        if sizes and 0 not in sizes and int(np.prod(sizes)) == values.size and len(sizes) <= 8:
            values = values.reshape(sizes)
        return [array_piece("", values)]

    return convert


def field_names(message: Any) -> list[str]:
    """The fields of a message in the order of its definition."""
    if isinstance(message, SimpleNamespace):
        return list(vars(message))
    # Constants of the definition have defaults; ROS 2 fills a type without fields with a byte.
    return [
        entry.name
        for entry in fields(message)
        if entry.default is MISSING and entry.name != "structure_needs_at_least_one_member"
    ]


def _body(message: Any, name: str) -> Any:
    """What a stamped message wraps; one without a header is the thing itself."""
    return getattr(message, name) if hasattr(message, "header") else message


def _xyz(vector: Any) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z


def _wxyz(rotation: Any) -> tuple[float, float, float, float]:
    return rotation.w, rotation.x, rotation.y, rotation.z


def _placed(frame: str | None) -> tuple[str | None, Group | None]:
    """A pose in a frame fixed to the room belongs to debug: a deployed robot does not have it."""
    return frame, "debug" if frame in WORLD_FRAMES else None


def _covariance(values: Any) -> MessagePart:
    return array_piece("covariance", np.ravel(values), group="debug", on_change=True)


def _pose_pieces(suffix: str, outer: Any, frame: str | None) -> list[MessagePart]:
    inner = getattr(outer, "pose", outer)
    values = [*_xyz(inner.position), *_wxyz(inner.orientation)]
    frame, group = _placed(frame)
    pieces = [
        array_piece(suffix, values, roles.POSE_UNITS, components=roles.POSE, frame=frame,
                    group=group)
    ]  # fmt: skip
    return _with_covariance(pieces, suffix, outer)


def _twist_pieces(suffix: str, outer: Any, frame: str | None) -> list[MessagePart]:
    inner = getattr(outer, "twist", outer)
    values = [*_xyz(inner.linear), *_xyz(inner.angular)]
    names = ("vx", "vy", "vz", "wx", "wy", "wz")
    units = ("m/s",) * 3 + ("rad/s",) * 3
    pieces = [array_piece(suffix, values, units, components=names, frame=frame)]
    return _with_covariance(pieces, suffix, outer)


def _with_covariance(pieces: list[MessagePart], suffix: str, outer: Any) -> list[MessagePart]:
    if not hasattr(outer, "covariance"):
        return pieces
    name = "_".join(part for part in (suffix, "covariance") if part)
    values = np.ravel(outer.covariance)
    return [*pieces, array_piece(name, values, group="debug", on_change=True)]


def _replace_group(piece: MessagePart) -> MessagePart:
    return replace(piece, group="debug")
