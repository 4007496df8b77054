"""Velocities of another moment are found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.moving import POSITION, VELOCITY, moving, rows

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.velocity_late import CHECK


def test_velocities_in_step_pass() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


@pytest.mark.parametrize("late_s", [-0.02, 0.02, 0.08])
def test_velocities_out_of_step_are_found(late_s: float) -> None:
    (finding,) = CHECK.find(Subject(moving(late_s={VELOCITY: late_s})))
    assert finding.stream == VELOCITY
    assert finding.value == pytest.approx(late_s, abs=0.003)
    assert ("late" if late_s > 0 else "early") in finding.message


def test_half_a_frame_is_allowed() -> None:
    assert list(CHECK.find(Subject(moving(late_s={VELOCITY: 0.005})))) == []


def test_a_robot_that_stands_still_is_not_assessed() -> None:
    recording = moving()
    still = {
        label: replace(recording.signals[label], values=0 * recording.signals[label][:])  # type: ignore[type-var]
        for label in (POSITION, VELOCITY)
    }
    with pytest.raises(NotAssessed, match="too little"):
        list(CHECK.find(Subject(replace(recording, signals=still))))


def test_rows_without_velocity_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="joint_velocity"):
        list(CHECK.find(Subject(rows(30.0))))
