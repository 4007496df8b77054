"""Takes as bags: ROS 1, sqlite and MCAP, with joint states, commands, an IMU and a camera."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

from bench.detection.field.take import ACTION, IMU, STATE, TORQUE, VELOCITY, Take, Times
from corporeal.units import SECOND_NS

Kind = Literal["bag", "db3", "mcap"]
EPOCH_NS = 1_790_000_000 * SECOND_NS
TRANSPORT_NS = 1_500_000
"""A message reaches the writer of the bag so long after its stamp."""
_JOINTS, _INERTIAL = "sensor_msgs/msg/JointState", "sensor_msgs/msg/Imu"
_PICTURE = "sensor_msgs/msg/CompressedImage"
TOPICS = {STATE: "/joint_states", ACTION: "/joint_command", IMU: "/pelvis_imu/data"}
_CAMERA_TOPIC = "/{}/image_raw/compressed"


@dataclass(frozen=True, eq=False)
class _Message:
    topic: str
    kind: str
    stamp_ns: int
    content: Any


def write_bags(
    folder: Path, takes: Sequence[Take], unchanged: Mapping[int, Path], *, kind: Kind
) -> list[Path]:
    """One bag per take."""
    folder.mkdir(parents=True)
    paths = []
    for number, take in enumerate(takes):
        if number in unchanged:
            paths.append(unchanged[number])
            continue
        path = folder / f"take_{number:02d}{'.bag' if kind == 'bag' else ''}"
        messages = sorted(_messages(take, kind), key=lambda each: each.stamp_ns)
        _write_ros1(path, messages) if kind == "bag" else _write_ros2(path, messages, kind)
        paths.append(path)
    return paths


write_ros1 = partial(write_bags, kind="bag")
write_db3 = partial(write_bags, kind="db3")
write_mcap = partial(write_bags, kind="mcap")


def _store(kind: Kind) -> Any:
    return get_typestore(Stores.ROS1_NOETIC if kind == "bag" else Stores.ROS2_HUMBLE)


def _header(types: Any, stamp_ns: int, frame: str, number: int) -> Any:
    stamp = types["builtin_interfaces/msg/Time"](
        sec=int(stamp_ns // SECOND_NS), nanosec=int(stamp_ns % SECOND_NS)
    )
    fields = {"stamp": stamp, "frame_id": frame}
    if "seq" in types["std_msgs/msg/Header"].__dataclass_fields__:
        fields["seq"] = number
    return types["std_msgs/msg/Header"](**fields)


def _messages(take: Take, kind: Kind) -> Iterator[_Message]:
    types = _store(kind).types
    yield from _joint_messages(types, take)
    if IMU in take.channels:
        yield from _imu_messages(types, take)
    for camera, film in take.films.items():
        for number, (time_ns, picture) in enumerate(
            zip(film.time_ns, film.pictures(), strict=False)
        ):
            stamp = EPOCH_NS + int(time_ns)
            data = BytesIO()
            Image.fromarray(picture).save(data, "JPEG", quality=85)
            content = types[_PICTURE](
                header=_header(types, stamp, camera, number),
                format="jpeg",
                data=np.frombuffer(data.getvalue(), np.uint8),
            )
            yield _Message(_CAMERA_TOPIC.format(camera), _PICTURE, stamp, content)


def _joint_messages(types: Any, take: Take) -> Iterator[_Message]:
    empty = np.zeros(0)
    for key in (STATE, ACTION):
        channel = take.channel(key)
        beside = [take.channels.get(other) for other in (VELOCITY, TORQUE)]
        for number, (time_ns, row) in enumerate(zip(channel.time_ns, channel.values, strict=True)):
            stamp = EPOCH_NS + int(time_ns)
            velocity, effort = (
                empty if other is None or key == ACTION else other.values[number]
                for other in beside
            )
            content = types[_JOINTS](
                header=_header(types, stamp, "", number),
                name=list(channel.names),
                position=row,
                velocity=velocity,
                effort=effort,
            )
            yield _Message(TOPICS[key], _JOINTS, stamp, content)


def _arrivals(stamps: Times) -> Times:
    """When messages arrive: the recorder's clock goes on where the sensor's is set back."""
    steps = np.diff(stamps)
    steps[steps <= 0] = int(np.median(steps))
    return np.concatenate((stamps[:1], stamps[0] + np.cumsum(steps)))


def _imu_messages(types: Any, take: Take) -> Iterator[_Message]:
    channel = take.channel(IMU)
    vector = types["geometry_msgs/msg/Vector3"]
    unknown = np.zeros(9)
    unknown[0] = -1
    arrivals = _arrivals(channel.time_ns)
    for number, (time_ns, row) in enumerate(zip(channel.time_ns, channel.values, strict=True)):
        stamp = EPOCH_NS + int(time_ns)
        content = types[_INERTIAL](
            header=_header(types, stamp, "imu_in_pelvis", number),
            orientation=types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0),
            orientation_covariance=unknown,
            angular_velocity=vector(*map(float, row[3:6])),
            angular_velocity_covariance=np.zeros(9),
            linear_acceleration=vector(*map(float, row[:3])),
            linear_acceleration_covariance=np.zeros(9),
        )
        yield _Message(TOPICS[IMU], _INERTIAL, EPOCH_NS + int(arrivals[number]), content)


def _write_ros1(path: Path, messages: Sequence[_Message]) -> None:
    store = _store("bag")
    with Writer1(path) as writer:
        kinds = {each.topic: each.kind for each in messages}
        links = {
            topic: writer.add_connection(topic, kind, typestore=store)
            for topic, kind in kinds.items()
        }
        for each in messages:
            data = store.serialize_ros1(each.content, each.kind)
            writer.write(links[each.topic], each.stamp_ns + TRANSPORT_NS, data)


def _write_ros2(path: Path, messages: Sequence[_Message], kind: Kind) -> None:
    store = _store(kind)
    plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
    with Writer2(path, version=9, storage_plugin=plugin) as writer:
        kinds = {each.topic: each.kind for each in messages}
        links = {
            topic: writer.add_connection(topic, name, typestore=store)
            for topic, name in kinds.items()
        }
        for each in messages:
            data = store.serialize_cdr(each.content, each.kind)
            writer.write(links[each.topic], each.stamp_ns + TRANSPORT_NS, data)
