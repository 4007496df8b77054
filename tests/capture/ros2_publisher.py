"""A process that publishes like ROS 2 nodes on loopback: python ros2_publisher.py DOMAIN S."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from corporeal.capture.ros.idl import dds_topic, dds_type
from corporeal.dds.link import configuration

RATE_HZ = 100


def header(number: int, frame: str) -> Any:
    """A header stamped 10 ms apart from 1000 s on."""
    nanoseconds = 1000 * 10**9 + number * 10**9 // RATE_HZ
    stamp = dds_type("builtin_interfaces/msg/Time")(
        sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9
    )
    return dds_type("std_msgs/msg/Header")(stamp=stamp, frame_id=frame)


def vector(x: float, y: float, z: float) -> Any:
    """A Vector3."""
    return dds_type("geometry_msgs/msg/Vector3")(x=x, y=y, z=z)


def joint_state(number: int) -> Any:
    """Three joints; every other message names them in another order."""
    names, values = ["hip", "knee", "ankle"], [number + 0.1, number + 0.2, number + 0.3]
    if number % 2:
        names, values = names[::-1], values[::-1]
    return dds_type("sensor_msgs/msg/JointState")(
        header=header(number, ""), name=names, position=values, velocity=[], effort=[0.0, 1.0, 2.0]
    )


def imu(number: int) -> Any:
    """A sensor without orientation, which it says by its covariance."""
    turned = dds_type("geometry_msgs/msg/Quaternion")(x=0.0, y=0.0, z=0.0, w=1.0)
    return dds_type("sensor_msgs/msg/Imu")(
        header=header(number, "imu_link"), orientation=turned,
        orientation_covariance=[-1.0, *[0.0] * 8], angular_velocity=vector(0.1, 0.2, float(number)),
        angular_velocity_covariance=[0.0] * 9, linear_acceleration=vector(0.0, 0.0, 9.81),
        linear_acceleration_covariance=[0.0] * 9,
    )  # fmt: skip


def picture(number: int) -> Any:
    """A small BGR picture whose blue is the message's number."""
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[..., 0] = number % 256
    return dds_type("sensor_msgs/msg/Image")(
        header=header(number, "camera"), height=4, width=6, encoding="bgr8", is_bigendian=0,
        step=18, data=list(pixels.tobytes()),
    )  # fmt: skip


def wrench(number: int) -> Any:
    """A force that grows."""
    inner = dds_type("geometry_msgs/msg/Wrench")(
        force=vector(float(number), 0.0, 0.0), torque=vector(0.0, 0.0, 0.5)
    )
    return dds_type("geometry_msgs/msg/WrenchStamped")(header=header(number, "tool"), wrench=inner)


def text(number: int) -> Any:
    """A line of text."""
    return dds_type("std_msgs/msg/String")(data=f"line {number}")


TOPICS = {
    "/joint_states": ("sensor_msgs/msg/JointState", joint_state),
    "/imu": ("sensor_msgs/msg/Imu", imu),
    "/camera/image_raw": ("sensor_msgs/msg/Image", picture),
    "/wrist/wrench": ("geometry_msgs/msg/WrenchStamped", wrench),
    "/instruction": ("std_msgs/msg/String", text),
}


def main() -> None:
    """Publish every topic for some seconds."""
    domain, seconds = int(sys.argv[1]), float(sys.argv[2])
    settings = Domain(domain, configuration("lo"))
    participant = DomainParticipant(domain)
    # What ROS 2 nodes offer by default.
    qos = Qos(Policy.Reliability.Reliable(duration(milliseconds=100)), Policy.History.KeepLast(10))
    writers = []
    for name, (kind, make) in TOPICS.items():
        topic = Topic(participant, dds_topic(name), dds_type(kind))
        writers.append((DataWriter(participant, topic, qos=qos), make))
    begin = time.monotonic()
    for number in range(round(seconds * RATE_HZ)):
        time.sleep(max(0.0, begin + number / RATE_HZ - time.monotonic()))
        for writer, make in writers:
            writer.write(make(number))
    del writers, participant, settings


if __name__ == "__main__":
    main()
