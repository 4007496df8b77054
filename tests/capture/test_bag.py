"""Bags are read whole, and whatever is wrong with them is said."""

from __future__ import annotations

import csv
import struct
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from numpy.typing import NDArray
from rosbags.rosbag1 import Writer as Writer1
from rosbags.typesys import Stores, get_typestore

from corporeal.capture.driver import DriverError
from corporeal.capture.ros.bag import open_bag, records
from corporeal.capture.ros.idl import zero_message
from corporeal.capture.ros.survey import describe_bag, samples_of, survey
from corporeal.capture.ros.timing import judge, rate_of
from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.overview import verify
from corporeal.errors import UnknownNameError

SECOND = 10**9
STORE = get_typestore(Stores.LATEST)
EPOCH = 1_700_000_000 * SECOND
Entry = tuple[str, str, int, bytes]


def _joints(number: int, stamp_ns: int, names: tuple[str, ...] = ("hip", "knee")) -> bytes:
    message = zero_message("sensor_msgs/msg/JointState")
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, SECOND)
    message.name = list(names)
    message.position = np.arange(len(names)) + float(number)
    return bytes(STORE.serialize_cdr(message, "sensor_msgs/msg/JointState"))


def _write_mcap(path: Path, entries: Iterable[Entry], **settings: Any) -> Path:
    with path.open("wb") as file:
        writer = McapWriter(file, compression=CompressionType.NONE, chunk_size=2000, **settings)
        writer.start(profile="ros2")
        channels: dict[str, int] = {}
        for topic, kind, log_ns, data in entries:
            if topic not in channels:
                encoding = "cbor" if kind == "cbor" else "cdr"
                text = "" if kind == "cbor" else STORE.generate_msgdef(kind, ros_version=2)[0]
                schema = writer.register_schema(kind, "ros2msg", text.encode())
                channels[topic] = writer.register_channel(topic, encoding, schema)
            writer.add_message(channels[topic], log_ns, data, log_ns)
        writer.finish()
    return path


def _regular(count: int = 50, topic: str = "/joint_states") -> list[Entry]:
    kind = "sensor_msgs/msg/JointState"
    stamps = [EPOCH + number * SECOND // 100 for number in range(count)]
    return [(topic, kind, stamp + 2_000_000, _joints(n, stamp)) for n, stamp in enumerate(stamps)]


def _counts(path: Path) -> Counter[str]:
    return Counter(sample.stream for sample in samples_of(survey(path)))


def test_an_mcap_file_gives_its_samples_with_both_times(tmp_path: Path) -> None:
    path = _write_mcap(tmp_path / "a.mcap", _regular())
    rig = describe_bag(path)
    stream = rig.schema.stream("observations/joint_position")
    assert (stream.rate_hz, stream.components, stream.unit) == (100.0, ("hip", "knee"), "rad")
    assert rig.problems == ()
    samples = list(samples_of(survey(path)))
    assert len(samples) == 50
    assert samples[3].source_ns == EPOCH + 3 * SECOND // 100
    assert samples[3].arrival_ns == samples[3].source_ns + 2_000_000
    np.testing.assert_array_equal(samples[3].value, [3, 4])


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_cut_file_gives_what_is_whole_and_says_so(tmp_path: Path, share: float) -> None:
    whole = _write_mcap(tmp_path / "whole.mcap", _regular(200)).read_bytes()
    path = tmp_path / "cut.mcap"
    path.write_bytes(whole[: round(len(whole) * share)])
    rig = describe_bag(path)
    count = _counts(path)["observations/joint_position"]
    assert 0.15 * 200 < count <= 200
    assert any("no usable index" in text for text in rig.problems)
    if share < 0.9:
        assert any(f"breaks off after {count} messages" in text for text in rig.problems)


def test_a_file_without_statistics_is_read_and_says_so(tmp_path: Path) -> None:
    path = _write_mcap(tmp_path / "a.mcap", _regular(), use_statistics=False)
    assert any("no statistics" in text for text in describe_bag(path).problems)
    assert sum(_counts(path).values()) == 50


def test_a_file_without_index_is_read_and_says_so(tmp_path: Path) -> None:
    path = _write_mcap(tmp_path / "a.mcap", _regular(), use_chunking=False)
    assert any("no usable index" in text for text in describe_bag(path).problems)
    assert sum(_counts(path).values()) == 50


def test_what_is_no_bag_is_refused(tmp_path: Path) -> None:
    for name in ("a.mcap", "a.bag", "a.db3"):
        (tmp_path / name).write_bytes(b"no bag at all, only some words that go on for a while")
        with pytest.raises(DriverError, match="cannot be read as"):
            list(records(open_bag(tmp_path / name), []))
    with pytest.raises(DriverError, match="expected a name ending in"):
        open_bag(Path(__file__))
    with pytest.raises(DriverError, match="expected a file or folder"):
        open_bag(tmp_path / "absent.bag")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DriverError, match="expected files ending in"):
        open_bag(tmp_path / "empty")


