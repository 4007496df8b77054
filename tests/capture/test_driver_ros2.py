"""Live ROS 2 topics are read over real DDS without ROS, and through rclpy where that is."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from corporeal.capture.driver import Driver, DriverError, Rig, Sample, drivers, parse_options
from corporeal.capture.drivers import ros2
from corporeal.capture.ros.idl import (
    dds_topic,
    dds_type,
    dds_type_name,
    ros_topic,
    ros_type_name,
    zero_message,
)
from corporeal.capture.ros.topic import RosTopic, parse_topic

pytest.importorskip("cyclonedds", reason="the live extra is not installed")
PUBLISHER = Path(__file__).with_name("ros2_publisher.py")
HAS_LO = "lo" in [name for _, name in socket.if_nameindex()]
needs_loopback = pytest.mark.skipif(not HAS_LO, reason="no loopback interface called lo")
STORE = get_typestore(Stores.LATEST)


@pytest.fixture
def driver() -> Iterator[Driver]:
    ros2._plan.cache_clear()
    yield drivers()["ros2"]
    ros2._plan.cache_clear()


@contextmanager
def _nodes(domain: int, seconds: float) -> Iterator[None]:
    """A publisher process, ended by its id whatever happens."""
    process = subprocess.Popen([sys.executable, str(PUBLISHER), str(domain), str(seconds)])
    try:
        yield
    finally:
        process.kill()
        process.wait(timeout=10)


def _described(driver: Driver, options: Any) -> Rig:
    """The rig as soon as every topic of the publisher is heard, which may start slowly."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        ros2._plan.cache_clear()
        with suppress(DriverError):
            rig = driver.describe(options)
            if len(rig.schema.streams) >= 8:
                return rig
    pytest.fail("the publisher was not heard")


def _as_dds(message: Any, kind: str) -> Any:
    """A message of rosbags as one of CycloneDDS."""
    values = {}
    for name in dds_type(kind).__annotations__:
        value = getattr(message, name)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        inner = getattr(value, "__msgtype__", None)
        values[name] = _as_dds(value, inner) if inner else value
    return dds_type(kind)(**values)


def _filled(kind: str) -> Any:
    message = zero_message(kind)
    if hasattr(message, "header"):
        message.header.stamp.sec, message.header.stamp.nanosec = 12, 345
        message.header.frame_id = "odd"
    if kind == "sensor_msgs/msg/JointState":
        message.name = ["hip", "left_knee"]
        message.position, message.effort = np.array([0.5, -1.5]), np.array([3.0, 4.0])
    if kind == "sensor_msgs/msg/Image":
        message.height, message.width, message.encoding, message.step = 1, 3, "rgb8", 9
        message.data = np.arange(9, dtype=np.uint8)
    if kind == "sensor_msgs/msg/CompressedImage":
        message.format, message.data = "jpeg", np.arange(5, dtype=np.uint8)
    if kind == "std_msgs/msg/String":
        message.data = "pick up the box"
    return message


@pytest.mark.parametrize(
    "kind",
    [
        "sensor_msgs/msg/JointState", "sensor_msgs/msg/Imu", "sensor_msgs/msg/Image",
        "sensor_msgs/msg/CompressedImage", "geometry_msgs/msg/WrenchStamped",
        "std_msgs/msg/String", "nav_msgs/msg/Odometry",
    ],
)  # fmt: skip
def test_the_bytes_on_the_wire_are_those_of_ros(kind: str) -> None:
    message = _filled(kind)
    assert _as_dds(message, kind).serialize() == bytes(STORE.serialize_cdr(message, kind))


