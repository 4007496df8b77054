"""Quaternions of another length are found where they are."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.quaternion_not_unit import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_quaternions_of_length_nine_tenths_are_found_in_their_frames() -> None:
    def shorten(values: np.ndarray) -> None:
        values[100:120, 3:] *= 0.9

    (finding,) = found(altered("debug/base_pose", shorten))
    assert (finding.stream, finding.frames) == ("debug/base_pose", ((100, 120),))
    assert finding.value == pytest.approx(0.1)


def test_a_recording_without_quaternions_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no stream holds a quaternion"):
        found(without("base_pose"))


def test_four_zeros_throughout_are_no_orientation() -> None:
    def none(values: np.ndarray) -> None:
        values[:, 3:] = 0

    with pytest.raises(NotAssessed, match="gives no orientation"):
        found(altered("debug/base_pose", none))


def test_an_orientation_that_is_lost_for_a_while_asks_for_a_human() -> None:
    def lose(values: np.ndarray) -> None:
        values[100:120, 3:] = 0

    (finding,) = found(altered("debug/base_pose", lose))
    assert (finding.frames, finding.severity) == (((100, 120),), "quarantine")
