"""Accelerometers in another unit or other axes are found and named."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.imu_gravity_wrong import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


QUARTERS = {
    "x": [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
    "y": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
    "z": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
}


@pytest.mark.parametrize("name", ["pelvis_imu", "head_imu"])
def test_an_accelerometer_in_g_is_named(name: str) -> None:
    def divide(values: np.ndarray) -> None:
        values[:, :3] /= 9.81

    (finding,) = found(altered(f"observations/{name}", divide))
    assert finding.stream == f"observations/{name}"
    assert finding.message.endswith("it is in g.")


@pytest.mark.parametrize("axis", QUARTERS)
def test_axes_turned_by_a_quarter_are_found(axis: str) -> None:
    turn = np.array(QUARTERS[axis], float)

    def rotate(values: np.ndarray) -> None:
        values[:, :3] = values[:, :3] @ turn.T

    (finding,) = found(altered("observations/pelvis_imu", rotate))
    assert finding.stream == "observations/pelvis_imu"
    assert "not in the axes of pelvis" in finding.message


def test_gravity_upside_down_is_found_and_named() -> None:
    def flip(values: np.ndarray) -> None:
        values[:, 2] *= -1

    (finding,) = found(altered("observations/head_imu", flip))
    assert "az holds -z" in finding.message


def test_a_pelvis_that_lies_is_found_without_a_base_pose_and_the_head_is_not_blamed() -> None:
    def swap(values: np.ndarray) -> np.ndarray:
        return values[:, [2, 1, 0, 3, 4, 5]]

    subject = altered("observations/pelvis_imu", swap, without("base_pose").recording)
    (finding,) = found(subject)
    assert finding.stream == "observations/pelvis_imu"


def test_a_recording_without_an_imu_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no IMU"):
        found(without("_imu"))
