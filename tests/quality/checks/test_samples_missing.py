"""Streams that lack samples are found, wherever these are missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.moving import IMU, POSITION, moving, restamped, unstated, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.samples_missing import CHECK


def test_complete_streams_pass() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


def test_three_percent_scattered_are_found() -> None:
    lost = np.random.default_rng(0).choice(np.arange(5, 1190), 36, replace=False)
    (finding,) = CHECK.find(Subject(without(moving(), POSITION, lost)))
    assert finding.stream == POSITION
    assert finding.value == pytest.approx(0.03, abs=0.003)
    assert "on the way" in finding.message


def test_one_percent_is_tolerated() -> None:
    lost = np.random.default_rng(0).choice(np.arange(5, 1190), 12, replace=False)
    assert list(CHECK.find(Subject(without(moving(), POSITION, lost)))) == []


def test_a_stream_that_ends_a_second_early_is_found() -> None:
    (finding,) = CHECK.find(Subject(without(moving(), IMU, slice(2200, None))))
    assert (finding.stream, finding.frames) == (IMU, ((2199, 2200),))
    assert "ends 1.0" in finding.message


def test_a_stream_that_begins_late_is_found() -> None:
    (finding,) = CHECK.find(Subject(without(moving(), IMU, slice(0, 200))))
    assert (finding.stream, finding.frames) == (IMU, ((0, 1),))


def test_a_stream_without_samples_is_found() -> None:
    (finding,) = CHECK.find(Subject(without(moving(), IMU, slice(None))))
    assert (finding.stream, finding.value) == (IMU, 1.0)


def test_a_wrong_clock_is_not_taken_for_missing_samples() -> None:
    slow = restamped(moving(), IMU, lambda when: when * 0.9)
    assert list(CHECK.find(Subject(slow))) == []


def test_a_recording_without_rates_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(Subject(replace(moving(), signals={}))))


def test_a_bag_promises_no_number_of_samples() -> None:
    lost = np.random.default_rng(0).choice(np.arange(5, 1190), 36, replace=False)
    assert list(CHECK.find(Subject(unstated(without(moving(), POSITION, lost))))) == []


def test_a_sensor_of_a_bag_that_ends_early_is_a_note() -> None:
    (finding,) = CHECK.find(Subject(unstated(without(moving(), IMU, slice(2190, None)))))
    assert (finding.stream, finding.severity) == (IMU, "note")


def test_an_even_sensor_of_a_bag_that_stops_while_others_go_on_asks_for_a_human() -> None:
    (finding,) = CHECK.find(Subject(unstated(without(moving(), IMU, slice(1600, None)))))
    assert (finding.stream, finding.severity) == (IMU, "quarantine")