def test_topics_and_types_have_their_names_on_dds() -> None:
    assert dds_topic("/camera/image_raw") == "rt/camera/image_raw"
    assert ros_topic("rt/camera/image_raw") == "/camera/image_raw"
    assert ros_topic("rq/add_two_intsRequest") is None
    assert dds_type_name("sensor_msgs/Imu") == "sensor_msgs::msg::dds_::Imu_"
    assert ros_type_name("sensor_msgs::msg::dds_::Imu_") == "sensor_msgs/msg/Imu"
    assert ros_type_name("unitree_hg::LowState_") is None
    assert dds_type("sensor_msgs/msg/Imu").__idl_typename__ == "sensor_msgs::msg::dds_::Imu_"


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("imu", RosTopic("/imu")),
        ("/a/b@50", RosTopic("/a/b", rate_hz=50)),
        ("/imu:sensor_msgs/Imu", RosTopic("/imu", "sensor_msgs/msg/Imu")),
        ("/c:sensor_msgs/msg/Image:480x640@30",
         RosTopic("/c", "sensor_msgs/msg/Image", (480, 640), 30.0)),
    ],
)  # fmt: skip
def test_a_topic_is_written_with_what_is_known(text: str, topic: RosTopic) -> None:
    assert parse_topic(text) == topic


@pytest.mark.parametrize("text", ["", "/a b", "/a:Imu", "/a:sensor_msgs/msg/Image:4by6", "/a@fast"])
def test_a_topic_written_wrongly_is_refused(text: str) -> None:
    with pytest.raises(DriverError, match=r"expected NAME\[:TYPE"):
        parse_topic(text)


def test_what_is_stated_needs_no_network(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ros2, "_open", lambda *_: pytest.fail("the network was opened"))
    topics = [
        "/imu:sensor_msgs/msg/Imu@200",
        "/joint_states:sensor_msgs/msg/JointState@100",
        "/head:sensor_msgs/msg/Image:480x640@30",
        "/say:std_msgs/msg/String",
        "/wrench:geometry_msgs/msg/WrenchStamped@500",
    ]
    rig = driver.describe(parse_options(driver, {"topics": topics, "robot": "g1"}))
    found = {stream.path: (stream.shape, stream.rate_hz) for stream in rig.schema.streams}
    assert found["observations/body_imu"] == ((6,), 200.0)
    assert found["observations/joint_position"] == ((29,), 100.0)
    assert found["observations/head"] == ((480, 640, 3), 30.0)
    assert found["observations/say"] == ((), None)
    assert found["observations/body_wrench"] == ((6,), 500.0)
    assert rig.source("observations/say") == "sender"
    assert rig.source("observations/body_imu") == "robot"


def test_a_type_without_public_definition_is_a_problem(driver: Driver) -> None:
    topics = ["/imu:sensor_msgs/msg/Imu", "/secret:acme/msg/Secret"]
    rig = driver.describe(parse_options(driver, {"topics": topics, "listen_s": 0.2, "domain": 129}))
    assert any("/secret" in text and "no public definition" in text for text in rig.problems)


@pytest.mark.slow
@pytest.mark.alone
@needs_loopback
def test_topics_of_another_process_are_discovered_and_read(driver: Driver) -> None:
    options = parse_options(driver, {"domain": 125, "listen_s": 0.7, "give_up_s": 20.0})
    with _nodes(125, 60.0):
        rig = _described(driver, options)
        live = driver.read(options)
        items = [item for item in islice(live, 600) if isinstance(item, Sample)]
        live.close()  # type: ignore[attr-defined]
    counts = Counter(item.stream for item in items)
    streams = {stream.path: stream for stream in rig.schema.streams}
    assert streams["observations/joint_position"].rate_hz == 100.0
    assert "observations/imu_orientation" not in streams
    for name in (
        "joint_position", "joint_torque", "body_imu", "camera_image_raw", "wrist_wrench",
        "instruction",
    ):  # fmt: skip
        assert counts[f"observations/{name}"] > 50
    order = streams["observations/joint_position"].components
    assert order is not None
    assert any("another order" in text for text in rig.problems)
    last = {item.stream: item for item in items}
    number = (last["observations/joint_position"].source_ns - 1000 * 10**9) // 10**7
    shown = (last["observations/camera_image_raw"].source_ns - 1000 * 10**9) // 10**7
    place = [["hip", "knee", "ankle"].index(name) for name in order]
    expected = (np.array([0.1, 0.2, 0.3]) + number)[place]
    np.testing.assert_allclose(last["observations/joint_position"].value, expected)
    picture = last["observations/camera_image_raw"].value
    assert (picture[..., 2] == shown % 256).all()
    assert abs(int(last["observations/instruction"].value.removeprefix("line ")) - number) < 3


