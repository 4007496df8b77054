"""Ankle forces that contradict the legs are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, column, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.foot_load_mismatch import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_a_loaded_foot_in_the_air_is_found() -> None:
    def lift(values: np.ndarray) -> None:
        values[300:400, column("right_knee_joint")] += 0.6
        values[300:400, column("right_hip_pitch_joint")] -= 0.3
        values[300:400, column("right_ankle_pitch_joint")] -= 0.3

    (finding,) = found(altered("observations/joint_position", lift))
    assert "the right foot carries" in finding.message
    assert finding.frames == ((300, 400),)


def test_feet_on_the_ground_that_carry_nothing_are_found() -> None:
    subject = Subject(standing())
    for side in ("left", "right"):

        def empty(values: np.ndarray) -> None:
            values[500:600] = 0.0

        subject = altered(f"observations/{side}_ankle_wrench", empty, subject.recording)
    (finding,) = found(subject)
    assert "while both feet are on the ground" in finding.message


def test_a_recording_without_ankle_sensors_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no force sensor at the ankles"):
        found(without("ankle_wrench"))
