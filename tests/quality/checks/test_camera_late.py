"""A camera that is late or early is found from what it shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.scene import CAMERA, blind, filmed, subject

from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.camera_late import CHECK

OTHER = "observations/other"


def test_a_camera_in_time_passes() -> None:
    assert list(CHECK.find(subject(300))) == []


@pytest.mark.parametrize(("late_s", "what"), [(0.08, "late"), (0.16, "late"), (-0.08, "early")])
def test_a_camera_out_of_time_is_found_and_measured(late_s: float, what: str) -> None:
    (finding,) = CHECK.find(subject(300, late_s=late_s))
    assert finding.stream == CAMERA
    assert what in finding.message
    assert finding.value == pytest.approx(late_s, abs=0.02)


def test_twenty_milliseconds_are_natural() -> None:
    assert list(CHECK.find(subject(300, late_s=0.02))) == []


def test_a_robot_that_stands_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="does not move"):
        list(CHECK.find(subject(90, moving=False)))


def test_a_camera_that_looks_elsewhere_is_not_assessed() -> None:
    recording = filmed(150, change=lambda shown: shown[:1] * len(shown))
    with pytest.raises(NotAssessed, match="too little"):
        list(CHECK.find(Subject(recording)))


def test_a_camera_alone_is_not_assessed() -> None:
    recording = filmed(90)
    alone = Recording("scene", recording.source, 0, {CAMERA: recording.signals[CAMERA]})
    with pytest.raises(NotAssessed, match="no joint_position"):
        list(CHECK.find(Subject(alone)))


def test_a_recording_without_a_camera_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no video"):
        list(CHECK.find(blind()))


@pytest.mark.parametrize("late_s", [0.03, -0.03])
def test_two_eyes_without_a_state_are_held_against_each_other(late_s: float) -> None:
    one, other = filmed(300), filmed(300, late_s=late_s, seed=0)
    eyes = {CAMERA: one.signals[CAMERA], OTHER: other.signals[CAMERA]}
    (finding,) = CHECK.find(Subject(replace(one, signals=eyes)))
    assert finding.stream == (OTHER if late_s > 0 else CAMERA)
    assert finding.value == pytest.approx(0.03, abs=0.008)
    assert "shows the same motion" in finding.message


def test_two_eyes_in_step_pass() -> None:
    one = filmed(300)
    eyes = {**one.signals, OTHER: filmed(300, seed=0).signals[CAMERA]}
    assert list(CHECK.find(Subject(replace(one, signals=eyes)))) == []


def test_forty_milliseconds_are_found_and_a_tenth_of_a_second_fails() -> None:
    (finding,) = CHECK.find(subject(300, late_s=0.04))
    assert finding.severity is None
    assert finding.value == pytest.approx(0.04, abs=0.01)
    (finding,) = CHECK.find(subject(300, late_s=0.2))
    assert finding.severity == "fail"
