"""An episode in which nothing is demonstrated is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.quality.reaching import IMU, POSITION, altered, reaching

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.exchange.formats.lerobot import read
from corporeal.quality import Subject
from corporeal.quality.checks.nothing_moves import CHECK
from corporeal.schema import Stream


def still(values: np.ndarray) -> None:
    values[:] = values[0]


def test_a_robot_that_reaches_passes() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []


def test_a_robot_that_moves_without_being_told_passes() -> None:
    assert list(CHECK.find(altered(joint_position_target=still))) == []


def test_constant_state_and_action_are_found() -> None:
    (finding,) = CHECK.find(altered(joint_position=still, joint_position_target=still))
    assert (finding.stream, finding.frames) == (POSITION, ((0, 800),))


def _observed(values: np.ndarray) -> Subject:
    """A recording of an IMU and of `values` (T, D) of which nobody says what they are."""
    recording = reaching()
    imu = recording.signals[IMU]
    spec = Stream(group="observations", name="states", dtype="float64", shape=values.shape[1:])
    signals = {IMU: imu, "states": ArraySignal(spec, imu.time_ns[: len(values)], values)}
    return Subject(replace(recording, signals=signals))


def test_numbers_of_no_known_kind_show_that_something_moves() -> None:
    seconds = np.arange(200) / 100
    assert list(CHECK.find(_observed(np.stack([seconds, np.sin(seconds)], axis=1)))) == []


def test_a_column_that_counts_the_time_is_no_motion() -> None:
    seconds = np.arange(200) / 100
    (finding,) = CHECK.find(_observed(np.stack([seconds, np.ones(200)], axis=1)))
    assert finding.stream == "states"


def test_a_recording_of_an_imu_alone_is_not_assessed() -> None:
    recording = reaching()
    alone = Subject(replace(recording, signals={IMU: recording.signals[IMU]}))
    with pytest.raises(NotAssessed, match="no joint_position or state"):
        list(CHECK.find(alone))


def test_the_real_set_in_which_nothing_was_demonstrated_is_found(shared_data: Path) -> None:
    dataset = read(shared_data / "lerobot" / "so101_v30")
    for number in dataset.episodes:
        assert len(list(CHECK.find(Subject(dataset.open(number))))) == 1
