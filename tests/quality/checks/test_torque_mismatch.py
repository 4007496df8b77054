"""Torques of the wrong scale, sign or zero are found and named."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, column, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.torque_mismatch import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


LABEL = "observations/joint_torque"


def test_all_torques_a_tenth_are_one_finding() -> None:
    (finding,) = found(altered(LABEL, lambda values: values * 0.1))
    assert finding.stream == LABEL
    assert finding.value == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    "joint", ["left_ankle_pitch_joint", "left_elbow_joint", "waist_pitch_joint"]
)
def test_a_flipped_sign_is_named(joint: str) -> None:
    def flip(values: np.ndarray) -> None:
        values[:, column(joint)] *= -1

    (finding,) = found(altered(LABEL, flip))
    assert f"the torque of {joint}" in finding.message
    assert "has the wrong sign" in finding.message


def test_an_offset_is_named() -> None:
    def shift(values: np.ndarray) -> None:
        values[:, column("left_shoulder_roll_joint")] += 5.0

    (finding,) = found(altered(LABEL, shift))
    assert "left_shoulder_roll_joint" in finding.message
    assert finding.value == pytest.approx(5.0, abs=0.4)


def test_without_wrist_sensors_a_load_in_the_hand_is_no_fault_but_a_sign_is() -> None:
    plain = without("wrist_wrench").recording

    def load(values: np.ndarray) -> None:
        values[:, column("left_elbow_joint")] *= 1.8

    def flip(values: np.ndarray) -> None:
        values[:, column("left_elbow_joint")] *= -1

    assert found(altered(LABEL, load, plain)) == []
    (finding,) = found(altered(LABEL, flip, plain))
    assert "left_elbow_joint" in finding.message


def test_an_ankle_in_another_unit_is_not_blamed_on_the_legs() -> None:
    def divide(values: np.ndarray) -> None:
        values[:, :3] /= 9.81

    assert found(altered("observations/left_ankle_wrench", divide)) == []


def test_a_recording_without_torques_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no joint_torque"):
        found(without("joint_torque"))
