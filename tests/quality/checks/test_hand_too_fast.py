"""Hands that are too fast are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, column, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.hand_too_fast import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_a_hand_that_jumps_is_found_at_its_frame() -> None:
    def jump(values: np.ndarray) -> None:
        values[400, column("right_shoulder_pitch_joint")] += 0.4

    (finding,) = found(altered("observations/joint_position", jump))
    assert finding.frames == ((400, 402),)
    assert "right_hand" in finding.message
    assert "left_hand" not in finding.message


def test_a_recording_without_joints_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no joint_position"):
        found(without("joint_position"))
