"""Stamps of arrival in bursts are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader
from tests.quality.moving import IMU, POSITION, moving, restamped, with_signal

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.stamps_in_bursts import CHECK


def test_times_of_capture_pass() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


def test_a_stream_written_at_once_is_found() -> None:
    at_once = restamped(moving(), IMU, lambda when: when[0] + np.arange(len(when)) * 50_000)
    (finding,) = CHECK.find(Subject(at_once))
    assert finding.stream == IMU
    assert finding.value == pytest.approx(0.12, abs=0.001)


@pytest.mark.parametrize("size", [3, 5, 10])
def test_bunches_are_found_with_their_size(size: int) -> None:
    def edit(when: NDArray[np.int64]) -> NDArray[np.int64]:
        last = np.minimum((np.arange(len(when)) // size + 1) * size - 1, len(when) - 1)
        return when[last] + np.arange(len(when)) * 1000

    (finding,) = CHECK.find(Subject(restamped(moving(), IMU, edit)))
    assert f"bunches of about {size}" in finding.message
    assert finding.frames[0] == (0, size)


def test_a_single_repeated_stamp_is_no_burst() -> None:
    def edit(when: NDArray[np.int64]) -> NDArray[np.int64]:
        when[500] = when[499]
        return when

    assert list(CHECK.find(Subject(restamped(moving(), IMU, edit)))) == []


def test_real_bags_that_were_written_in_a_burst_are_found(shared_data: Path) -> None:
    folder = shared_data / "robot_logs" / "ros1_joint_states_burst_time"
    bags = sorted(folder.rglob("*.bag"))
    assert bags
    for bag in bags:
        with AnyReader([bag]) as reader:
            when = np.array([stamp for _, stamp, _ in reader.messages()], np.int64)
        recording = moving()
        spec = recording.signals[POSITION].spec.model_copy(update={"rate_hz": None})
        signal = ArraySignal(spec, when - when[0], np.zeros((len(when), 29)))
        (finding,) = CHECK.find(Subject(with_signal(recording, POSITION, signal)))
        assert finding.stream == POSITION


def test_a_recording_without_streams_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(Subject(replace(moving(), signals={}))))