def _padded_joint(number: int, stamp_ns: int, effort: tuple[float, ...] = ()) -> bytes:
    """A JointState of one joint as TypeScript writers lay it out: empty lists padded to 8."""
    body = struct.pack("<iII", stamp_ns // SECOND, stamp_ns % SECOND, 1) + b"\0"
    body += bytes(-len(body) % 4) + struct.pack("<II", 1, 4) + b"hip\0"
    for values in ((float(number),), (), effort):
        body += struct.pack("<I", len(values))
        body += bytes(-len(body) % 8) + struct.pack(f"<{len(values)}d", *values)
    return b"\0\1\0\0" + body


@pytest.mark.parametrize("effort", [(), (2.5,)])
def test_joints_of_writers_that_pad_empty_lists_are_read(
    tmp_path: Path, effort: tuple[float, ...]
) -> None:
    kind = "sensor_msgs/msg/JointState"
    stamps = [EPOCH + number * SECOND // 100 for number in range(200)]
    entries = [("/leader", kind, t, _padded_joint(n, t, effort)) for n, t in enumerate(stamps)]
    path = _write_mcap(tmp_path / "a.mcap", entries)
    samples = list(samples_of(survey(path)))
    values = {sample.stream.rpartition("/")[2]: sample.value for sample in samples}
    assert len(samples) == 200 * len(values)
    assert values["joint_position_target"] == [199.0]
    assert values.get("joint_torque_target", [None])[0] == (effort[0] if effort else None)
    assert [sample.source_ns for sample in samples][:: len(values)] == stamps
    assert describe_bag(path).problems == ()


def test_bytes_left_over_that_mean_something_are_refused_and_counted(tmp_path: Path) -> None:
    entries = [(*entry[:3], entry[3] + b"\1" * 12) for entry in _regular(5, "/extended")]
    rig = describe_bag(_write_mcap(tmp_path / "a.mcap", [*_regular(5), *entries]))
    (problem,) = (text for text in rig.problems if "/extended" in text)
    assert "5 of 5 messages not mapped" in problem
    assert "12 bytes are left over" in problem


def test_messages_in_another_encoding_are_counted(tmp_path: Path) -> None:
    entries = [*_regular(10), *(("/web", "cbor", EPOCH + n, b"{}") for n in range(7))]
    rig = describe_bag(_write_mcap(tmp_path / "a.mcap", entries))
    assert any("/web" in text and "7 of 7 messages not mapped" in text for text in rig.problems)


def test_an_unknown_topic_lists_those_there_are(tmp_path: Path) -> None:
    path = _write_mcap(tmp_path / "a.mcap", _regular(10))
    with pytest.raises(UnknownNameError, match="/joint_states"):
        describe_bag(path, topics=["/joints"])


def test_a_robot_is_compared_with_the_joints_of_the_bag(tmp_path: Path) -> None:
    rig = describe_bag(_write_mcap(tmp_path / "a.mcap", _regular(10)), robot="g1")
    assert any("not joints of this robot: hip, knee" in text for text in rig.problems)
    assert rig.embodiment is not None


def test_topics_can_be_renamed(tmp_path: Path) -> None:
    path = _write_mcap(tmp_path / "a.mcap", _regular(10))
    rig = describe_bag(path, rename={"/joint_states": "joint"})
    assert rig.schema.stream("observations/joint_position")


def test_a_ros1_bag_that_breaks_off_is_reported(tmp_path: Path) -> None:
    store = get_typestore(Stores.ROS1_NOETIC)
    path = tmp_path / "a.bag"
    with Writer1(path) as writer:
        kind = "std_msgs/msg/Float64"
        connection = writer.add_connection("/force", kind, typestore=store)
        message = store.types[kind](data=2.5)
        for number in range(30):
            data = store.serialize_ros1(message, kind)
            writer.write(connection, EPOCH + number * SECOND // 10, data)
    rig = describe_bag(path)
    assert rig.schema.stream("observations/force").rate_hz == 10.0
    assert rig.source("observations/force") == "robot"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DriverError, match="rosbag reindex"):
        describe_bag(path)


def _times(*values: float) -> NDArray[np.int64]:
    return np.array([round(value * SECOND) for value in values], np.int64)


@pytest.mark.parametrize(
    ("log", "header", "said"),
    [
        (
            np.arange(100) * 1e-5,
            np.arange(1, 101) / 100,
            "stamped over 0.990 s were written within",
        ),
        (np.arange(100) * 1e-5, None, "true rate is unknown"),
        (np.arange(100) * 1e-5, np.zeros(100), "all 100 header stamps are empty"),
        (np.arange(100) * 0.01, np.r_[0, np.arange(1, 100) * 0.01], "1 of 100 header stamps are"),
        (np.arange(9) * 0.1, [0.1, 0.2, 0.3, 0.2, 0.5, 0.6, 0.7, 0.8, 0.9], "step back 1 time,"),
        (np.arange(9) * 0.1, [0.1, 0.2, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], "repeat the one"),
        (np.arange(9) * 0.1, [0.1, 0.2, 0.3, 0.4, 0.5, 1.6, 1.7, 1.8, 1.9], "1 gap in a stream"),
        (np.r_[np.arange(8) * 0.1, 1.9], np.arange(1, 10) * 0.1, "s later than usual"),
    ],
)
def test_a_defect_of_the_stamps_is_said(log: Any, header: Any, said: str) -> None:
    times = _times(*(np.asarray(log) + 100))
    stamps = None
    if header is not None:
        header = np.asarray(header, float)
        stamps = _times(*np.where(header == 0, 0, header + 100))
    timing = judge("/x", times, stamps)
    assert any(said in text for text in timing.problems), timing.problems


def test_good_stamps_have_no_defect() -> None:
    log = _times(*(100 + np.arange(200) * 0.01))
    timing = judge("/x", log, log - 1_000_000)
    assert timing.problems == ()
    assert timing.uses_header
    assert not timing.is_foreign


def test_a_stamp_of_zero_on_a_clock_that_starts_there_is_real() -> None:
    log = _times(*(np.arange(20) * 0.05))
    timing = judge("/x", log, log)
    assert timing.uses_header
    assert timing.problems == ()


def test_events_have_no_rate() -> None:
    assert rate_of(_times(0, 0.1, 0.2, 0.3)) == 10.0
    assert rate_of(_times(0, 1)) is None
    assert rate_of(_times(0, 0.001, 5, 5.001, 60, 61, 90)) is None


# What the real recordings hold: samples by stream, and a word of each defect that must be said.
REAL: dict[str, tuple[dict[str, int], tuple[str, ...]]] = {
    "ros1_joint_states_burst_time/C-Shape-1_joints.bag": (
        {"observations/joint_position": 150},
        ("all 150 header stamps are empty", "within 6.8 ms of bag time"),
    ),
    "ros1_joint_states_burst_time/G-Shape-1_joints.bag": (
        {"observations/joint_position": 150},
        ("all 150 header stamps are empty", "within 6.8 ms of bag time"),
    ),
    "ros1_joint_states_burst_time/N-Shape-1_joints.bag": (
        {"observations/joint_position": 250},
        ("all 250 header stamps are empty", "within 11.9 ms of bag time"),
    ),
    "ros1_robot_localization/test1.bag": (
        {"observations/body_imu": 11865, "debug/husky_velocity_controller_odom_pose": 3952,
         "observations/fix": 989, "debug/imu_data_covariance": 1},
        (),
    ),
    "ros1_robot_localization/test2.bag": (
        {"observations/base_imu": 3061, "debug/base_velocity": 3060},
        (),
    ),
    "ros1_interbotix/interbotix_ros_xsarms/examples/interbotix_xsarm_diagnostic_tool/bag/"
    "waist_diagnostics.bag": (
        {"observations/joint_torque": 10598, "actions/wx200_commands_joint_single":
         1002, "observations/wx200_temperatures_joint_group": 21},
        ("1 gap in a stream of 100.1 Hz, the longest 0.064 s",),
    ),
    "ros1_interbotix/interbotix_ros_xsarms/examples/interbotix_xsarm_puppet/bag/duck_dunk.bag": (
        {"actions/wx250_commands_joint_group": 1194, "actions/wx250_commands_joint_single": 1194},
        (),
    ),
    "ros2_mcap_camera/soccer_goal": (
        {"observations/camera_image_raw": 2},
        ("12 of 13 files that metadata.yaml names are missing with 249 messages",
         "2 message bodies are packed with zstd", "states 251 messages; 2 were read",
         "old name sensor_msgs/Image"),
    ),
    "ros2_mcap_camera/soccer_goal/soccer_goal_12.mcap": (
        {"observations/camera_image_raw": 2},
        ("2 message bodies are packed with zstd", "old name sensor_msgs/Image"),
    ),
    "ros2_mcap_db3_pair/test_bag_mcap": (
        {"observations/joint_position": 2, "debug/source_problems": 2},
        ("no statistics record", "image of type sensor_msgs/msg/Image: 2 of 2 messages not mapped",
         "neither JPEG nor PNG", "Header stamps of 38 topics are"),
    ),
    "ros2_mcap_db3_pair/test_bag_sqlite3": (
        {"observations/joint_position": 2, "debug/source_problems": 2},
        ("image of type sensor_msgs/msg/Image: 2 of 2 messages not mapped",
         "neither JPEG nor PNG", "Header stamps of 38 topics are"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_a_real_recording_becomes_an_episode_with_its_defects_said(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    path = shared_data / "robot_logs" / name
    counts, said = REAL[name]
    rig, found = describe_bag(path), survey(path)
    seen: Counter[str] = Counter()
    with EpisodeWriter(tmp_path / "a.h5", schema=rig.schema, epoch_ns=found.span_ns[0]) as writer:
        for sample in samples_of(found):
            seen[sample.stream] += 1
            writer.append(sample.stream, sample.arrival_ns - found.span_ns[0], sample.value)
    assert {stream: seen[stream] for stream in counts} == counts
    assert verify(tmp_path / "a.h5") == ()
    with Episode.open(tmp_path / "a.h5") as episode:
        assert {stream: len(episode[stream]) for stream in episode if len(episode[stream])} == seen
    for words in said:
        assert any(words in text for text in rig.problems), words
    assert said or not rig.problems


def test_every_message_of_the_pair_is_mapped_or_said(shared_data: Path) -> None:
    for name in ("test_bag_mcap", "test_bag_sqlite3"):
        found = survey(shared_data / "robot_logs" / "ros2_mcap_db3_pair" / name)
        mapped = {item.name for item in found.ledger.items if item.taken_as}
        unmapped = {topic for topic in found.timings if topic not in mapped}
        assert len(found.timings) == 94
        for topic in unmapped:
            assert any(topic in text and "not mapped" in text for text in found.problems)


def test_the_pair_holds_the_same_values_in_both_files(shared_data: Path) -> None:
    folder = shared_data / "robot_logs" / "ros2_mcap_db3_pair"
    one, other = (
        [sample for sample in samples_of(survey(folder / name)) if "header" not in sample.stream]
        for name in ("test_bag_mcap", "test_bag_sqlite3")
    )
    assert [sample.stream for sample in one] == [sample.stream for sample in other]
    shapes = [(np.shape(a.value), np.shape(b.value)) for a, b in zip(one, other, strict=True)]
    assert all(first == second for first, second in shapes)


def test_the_arm_of_the_bag_moves_as_its_table_says(shared_data: Path) -> None:
    folder = (
        shared_data / "robot_logs" / "ros1_interbotix" / "interbotix_ros_xsarms" / "examples"
        / "interbotix_xsarm_diagnostic_tool"
    )  # fmt: skip
    samples = [
        sample
        for sample in samples_of(survey(folder / "bag" / "waist_diagnostics.bag"))
        if sample.stream == "observations/joint_position"
    ]
    with (folder / "data" / "waist_diagnostics.csv").open(newline="") as file:
        table = [float(row["Position [rad]"]) for row in csv.DictReader(file)]
    waist = [float(sample.value[0]) for sample in samples]
    # The table has every ninth state: each is found further on than the one before.
    place = 0
    for value in table:
        place = waist.index(value, place) + 1
    assert place <= len(waist)


def test_the_camera_of_the_real_split_shows_a_picture(shared_data: Path) -> None:
    path = shared_data / "robot_logs" / "ros2_mcap_camera" / "soccer_goal"
    first, second = list(samples_of(survey(path)))
    assert first.value.shape == (480, 640, 3)
    assert first.value.std() > 10
    assert 0 < np.abs(first.value.astype(int) - second.value).mean() < 20
    assert second.arrival_ns - first.arrival_ns == 33_311_111
