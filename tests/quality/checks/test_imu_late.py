"""Inertial sensors out of step are found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.moving import BASE, IMU, moving, rows

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.imu_late import CHECK


def test_an_imu_in_step_passes() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


@pytest.mark.parametrize("late_s", [-0.02, 0.02, 0.04, 0.08])
def test_an_imu_out_of_step_is_found(late_s: float) -> None:
    (finding,) = CHECK.find(Subject(moving(late_s={IMU: late_s})))
    assert finding.stream == IMU
    assert finding.value == pytest.approx(late_s, abs=0.005)
    assert BASE in finding.message


def test_a_pelvis_whose_turning_nobody_saw_is_not_assessed() -> None:
    recording = moving()
    unseen = {label: each for label, each in recording.signals.items() if label != BASE}
    with pytest.raises(NotAssessed, match="turn too little"):
        list(CHECK.find(Subject(replace(recording, signals=unseen))))


def test_rows_without_an_imu_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="imu"):
        list(CHECK.find(Subject(rows(30.0))))
