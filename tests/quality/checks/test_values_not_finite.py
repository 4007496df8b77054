"""NaN and infinity are found in every stream of numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.reaching import IMU, POSITION, altered, column, reaching, without

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.values_not_finite import CHECK
from corporeal.schema import Stream


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


def test_joints_that_a_tracker_does_not_know_are_no_finding_but_infinity_is() -> None:
    spec = Stream.model_validate({"name": "left_hand_joints", "group": "observations",
                                  "shape": (26, 3), "unit": "m", "frame": "head"})  # fmt: skip
    joints = np.zeros((50, 26, 3), np.float32)
    joints[:, 0] = np.nan
    recording = reaching()

    def found(values: np.ndarray) -> list[Finding]:
        signal = ArraySignal(spec, np.arange(50) * 10_000_000, values)
        both = {**recording.signals, spec.path: signal}
        return list(CHECK.find(Subject(replace(recording, signals=both))))

    assert found(joints) == []
    joints[9, 4] = np.inf
    (finding,) = found(joints)
    assert (finding.stream, finding.frames) == (spec.path, ((9, 10),))
