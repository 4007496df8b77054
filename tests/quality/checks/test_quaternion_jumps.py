"""Flips of sign and jumps of rotation are told apart."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.quaternion_jumps import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_a_change_of_sign_alone_asks_for_a_human() -> None:
    def flip(values: np.ndarray) -> None:
        values[300:500, 3:] *= -1

    (finding,) = found(altered("debug/base_pose", flip))
    assert finding.frames == ((300, 301), (500, 501))
    assert finding.severity == "quarantine"


def test_a_change_of_sign_that_keeps_w_positive_is_only_a_note() -> None:
    def turn(values: np.ndarray) -> None:
        half = np.linspace(1.4, 1.8, len(values))
        values[:, 3:] = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
        values[:, 3:] *= np.sign(values[:, 3:4])

    (finding,) = found(altered("debug/base_pose", turn))
    assert finding.severity == "note"


def test_a_jump_of_the_rotation_itself_fails() -> None:
    def jump(values: np.ndarray) -> None:
        values[400, 3:] = [0.0, 0.0, 0.0, 1.0]

    (finding,) = found(altered("debug/base_pose", jump))
    assert (finding.severity, finding.frames) == ("fail", ((400, 402),))


def test_a_recording_without_quaternions_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no stream holds quaternions"):
        found(without("base_pose"))


def test_to_no_orientation_nothing_jumps() -> None:
    def lose(values: np.ndarray) -> None:
        values[100:120, 3:] = 0

    assert found(altered("debug/base_pose", lose)) == []
