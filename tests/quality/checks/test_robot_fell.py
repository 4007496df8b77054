"""A fall is found with a base pose and without."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.robot_fell import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def fall(values: np.ndarray) -> None:
    """Tip over backwards from sample 500 on, and lie there."""
    angle = np.clip((np.arange(len(values)) - 500) / 50, 0, 1) * np.pi / 2
    values[:, 2] *= np.cos(angle) * 0.85 + 0.15
    values[:, 3:] = np.stack([np.cos(angle / 2), 0 * angle, -np.sin(angle / 2), 0 * angle], axis=1)


def test_a_fall_is_found_from_when_the_robot_is_down() -> None:
    (finding,) = found(altered("debug/base_pose", fall))
    ((first, stop),) = finding.frames
    assert 500 < first < 550
    assert stop == 800
    assert finding.value is not None
    assert finding.value < 0.3


def test_a_deep_bow_is_no_fall() -> None:
    def bow(values: np.ndarray) -> None:
        half = 0.45 * np.sin(np.linspace(0, np.pi, len(values)))
        values[:, 2] -= 0.1
        values[:, 3:] = np.stack([np.cos(half), 0 * half, np.sin(half), 0 * half], axis=1)

    assert found(altered("debug/base_pose", bow)) == []


def test_a_roll_that_ends_on_the_feet_is_no_fall() -> None:
    def roll(values: np.ndarray) -> None:
        half = np.pi * np.clip((np.arange(len(values)) - 400) / 100, 0, 1)
        values[:, 2] *= 0.65 + 0.35 * np.cos(2 * half)
        values[:, 3:] = np.stack([np.cos(half), 0 * half, np.sin(half), 0 * half], axis=1)

    assert found(altered("debug/base_pose", roll)) == []


def test_a_robot_that_lies_for_long_has_fallen_though_it_is_lifted_up_again() -> None:
    def lie_and_rise(values: np.ndarray) -> None:
        fall(values)
        values[-60:] = values[0]

    subject = altered("debug/base_pose", lie_and_rise)
    assert found(subject) == []
    (finding,) = CHECK.find(subject, max_down_s=1.5)
    assert finding.frames[0][1] <= 740


def test_a_fall_is_felt_without_a_base_pose() -> None:
    def lie(values: np.ndarray) -> None:
        values[500:, :3] = [-9.81, 0.0, 0.0]

    subject = altered("observations/pelvis_imu", lie, without("base_pose").recording)
    (finding,) = found(subject)
    assert finding.stream == "observations/pelvis_imu"
    assert abs(finding.frames[0][0] - 500) < 40


def test_a_recording_with_neither_base_nor_imu_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="neither a base_pose"):
        found(without("base_pose", "_imu"))
