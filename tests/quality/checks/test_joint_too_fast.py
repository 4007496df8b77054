"""Speeds that the motors cannot reach are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.demonstrations import told
from tests.quality.reaching import POSITION, VELOCITY, altered, column, reaching

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.assessment import assess
from corporeal.quality.checks.joint_too_fast import CHECK


def test_a_robot_of_usual_speed_passes() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []


def test_a_velocity_beyond_its_limit_is_found() -> None:
    def fast(values: np.ndarray) -> None:
        values[50:53, column("left_elbow")] = -40.0

    (finding,) = CHECK.find(altered(joint_velocity=fast))
    assert (finding.stream, finding.frames) == (VELOCITY, ((50, 53),))


def test_positions_that_run_too_fast_are_found_and_one_step_alone_is_not() -> None:
    def run(values: np.ndarray) -> None:
        values[300:306, column("left_elbow")] += 0.45 * np.arange(6)
        values[600:, column("right_elbow")] += 1.0

    (finding,) = CHECK.find(altered(joint_position=run))
    assert finding.stream == POSITION
    assert "left_elbow_joint" in finding.message
    assert finding.frames[0][0] in range(298, 302)


def test_a_recording_of_an_unknown_robot_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="robot is not known"):
        list(CHECK.find(Subject(replace(reaching(), embodiment=None))))


def test_a_speed_at_an_assumed_rate_asks_a_human_and_fails_nothing() -> None:
    def fast(values: np.ndarray) -> None:
        values[300:306, column("left_elbow")] += 0.45 * np.arange(6)

    sure = altered(joint_position=fast)
    guessed = Subject(told(sure.recording, assumed={"rate_hz": "60 Hz: the file states none"}))
    assert assess(sure, only=("joint_too_fast",)).verdict == "failed"
    assert assess(guessed, only=("joint_too_fast",)).verdict == "quarantined"
