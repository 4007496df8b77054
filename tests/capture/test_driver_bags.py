"""The drivers of recorded bags: a rig with its problems, and one demonstration."""

from __future__ import annotations

from pathlib import Path

import pytest

from corporeal.capture.driver import DriverError, Mark, Sample, drivers, parse_options

PAIR = Path("robot_logs") / "ros2_mcap_db3_pair"
BURST = Path("robot_logs") / "ros1_joint_states_burst_time" / "C-Shape-1_joints.bag"


def test_a_bag_is_one_demonstration_from_end_to_end(shared_data: Path) -> None:
    driver = drivers()["rosbag"]
    options = parse_options(driver, {"path": str(shared_data / BURST)})
    rig = driver.describe(options)
    assert len(rig.problems) == 2
    first, *samples, last = driver.read(options)
    assert isinstance(first, Mark)
    assert isinstance(last, Mark)
    assert (first.what, last.what) == ("start", "end")
    assert first.metadata["source"] == "C-Shape-1_joints.bag"
    assert len(samples) == 150
    for sample in samples:
        assert isinstance(sample, Sample)
        stream = rig.schema.stream(sample.stream)
        assert sample.value.shape == stream.shape
        assert first.arrival_ns <= sample.arrival_ns <= last.arrival_ns


def test_the_mcap_driver_reads_folders_and_files(shared_data: Path) -> None:
    driver = drivers()["mcap"]
    counts = []
    for path in ("test_bag_mcap", "test_bag_mcap/test_bag_mcap.mcap"):
        options = parse_options(driver, {"path": str(shared_data / PAIR / path)})
        counts.append(sum(isinstance(item, Sample) for item in driver.read(options)))
    assert counts == [212, 212]


def test_the_mcap_driver_names_the_driver_for_other_bags(shared_data: Path) -> None:
    driver = drivers()["mcap"]
    for path in (BURST, PAIR / "test_bag_sqlite3"):
        options = parse_options(driver, {"path": str(shared_data / path)})
        with pytest.raises(DriverError, match="'rosbag'"):
            driver.describe(options)


def test_only_the_chosen_topics_are_read(shared_data: Path) -> None:
    driver = drivers()["rosbag"]
    values = {
        "path": str(shared_data / PAIR / "test_bag_sqlite3"),
        "topics": ["/test/sensor_msgs/imu"],
        "rename": {"/test/sensor_msgs/imu": "pelvis_imu"},
    }
    options = parse_options(driver, values)
    names = {stream.name for stream in driver.describe(options).schema.streams}
    assert names == {
        "pelvis_imu", "pelvis_imu_orientation", "pelvis_imu_covariance", "source_problems",
    }  # fmt: skip
    assert {item.stream for item in driver.read(options) if isinstance(item, Sample)} <= {
        f"{group}/{name}" for group in ("observations", "debug") for name in names
    }


def test_lists_may_come_from_the_command_line() -> None:
    driver = drivers()["rosbag"]
    values = {"path": "a.bag", "topics": "/a,/b/c", "rename": "/a=left,/b/c=right"}
    options = parse_options(driver, values)
    assert options.topics == ("/a", "/b/c")
    assert options.rename == {"/a": "left", "/b/c": "right"}
    with pytest.raises(DriverError, match="rename"):
        parse_options(driver, {"path": "a.bag", "rename": "/a"})


def test_a_wrong_option_is_named() -> None:
    with pytest.raises(DriverError, match="path"):
        parse_options(drivers()["mcap"], {})
