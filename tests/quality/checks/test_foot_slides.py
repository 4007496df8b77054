"""A foot that slides while it stands is found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, column, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.foot_slides import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_five_centimetres_of_one_foot_are_found() -> None:
    def slide(values: np.ndarray) -> None:
        angle = 0.08 * np.clip((np.arange(len(values)) - 300) / 200, 0, 1)
        values[:, column("right_hip_pitch_joint")] -= angle
        values[:, column("right_ankle_pitch_joint")] += angle

    (finding,) = found(altered("observations/joint_position", slide))
    assert "the right foot slides" in finding.message
    assert 350 < finding.frames[0][0] < 520
    assert finding.value == pytest.approx(0.05, abs=0.012)


def test_a_recording_without_a_base_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no base_pose"):
        found(without("base_pose"))
