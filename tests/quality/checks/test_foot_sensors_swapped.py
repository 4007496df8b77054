"""Ankle sensors on each other's foot are found."""

from __future__ import annotations

import pytest
from tests.quality.standing import altered, standing, without

from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.foot_sensors_swapped import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def exchanged(recording: Recording) -> Subject:
    left, right = "observations/left_ankle_wrench", "observations/right_ankle_wrench"
    other = altered(left, lambda _: recording.signals[right][:], recording)
    return altered(right, lambda _: recording.signals[left][:], other.recording)


def test_exchanged_ankles_are_found() -> None:
    (finding,) = found(exchanged(standing()))
    assert "observations/left_ankle_wrench and observations/right_ankle_wrench" in finding.message


def test_exchanged_ankles_are_found_without_torques() -> None:
    assert len(found(exchanged(without("joint_torque").recording))) == 1


def test_a_recording_without_ankle_sensors_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no force sensor at the ankles"):
        found(without("ankle_wrench"))
