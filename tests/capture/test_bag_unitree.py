"""Bags of Unitree's humanoids: motors become joints, and what is said once becomes facts."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from corporeal.capture.ros.idl import zero_message
from corporeal.capture.ros.survey import describe_bag, samples_of, survey
from corporeal.capture.ros.unitree import DEFINITIONS
from corporeal.dds.unitree_message import G1_MOTORS, read_low_cmd, read_low_state
from corporeal.embodiment import open_robot
from corporeal.interface import open_dataset

SECOND = 10**9
EPOCH = 1_700_000_000 * SECOND
STORE = get_typestore(Stores.LATEST)
for _name, _text in DEFINITIONS.items():
    STORE.register(dict(get_types_from_msg(_text, _name)))
_LATCHED = Qos(
    QosHistory.KEEP_LAST, 1, QosReliability.RELIABLE, QosDurability.TRANSIENT_LOCAL,
    QosTime(0, 0), QosTime(0, 0), QosLiveliness.AUTOMATIC, QosTime(0, 0), False,
)  # fmt: skip
URDF = '<?xml version="1.0"?>\n<robot name="g1_29dof"><link name="pelvis"/></robot>'
STEPS = 400


def _low_state(family: str, number: int, motors: int) -> Any:
    message = zero_message(f"unitree_{family}/msg/LowState")
    message.tick = 5_000 + 2 * number
    for place, motor in enumerate(message.motor_state[:motors]):
        motor.q, motor.dq, motor.tau_est = 0.01 * place + number / 1e3, 0.1 * place, 1.0 * place
    imu = message.imu_state
    imu.quaternion = np.array([1, 0, 0, 0], np.float32)
    imu.accelerometer = np.array([0, 0, 9.81], np.float32)
    return message


def _low_cmd(family: str, motors: int) -> Any:
    message = zero_message(f"unitree_{family}/msg/LowCmd")
    for place, motor in enumerate(message.motor_cmd[:motors]):
        motor.q, motor.kp, motor.kd = 0.01 * place, 40.0, 1.0
    return message


def _write(path: Path, family: str = "hg", motors: int = 29, *, state_steps: int = STEPS) -> Path:
    """A robot at 500 Hz, its commands at 100 Hz, odometry, a camera, documents said once."""
    kinds = {
        "/lowstate": f"unitree_{family}/msg/LowState", "/lowcmd": f"unitree_{family}/msg/LowCmd",
        "/odom": "nav_msgs/msg/Odometry", "/camera/camera_info": "sensor_msgs/msg/CameraInfo",
        "/robot_description": "std_msgs/msg/String", "/task/instruction": "std_msgs/msg/String",
        "/camera_odom": "nav_msgs/msg/Odometry",
    }  # fmt: skip
    latched = ("/robot_description", "/task/instruction")
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        channels = {
            topic: writer.add_connection(
                topic, kind, typestore=STORE,
                offered_qos_profiles=[_LATCHED] if topic in latched else [],
            )
            for topic, kind in kinds.items()
        }  # fmt: skip

        def put(topic: str, log_ns: int, message: Any) -> None:
            writer.write(channels[topic], log_ns, STORE.serialize_cdr(message, kinds[topic]))

        for topic, text in ((latched[0], URDF), (latched[1], "put the cup on the shelf")):
            put(topic, EPOCH, _string(text))
        for number in range(state_steps):
            log_ns = EPOCH + number * SECOND // 500
            put("/lowstate", log_ns, _low_state(family, number, motors))
            if number % 5 == 0:
                put("/lowcmd", log_ns, _low_cmd(family, motors))
                put("/odom", log_ns, _odometry(log_ns, "pelvis", number))
                put("/camera_odom", log_ns, _odometry(log_ns, "camera_link", number))
                put("/camera/camera_info", log_ns, _camera(log_ns))
    return path


def _string(text: str) -> Any:
    message = zero_message("std_msgs/msg/String")
    message.data = text
    return message


def _odometry(log_ns: int, child: str, number: int) -> Any:
    message = zero_message("nav_msgs/msg/Odometry")
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(log_ns, SECOND)
    message.header.frame_id, message.child_frame_id = "odom", child
    message.pose.pose.position.x, message.pose.pose.position.z = number / 1e3, 0.79
    message.pose.pose.orientation.w = 1.0
    message.twist.twist.linear.x = 0.5
    return message


def _camera(log_ns: int) -> Any:
    message = zero_message("sensor_msgs/msg/CameraInfo")
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(log_ns, SECOND)
    message.header.frame_id = "head_camera"
    message.width, message.height, message.distortion_model = 640, 480, "plumb_bob"
    message.k = np.array([600, 0, 320, 0, 600, 240, 0, 0, 1], np.float64)
    message.d = np.array([0.1, 0.0, 0.0, 0.0, 0.0])
    return message


def test_definitions_are_those_that_the_robot_speaks() -> None:
    state = STORE.serialize_cdr(_low_state("hg", 3, 29), "unitree_hg/msg/LowState")
    record = read_low_state(bytes(state))
    assert record["tick"] == 5_006
    np.testing.assert_allclose(record["motor_state"]["tau_est"][:29], np.arange(29))
    command = read_low_cmd(bytes(STORE.serialize_cdr(_low_cmd("hg", 29), "unitree_hg/msg/LowCmd")))
    np.testing.assert_allclose(command["motor_cmd"]["kp"][:29], 40.0)


def test_motors_of_a_g1_are_its_joints_and_its_commands_are_actions(tmp_path: Path) -> None:
    path = _write(tmp_path / "bag")
    robot = open_robot("g1")
    streams = {stream.path: stream for stream in describe_bag(path, robot="g1").schema.streams}
    for role, unit in (("joint_position", "rad"), ("joint_velocity", "rad/s"),
                       ("joint_torque", "N m")):  # fmt: skip
        stream = streams[f"observations/{role}"]
        assert (stream.names, stream.unit) == (robot.joint_names, unit)
    for role in ("joint_position_target", "joint_velocity_target", "joint_torque_target",
                 "joint_stiffness", "joint_damping"):  # fmt: skip
        assert streams[f"actions/{role}"].names == robot.joint_names
    assert streams["observations/pelvis_imu"].frame == "imu_in_pelvis"
    assert streams["observations/pelvis_orientation"].shape == (4,)
    found = survey(path, robot="g1")
    torques = [sample for sample in samples_of(found) if sample.stream.endswith("joint_torque")]
    expected = [float(G1_MOTORS.index(name)) for name in robot.joint_names]
    assert torques[0].value.tolist() == expected
    # The robot's own count of milliseconds, not the time at which the bag was written.
    assert np.unique(np.diff([sample.source_ns for sample in torques])).tolist() == [2_000_000]
    assert not found.ledger.not_taken
    assert not any("keep their numbers" in problem for problem in found.problems)


def test_the_order_of_motors_follows_the_robot(tmp_path: Path) -> None:
    path = _write(tmp_path / "bag", "go", 20)
    robot = open_robot("h1")
    found = survey(path, robot="h1")
    (torque,) = [fit for fit in found.fits.values() if fit.stream.name == "joint_torque"]
    assert torque.stream.names == robot.joint_names
    first = next(each for each in samples_of(found) if each.stream.endswith("joint_torque"))
    by_joint = dict(zip(robot.joint_names, first.value.tolist(), strict=True))
    assert (by_joint["right_hip_roll_joint"], by_joint["torso_joint"]) == (0.0, 6.0)
    assert (by_joint["left_ankle_joint"], by_joint["left_elbow_joint"]) == (10.0, 19.0)
    # The place that has no motor said something, which is told.
    item = next(item for item in found.ledger.items if item.name == "/lowstate")
    assert "motor 9" in (item.reason or "")


def test_motors_keep_their_numbers_where_the_robot_is_not_known(tmp_path: Path) -> None:
    path = _write(tmp_path / "bag")
    for robot in (None, "gr1"):
        rig = describe_bag(path, robot=robot)
        assert any("keep their numbers" in problem for problem in rig.problems)
        streams = {stream.path: stream for stream in rig.schema.streams}
        motors = next(each for each in streams.values() if each.names[:1] == ("motor_0",))
        assert motors.shape == (35,)


def test_a_bag_without_definitions_is_read_by_the_public_ones(tmp_path: Path) -> None:
    path = tmp_path / "old.db3"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name, type, "
                         "serialization_format)")  # fmt: skip
        database.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data)")
        kind = "unitree_go/msg/LowState"
        database.execute("INSERT INTO topics VALUES(1, '/lowstate', ?, 'cdr')", (kind,))
        for number in range(30):
            data = bytes(STORE.serialize_cdr(_low_state("go", number, 20), kind))
            row = (1, EPOCH + number * 2_000_000, data)
            database.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES(?,?,?)", row)
    database.close()
    streams = {stream.path for stream in describe_bag(path, robot="h1").schema.streams}
    assert "observations/joint_position" in streams
    assert "debug/lowstate_status" in streams


def test_odometry_of_the_base_is_its_pose_and_velocity(tmp_path: Path) -> None:
    path = _write(tmp_path / "bag", state_steps=100)
    streams = {stream.path: stream for stream in describe_bag(path, robot="g1").schema.streams}
    assert streams["debug/base_pose"].frame == "odom"
    assert streams["debug/base_velocity"].frame == "pelvis"
    assert streams["debug/camera_odom_pose"].frame == "odom"


def test_what_is_said_once_is_a_fact_and_no_sensor(tmp_path: Path) -> None:
    path = _write(tmp_path / "bag", state_steps=100)
    rig = describe_bag(path, robot="g1")
    streams = {stream.path: stream for stream in rig.schema.streams}
    camera = rig.metadata["camera_info"]["/camera/camera_info"]
    assert (camera["width"], camera["k"][0], camera["frame"]) == (640, 600.0, "head_camera")
    assert rig.metadata["robot_description"]["/robot_description"]["robot"] == "g1_29dof"
    assert rig.metadata["instruction"] == "put the cup on the shelf"
    assert streams["debug/robot_description"].kind == "text"
    assert streams["observations/instruction"].rate_hz is None
    assert not any("camera_info" in path for path in streams)
    assert not any("/camera" in problem or "description" in problem for problem in rig.problems)
    dataset = open_dataset(path, robot="g1")
    assert dataset.open(0).facts.instruction == "put the cup on the shelf"


@pytest.mark.parametrize("changes", [False, True])
def test_a_calibration_that_changes_is_told(tmp_path: Path, changes: bool) -> None:
    path = tmp_path / "bag"
    kind = "sensor_msgs/msg/CameraInfo"
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        channel = writer.add_connection("/camera_info", kind, typestore=STORE)
        words = writer.add_connection("/words", "std_msgs/msg/String", typestore=STORE)
        for number in range(4):
            log_ns = EPOCH + number * SECOND
            message = _camera(log_ns)
            message.k[0] += number * changes
            writer.write(channel, log_ns, STORE.serialize_cdr(message, kind))
            text = STORE.serialize_cdr(_string("hello"), "std_msgs/msg/String")
            writer.write(words, log_ns, text)
    item = next(item for item in survey(path).ledger.items if item.name == "/camera_info")
    assert item.taken_as == ("metadata/camera_info",)
    expected = "camera_info /camera_info changes 3 times; the last is kept" if changes else None
    assert item.reason == expected


def test_a_counter_that_stands_still_is_no_clock() -> None:
    from corporeal.capture.ros.timing import judge

    log = np.arange(10, dtype=np.int64) * SECOND + EPOCH
    timing = judge("/lowstate", log, np.full(10, 7_000_000))
    assert not timing.uses_header
    assert timing.problems == (
        "Topic /lowstate: all 10 stamps are the same; bag time stands in for them.",
    )
    assert timing.stamp(7_000_000, int(log[3])) == log[3]
