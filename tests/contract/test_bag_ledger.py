"""The ledger and the samples of every real bag against readers that are not ours."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from corporeal.capture.ros.survey import BagSurvey, samples_of, survey

ARMS = "ros1_interbotix/interbotix_ros_xsarms/examples"
BAGS = (
    "ros1_joint_states_burst_time/C-Shape-1_joints.bag",
    "ros1_joint_states_burst_time/G-Shape-1_joints.bag",
    "ros1_joint_states_burst_time/N-Shape-1_joints.bag",
    "ros1_robot_localization/test1.bag",
    "ros1_robot_localization/test2.bag",
    f"{ARMS}/interbotix_xsarm_diagnostic_tool/bag/waist_diagnostics.bag",
    f"{ARMS}/interbotix_xsarm_puppet/bag/duck_dunk.bag",
    "ros2_mcap_db3_pair/test_bag_mcap",
    "ros2_mcap_db3_pair/test_bag_sqlite3",
)
CAMERA = "ros2_mcap_camera/soccer_goal/soccer_goal_12.mcap"


def _read_with_rosbags(path: Path) -> tuple[Counter[str], dict[str, list[Any]]]:
    """Messages by topic, and the position of every JointState."""
    counts: Counter[str] = Counter()
    positions: dict[str, list[Any]] = {}
    store = get_typestore(Stores.LATEST)
    with AnyReader([path], default_typestore=store) as reader:
        for connection, _, data in reader.messages():
            counts[connection.topic] += 1
            if connection.msgtype == "sensor_msgs/msg/JointState":
                message: Any = reader.deserialize(data, connection.msgtype)
                if len(message.position):
                    positions.setdefault(connection.topic, []).append(message.position.tolist())
    return counts, positions


def _check_ledger(bag: BagSurvey, counts: Counter[str]) -> None:
    items = {item.name: item for item in bag.ledger.items}
    assert {name: item.samples for name, item in items.items()} == dict(counts)
    samples = Counter(sample.stream for sample in samples_of(bag))
    for item in items.values():
        assert item.taken_as or item.reason, item.name
        assert item.lost == (not item.taken_as)
        streams = [path for path in item.taken_as if not path.startswith("metadata/")]
        for path in streams:
            assert samples[path], path
        for path in set(item.taken_as) - set(streams):
            assert bag.facts[path.removeprefix("metadata/")], path
        # Without a word, nothing is missing: some stream has a sample for every message.
        if item.reason is None and streams:
            assert max(samples[path] for path in item.taken_as) == item.samples, item.name


@pytest.mark.parametrize("name", BAGS)
def test_every_topic_and_message_is_accounted_for(shared_data: Path, name: str) -> None:
    path = shared_data / "robot_logs" / name
    counts, positions = _read_with_rosbags(path)
    bag = survey(path)
    _check_ledger(bag, counts)
    for topic, rows in positions.items():
        streams = [
            fit.stream.path
            for key, fit in bag.fits.items()
            if key[0] == topic and fit.stream.unit == "rad"
        ]
        ours = [sample.value.tolist() for sample in samples_of(bag) if sample.stream in streams]
        assert ours == rows


def test_a_file_of_a_split_bag_is_accounted_for(shared_data: Path) -> None:
    path = shared_data / "robot_logs" / CAMERA
    with path.open("rb") as file:
        counts = Counter(
            channel.topic for _, channel, _ in make_reader(file).iter_messages()
        )  # fmt: skip
    _check_ledger(survey(path), counts)
