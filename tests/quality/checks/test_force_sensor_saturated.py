"""Sensors that are cut off are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.force_sensor_saturated import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_a_peak_that_was_cut_off_is_found() -> None:
    def press(values: np.ndarray) -> None:
        values[200:500, 0] += 40.0 * np.sin(np.linspace(0, np.pi, 300))
        np.clip(values, None, 30.0, out=values)

    (finding,) = found(altered("observations/left_wrist_wrench", press))
    assert finding.value == pytest.approx(30.0)
    ((first, stop),) = finding.frames
    assert 250 < first < 300 < 400 < stop < 450


def test_a_recording_without_such_sensors_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no sensor of forces"):
        found(without("_wrench", "_imu", "joint_torque"))
