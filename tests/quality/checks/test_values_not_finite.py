"""NaN and infinity are found in every stream of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.reaching import IMU, POSITION, altered, column, reaching, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.values_not_finite import CHECK


def test_finite_numbers_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []


def test_a_burst_of_nan_is_found_with_its_frames_and_its_joint() -> None:
    def burst(values: np.ndarray) -> None:
        values[100:105, column("left_elbow")] = np.nan

    (finding,) = CHECK.find(altered(joint_position=burst))
    assert (finding.stream, finding.frames) == (POSITION, ((100, 105),))
    assert "left_elbow_joint" in finding.message


def test_one_infinite_acceleration_is_found() -> None:
    def blow(values: np.ndarray) -> None:
        values[7, 2] = np.inf

    (finding,) = CHECK.find(altered(pelvis_imu=blow))
    assert (finding.stream, finding.frames, finding.value) == (IMU, ((7, 8),), 1.0)


def test_a_recording_without_numbers_is_not_assessed() -> None:
    roles = [signal.spec.name for signal in reaching().signals.values()]
    with pytest.raises(NotAssessed, match="no stream of numbers"):
        list(CHECK.find(without(reaching(), *roles)))
