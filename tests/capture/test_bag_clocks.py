"""Topics of several computers come out on one clock, whichever way their clocks are off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

import corporeal
from corporeal.capture.clock import ClockStamps, split_clock
from corporeal.capture.ros.idl import zero_message

SECOND = 10**9
EPOCH = 1_700_000_000 * SECOND
STORE = get_typestore(Stores.LATEST)
SPAN_S = 40


def _write_bag(path: Path, offset_ms: float, drift_ppm: float) -> Path:
    """Joints and a camera of one computer, an IMU and a camera of another with a clock of its own.

    All show the same motion: joint, turning rate and grey are the sine of the true time.
    """
    rng = np.random.default_rng(7)
    kinds = {
        "/joint_states": ("sensor_msgs/msg/JointState", 100, 1.0, False),
        "/hand/imu": ("sensor_msgs/msg/Imu", 100, 1.0, True),
        "/head/image": ("sensor_msgs/msg/Image", 10, 60.0, False),
        "/hand/image": ("sensor_msgs/msg/Image", 10, 45.0, True),
    }
    events = []
    for topic, (kind, rate, delay_ms, is_remote) in kinds.items():
        for number in range(SPAN_S * rate):
            true_ns = number * SECOND // rate
            own_ns = EPOCH + true_ns
            if is_remote:
                own_ns += round(offset_ms * 1e6 + true_ns * drift_ppm * 1e-6)
            late_ns = round((delay_ms + rng.exponential(1.5)) * 1e6)
            events.append((EPOCH + true_ns + late_ns, topic, kind, own_ns, true_ns / SECOND))
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        channels = {
            topic: writer.add_connection(topic, kind[0], typestore=STORE)
            for topic, kind in kinds.items()
        }
        for log_ns, topic, kind, own_ns, seconds in sorted(events):
            message = zero_message(kind)
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(own_ns, SECOND)
            value = np.sin(2 * np.pi * 0.2 * seconds)
            if topic == "/joint_states":
                message.name, message.position = ["hip"], np.array([value])
            elif topic == "/hand/imu":
                message.angular_velocity.x, message.linear_acceleration.z = value, 9.81
            else:
                grey = np.full((16, 16), 128 + 100 * value, np.uint8)
                message.height, message.width, message.step = 16, 16, 16
                message.encoding, message.data = "mono8", grey.reshape(-1)
            writer.write(channels[topic], log_ns, STORE.serialize_cdr(message, kind))
    return path


@pytest.mark.parametrize("offset_ms", [80.0, -80.0])
def test_a_computer_80_ms_and_50_ppm_off_agrees_within_5_ms(
    tmp_path: Path, offset_ms: float
) -> None:
    dataset = corporeal.open_dataset(_write_bag(tmp_path / "bag", offset_ms, 50.0))
    recording = dataset.open(0)
    sources = recording.metadata["stream_sources"]
    remote = {"observations/hand_imu", "observations/hand_image"}
    local = {"observations/joint_position", "observations/head_image"}
    assert {sources[path] for path in local} == {"robot"}
    assert {sources[path] for path in remote} == {"computer_2"}
    starts = {}
    for path in (*local, *remote):
        # Some messages overtake each other.
        time_ns = np.sort(recording.signals[path].time_ns)
        true_ns = np.arange(len(time_ns)) * (SPAN_S * SECOND // len(time_ns))
        starts[path] = (time_ns - true_ns) / 1e6
    reference = float(np.median(starts["observations/joint_position"]))
    for path, error_ms in starts.items():
        assert np.abs(error_ms - reference).max() < 5, path


def _line(
    count: int, rate: int, delay_ms: float, *, offset_ms: float = 0.0, seed: int = 0
) -> ClockStamps:
    rng = np.random.default_rng(seed)
    true_ns = np.arange(count) * (SECOND // rate)
    arrival = true_ns + np.rint((delay_ms + rng.exponential(1.0, count)) * 1e6).astype(np.int64)
    return ClockStamps(true_ns + round(offset_ms * 1e6), arrival, is_heavy=delay_ms > 10)


def test_a_slow_camera_of_the_same_computer_is_no_other_clock() -> None:
    streams = {"joints": _line(2000, 100, 1), "camera": _line(600, 30, 90, seed=1)}
    assert set(split_clock(streams, None).values()) == {"robot"}


def test_a_stream_too_short_to_tell_stays_with_the_robot() -> None:
    streams = {"joints": _line(2000, 100, 1), "map": _line(1, 1, 200, seed=1)}
    assert set(split_clock(streams, None).values()) == {"robot"}


def test_stamps_from_the_future_are_another_clock() -> None:
    streams = {"joints": _line(2000, 100, 1), "camera": _line(600, 30, 40, offset_ms=300, seed=1)}
    assert split_clock(streams, "joints") == {"joints": "robot", "camera": "computer_2"}
