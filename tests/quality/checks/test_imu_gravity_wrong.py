"""Accelerometers in another unit or other axes are found and named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.imu_gravity_wrong import CHECK
from corporeal.schema import Stream


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


def test_gravity_of_the_wrong_sign_is_named() -> None:
    def flip(values: np.ndarray) -> None:
        values[:, :3] *= -1

    (finding,) = found(altered("observations/pelvis_imu", flip))
    assert "wrong sign" in finding.message


def _nameless(values: np.ndarray, *, robot: bool) -> Subject:
    """A table whose IMU says neither where it is nor which column is which."""
    when = np.arange(len(values)) * 10_000_000
    spec = Stream.model_validate(
        {
            "name": "imu",
            "group": "observations",
            "shape": [6],
            "rate_hz": 100.0,
            "unit": "1",
            "dtype": "float64",
        }
    )
    recording = standing()
    signals = {"observation.imu": ArraySignal(spec, when, values)}
    if robot:
        signals |= {
            label: signal
            for label, signal in recording.signals.items()
            if signal.spec.name == "joint_position" and isinstance(signal, ArraySignal)
        }
    own = recording.embodiment if robot else None
    return Subject(replace(recording, signals=signals, embodiment=own))


@pytest.mark.parametrize("robot", [True, False])
@pytest.mark.parametrize("first", [0, 3])
def test_a_nameless_imu_is_told_by_gravity(robot: bool, first: int) -> None:
    values = np.random.default_rng(0).normal(0, 0.02, (400, 6))
    values[:, first + 2] += 9.81
    assert found(_nameless(values, robot=robot)) == []
    values[:, first + 2] -= 2 * 9.81
    (finding,) = found(_nameless(values, robot=robot))
    assert finding.stream == "observation.imu"
    assert finding.severity == (None if robot else "note")
