"""Torques beyond the motors are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, column, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.torque_beyond_limit import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_more_than_the_motor_can_give_is_found_in_its_frames() -> None:
    def push(values: np.ndarray) -> None:
        values[200:210, column("left_elbow_joint")] = 40.0

    (finding,) = found(altered("observations/joint_torque", push))
    assert finding.frames == ((200, 210),)
    assert "left_elbow_joint 40.0 N m" in finding.message


def test_a_recording_without_torques_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no joint_torque"):
        found(without("joint_torque"))
