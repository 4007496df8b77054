"""Gyros in another unit, other axes or with a bias are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.imu_rotation_wrong import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


@pytest.mark.parametrize("parts", [(), ("base_pose",)])
def test_degrees_per_second_are_named(parts: tuple[str, ...]) -> None:
    def degrees(values: np.ndarray) -> None:
        values[:, 3:] = np.degrees(values[:, 3:])

    subject = altered("observations/pelvis_imu", degrees, without("nothing", *parts).recording)
    (finding,) = found(subject)
    assert finding.stream == "observations/pelvis_imu"
    assert "degrees per second" in finding.message


def test_exchanged_axes_are_found() -> None:
    subject = altered("observations/head_imu", lambda values: values[:, [0, 1, 2, 4, 3, 5]])
    (finding,) = found(subject)
    assert finding.stream == "observations/head_imu"
    assert "wx holds +y, wy holds +x" in finding.message


def test_a_gyro_that_was_not_zeroed_is_found() -> None:
    def shift(values: np.ndarray) -> None:
        values[:, 4] += 0.2

    (finding,) = found(altered("observations/pelvis_imu", shift))
    assert finding.message.startswith("wy of observations/pelvis_imu is off by 0.2")


def test_a_gyro_that_turns_a_standing_robot_is_found_without_a_base_pose() -> None:
    bare = without("base_pose", "head_imu", "torso_imu").recording

    def shift(values: np.ndarray) -> None:
        values[:, 5] += 0.3

    (finding,) = found(altered("observations/pelvis_imu", shift, bare))
    assert finding.severity == "quarantine"
    assert finding.message.startswith("wz of observations/pelvis_imu is +0.299")


def test_a_recording_without_an_imu_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no IMU"):
        found(without("_imu"))
