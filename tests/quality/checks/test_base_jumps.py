"""Jumps of the base are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.base_jumps import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_a_jump_that_stays_is_found_at_its_frame() -> None:
    def jump(values: np.ndarray) -> None:
        values[400:, 0] += 0.2

    (finding,) = found(altered("debug/base_pose", jump))
    assert finding.frames == ((400, 401),)
    assert finding.value == pytest.approx(0.2, abs=0.01)


def test_a_jump_out_and_back_is_found() -> None:
    def jump(values: np.ndarray) -> None:
        values[400, 1] += 0.1

    (finding,) = found(altered("debug/base_pose", jump))
    assert finding.frames == ((400, 402),)


def test_a_recording_without_a_base_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no base_pose"):
        found(without("base_pose"))
