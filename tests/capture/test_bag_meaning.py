"""What a bag holds is told from types, joints and the robot, so that the checks of joints run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

import corporeal
from corporeal.capture.ros.idl import zero_message
from corporeal.capture.ros.survey import describe_bag, survey
from corporeal.embodiment import open_robot

SECOND = 10**9
EPOCH = 1_700_000_000 * SECOND
STORE = get_typestore(Stores.LATEST)
JOINTS = "sensor_msgs/msg/JointState"


def _write_bag(path: Path, *, factor: float = 1.0, names: tuple[str, ...] | None = None) -> Path:
    """Six seconds of a G1 that swings all joints, with commands, IMU, transforms and logs."""
    robot = open_robot("g1")
    joints = {joint.name: joint for joint in robot.actuated}
    names = names or robot.joint_names
    low = np.array([joints[name].lower or -1.0 for name in robot.joint_names])
    high = np.array([joints[name].upper or 1.0 for name in robot.joint_names])
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        kinds = {
            "/joint_states": JOINTS, "/arm_controller/commands": JOINTS,
            "/imu/data": "sensor_msgs/msg/Imu", "/tf": "tf2_msgs/msg/TFMessage",
            "/tf_static": "tf2_msgs/msg/TFMessage", "/rosout": "rcl_interfaces/msg/Log",
        }  # fmt: skip
        channels = {
            topic: writer.add_connection(topic, kind, typestore=STORE)
            for topic, kind in kinds.items()
        }

        def put(topic: str, log_ns: int, message: object) -> None:
            data = STORE.serialize_cdr(message, kinds[topic])
            writer.write(channels[topic], log_ns, data)

        for number in range(600):
            seconds = number / 100
            time_ns = EPOCH + number * SECOND // 100
            for topic, late_s in (("/joint_states", 0.03), ("/arm_controller/commands", 0.0)):
                phase = 2 * np.pi * 0.4 * (seconds - late_s) + np.arange(len(low))
                message = zero_message(JOINTS)
                message.header.stamp.sec, message.header.stamp.nanosec = divmod(time_ns, SECOND)
                message.name = list(names)
                middle, reach = (low + high) / 2, 0.3 * (high - low)
                message.position = factor * (middle + reach * np.sin(phase))
                if topic == "/joint_states":
                    message.velocity = factor * reach * np.cos(phase) * 2 * np.pi * 0.4
                    message.effort = np.sin(phase)
                put(topic, time_ns + 1_000_000, message)
            imu = zero_message("sensor_msgs/msg/Imu")
            imu.header.stamp.sec, imu.header.stamp.nanosec = divmod(time_ns, SECOND)
            imu.header.frame_id = "pelvis"
            imu.linear_acceleration.z = 9.81
            put("/imu/data", time_ns + 1_000_000, imu)
            # Two senders at odd moments: not a sensor with a rate.
            if number % 7 < 2:
                put("/tf", time_ns + 1_000_000, _transforms(time_ns, f"frame_{number % 7}"))
            if number in (0, 300):
                put("/tf_static", time_ns, _transforms(time_ns, "camera", x=0.1))
                line = zero_message("rcl_interfaces/msg/Log")
                line.level, line.name, line.msg = 20, "driver", f"message {number}"
                put("/rosout", time_ns, line)
    return path


def _transforms(time_ns: int, child: str, x: float = 0.0) -> object:
    entry = zero_message("geometry_msgs/msg/TransformStamped")
    entry.header.stamp.sec, entry.header.stamp.nanosec = divmod(time_ns, SECOND)
    entry.header.frame_id, entry.child_frame_id = "pelvis", child
    entry.transform.translation.x, entry.transform.rotation.w = x, 1.0
    message = zero_message("tf2_msgs/msg/TFMessage")
    message.transforms = [entry]
    return message


def test_topics_have_the_roles_of_their_types_and_joints(tmp_path: Path) -> None:
    rig = describe_bag(_write_bag(tmp_path / "bag"), robot="g1")
    streams = {stream.path: stream for stream in rig.schema.streams}
    robot = open_robot("g1")
    for role, unit in (("joint_position", "rad"), ("joint_velocity", "rad/s"),
                       ("joint_torque", "N m")):  # fmt: skip
        stream = streams[f"observations/{role}"]
        assert (stream.names, set(stream.units)) == (robot.joint_names, {unit})
    assert streams["actions/joint_position_target"].names == robot.joint_names
    assert streams["observations/pelvis_imu"].frame == "pelvis"


def test_joints_are_known_by_other_spellings_of_their_names(tmp_path: Path) -> None:
    spelt = tuple(
        "k" + "".join(word.capitalize() for word in name.removesuffix("_joint").split("_"))
        for name in open_robot("g1").joint_names
    )
    rig = describe_bag(_write_bag(tmp_path / "bag", names=spelt), robot="g1")
    stream = rig.schema.stream("observations/joint_position")
    assert stream.names == open_robot("g1").joint_names


def test_a_bag_of_a_g1_in_degrees_is_failed(tmp_path: Path) -> None:
    report = corporeal.check(_write_bag(tmp_path / "bag", factor=57.29578), robot="g1")
    (episode,) = report.episodes
    assert episode.verdict == "failed"
    (finding,) = [f for f in episode.assessment.findings if f.check == "angles_in_degrees"]
    assert {finding.stream, *finding.siblings} == {
        "observations/joint_position", "actions/joint_position_target",
    }  # fmt: skip


def test_transforms_and_logs_are_events_and_the_ledger_has_every_topic(tmp_path: Path) -> None:
    path = _write_bag(tmp_path / "bag")
    rig, found = describe_bag(path), survey(path)
    streams = {stream.path: stream for stream in rig.schema.streams}
    assert not any("/tf" in text or "/rosout" in text for text in rig.problems)
    assert streams["observations/rosout"].kind == "text"
    assert streams["debug/tf_frame_0"].rate_hz is None
    assert rig.metadata["static_transforms"] == {
        "camera": {"parent": "pelvis", "pose": [0.1, 0, 0, 1, 0, 0, 0]}
    }
    items = {item.name: item for item in found.ledger.items}
    assert {name: item.samples for name, item in items.items()} == {
        "/joint_states": 600, "/arm_controller/commands": 600, "/imu/data": 600, "/tf": 172,
        "/tf_static": 2, "/rosout": 2,
    }  # fmt: skip
    assert items["/tf_static"].taken_as == ("metadata/static_transforms",)
    assert found.ledger.lost_whole == ()


def test_a_topic_that_was_not_asked_for_is_in_the_ledger(tmp_path: Path) -> None:
    found = survey(_write_bag(tmp_path / "bag"), topics=["/joint_states"])
    items = {item.name: item for item in found.ledger.items}
    assert items["/imu/data"].reason == "it was not asked for"
    assert not items["/imu/data"].lost


def test_an_opened_bag_names_itself_and_has_its_ledger(tmp_path: Path) -> None:
    path = _write_bag(tmp_path / "bag")
    dataset = corporeal.open_dataset(path, robot="g1")
    recording = dataset.open(0)
    assert dataset.source == recording.source == path
    assert recording.ledger == survey(path, robot="g1").ledger


def test_an_unreadable_bag_is_named_in_the_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.mcap"
    path.write_bytes(b"\x89MCAP0\r\n" + bytes(64))
    with pytest.raises(corporeal.CorporealError, match=r"broken\.mcap") as error:
        corporeal.open_dataset(path)
    assert "corporeal-bag-" not in str(error.value)
