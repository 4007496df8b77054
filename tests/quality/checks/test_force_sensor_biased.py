"""Sensors that were not zeroed, or are in another unit, are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.protocol import Calibration
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.force_sensor_biased import CHECK
from corporeal.quality.evidence.forces import force_sensors
from corporeal.quality.evidence.rigid_motion import beyond_kg


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


@pytest.mark.parametrize("axis", [0, 2])
def test_ten_newtons_that_never_go_away_are_found(axis: int) -> None:
    def shift(values: np.ndarray) -> None:
        values[:, axis] += 10.0

    (finding,) = found(altered("observations/right_wrist_wrench", shift))
    assert finding.stream == "observations/right_wrist_wrench"
    assert finding.value == pytest.approx(10.0, abs=3.5)


def test_a_load_that_is_picked_up_is_no_bias() -> None:
    def load(values: np.ndarray) -> None:
        values[200:, 2] += 10.0

    assert found(altered("observations/right_wrist_wrench", load)) == []


def test_ankles_in_kilogram_force_are_named() -> None:
    def divide(values: np.ndarray) -> None:
        values[:, :3] /= 9.80665

    subject = altered("observations/left_ankle_wrench", divide)
    subject = altered("observations/right_ankle_wrench", divide, subject.recording)
    (finding,) = found(subject)
    assert "in kgf" in finding.message


def test_one_ankle_in_kilogram_force_is_named_alone() -> None:
    def divide(values: np.ndarray) -> None:
        values[:, :3] /= 9.80665

    (finding,) = found(altered("observations/right_ankle_wrench", divide))
    assert finding.stream == "observations/right_ankle_wrench"


def test_a_recording_without_force_sensors_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no force sensor"):
        found(without("_wrench"))


def test_a_bias_that_the_calibration_knows_is_no_fault() -> None:
    def shift(values: np.ndarray) -> None:
        values[:, 0] += 10.0

    subject = altered("observations/right_wrist_wrench", shift)
    known = Calibration.model_validate({
        "document": "calibration", "name": "cell", "version": "1.0.0", "measured": "2026-11-19",
        "force_sensors": [{
            "name": "right_wrist_wrench", "mass_kg": hand_kg(subject), "centre_m": [0, 0, 0],
            "force_bias_n": [10.0, 0, 0], "torque_bias_nm": [0, 0, 0], "mounting_rpy": [0, 0, 0],
            "sign": -1,
        }],
    })  # fmt: skip
    assert len(found(subject)) == 1
    documents = {**subject.recording.documents, "calibration": known.canonical()}
    assert found(Subject(replace(subject.recording, documents=documents))) == []
    spoiled = {**documents, "calibration": "{}"}
    assert len(found(Subject(replace(subject.recording, documents=spoiled)))) == 1


def hand_kg(subject: Subject) -> float:
    """What hangs beyond the right wrist's sensor."""
    (sensor,) = [each for each in force_sensors(subject) if "right_wrist" in each.track.label]
    assert sensor.mount is not None
    return beyond_kg(subject, sensor.mount.link)