@pytest.mark.slow
@needs_loopback
def test_a_silent_topic_of_unknown_shape_is_a_problem(driver: Driver) -> None:
    topics = ["/camera:sensor_msgs/msg/Image", "/imu:sensor_msgs/msg/Imu", "/who"]
    options = parse_options(driver, {"domain": 126, "listen_s": 0.3, "topics": topics})
    rig = driver.describe(options)
    assert any("/camera: silent" in text for text in rig.problems)
    assert any("/who: nobody publishes it" in text for text in rig.problems)
    assert rig.schema.streams[0].path == "observations/body_imu"
    with pytest.raises(DriverError, match="nothing that a stream can hold"):
        driver.describe(parse_options(driver, {"domain": 127, "listen_s": 0.3}))


@pytest.mark.slow
@needs_loopback
def test_joints_that_nobody_announced_are_complained_of(driver: Driver) -> None:
    topics = ["/joint_states:sensor_msgs/msg/JointState"]
    values = {"domain": 128, "topics": topics, "robot": "g1", "give_up_s": 20.0}
    items = driver.read(parse_options(driver, values))
    with _nodes(128, 60.0):
        first = next(items)
        items.close()  # type: ignore[attr-defined]
    assert isinstance(first, Sample)
    assert first.stream == "debug/source_problems"
    assert "a set of 3 joints that was not there at the start" in first.value


def test_without_ros_rclpy_is_advised(driver: Driver) -> None:
    with pytest.raises(DriverError, match="Source its setup file first, or use route=dds"):
        driver.describe(parse_options(driver, {"route": "rclpy", "listen_s": 0.1}))


def test_the_rclpy_route_reads_the_same_bytes(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "sensor_msgs/msg/JointState"
    data = bytes(STORE.serialize_cdr(_filled(kind), kind))
    calls: list[str] = []

    def create_subscription(message: str, topic: str, receive: Any, qos: Any, raw: bool) -> None:
        assert (message, topic, raw) == (kind, "/joint_states", True)
        waiting.append(receive)

    waiting: list[Any] = []
    node = SimpleNamespace(
        create_subscription=create_subscription,
        destroy_node=lambda: calls.append("destroyed"),
        get_topic_names_and_types=lambda: [("/joint_states", [kind])],
    )
    fakes: dict[str, dict[str, Any]] = {
        "rclpy": {
            "Context": object, "init": lambda **_: None, "create_node": lambda *_, **__: node,
            "spin_once": lambda *_, **__: [receive(data) for receive in waiting],
            "shutdown": lambda **_: calls.append("shut down"),
        },
        "rclpy.qos": {
            "QoSProfile": lambda **_: None,
            "ReliabilityPolicy": SimpleNamespace(BEST_EFFORT=1, RELIABLE=2),
            "DurabilityPolicy": SimpleNamespace(VOLATILE=1, TRANSIENT_LOCAL=2),
        },
        "rosidl_runtime_py.utilities": {"get_message": lambda name: name},
    }  # fmt: skip
    for name, members in fakes.items():
        module = ModuleType(name)
        for member, value in members.items():
            setattr(module, member, value)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "rosidl_runtime_py", ModuleType("rosidl_runtime_py"))
    options = parse_options(driver, {"route": "rclpy", "listen_s": 0.3})
    assert driver.describe(options).schema.stream("observations/joint_position")
    waiting.clear()
    items = driver.read(options)
    first = next(items)
    assert isinstance(first, Sample)
    assert first.source_ns == 12 * 10**9 + 345
    np.testing.assert_array_equal(first.value, [0.5, -1.5])
    items.close()  # type: ignore[attr-defined]
    assert calls[-2:] == ["destroyed", "shut down"]
