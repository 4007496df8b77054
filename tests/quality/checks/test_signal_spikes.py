"""Leaps out and back are found in positions, targets, velocities and inertial units."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.reaching import (
    IMU,
    POSITION,
    TARGET,
    VELOCITY,
    altered,
    changed,
    column,
    reaching,
    table,
    without,
)

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.signal_spikes import CHECK


def leap(first: int, stop: int, number: int, size: float) -> object:
    def edit(values: np.ndarray) -> None:
        values[first:stop, number] += size

    return edit


def test_smooth_motions_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []
    assert list(CHECK.find(Subject(table()))) == []


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize(
    ("role", "label", "size"),
    [
        ("joint_position", POSITION, 0.2),
        ("joint_position_target", TARGET, -0.25),
        ("joint_velocity", VELOCITY, 5.0),
        ("pelvis_imu", IMU, 12.0),
    ],
)
def test_a_leap_is_found_with_its_frames(role: str, label: str, size: float, width: int) -> None:
    number = 2 if role == "pelvis_imu" else column("right_elbow")
    (finding,) = CHECK.find(altered(**{role: leap(200, 200 + width, number, size)}))  # type: ignore[arg-type]
    assert (finding.stream, finding.frames) == (label, ((200, 200 + width),))


def test_a_leap_in_a_table_at_thirty_hertz_is_found() -> None:
    spoilt = changed(table(), joint_position=leap(100, 101, 3, 0.2))  # type: ignore[arg-type]
    (finding,) = CHECK.find(Subject(spoilt))
    assert (finding.stream, finding.frames) == ("observation.state", ((100, 101),))


def test_a_leap_of_a_joint_that_rests_otherwise_is_found() -> None:
    def rest_and_leap(values: np.ndarray) -> None:
        values[:, 3] = 0.002
        values[100, 3] += 0.3

    (finding,) = CHECK.find(Subject(changed(table(), joint_position=rest_and_leap)))
    assert (finding.stream, finding.frames) == ("observation.state", ((100, 101),))


def test_a_hand_that_is_only_open_or_shut_may_switch() -> None:
    def switch(values: np.ndarray) -> None:
        values[:, -1] = 0.0
        values[100:102, -1] = 1.0

    assert list(CHECK.find(Subject(changed(table(), joint_position=switch)))) == []


def test_a_step_that_stays_is_none() -> None:
    assert list(CHECK.find(altered(joint_position=leap(300, 800, 4, 0.3)))) == []  # type: ignore[arg-type]


def test_a_blow_that_every_axis_feels_is_none() -> None:
    def blow(values: np.ndarray) -> None:
        values[500] += 20.0 * np.array([1, -0.5, 1, 0.1, 0.2, 0.1])

    assert list(CHECK.find(altered(pelvis_imu=blow))) == []


def test_a_recording_without_numbers_is_not_assessed() -> None:
    roles = [signal.spec.name for signal in reaching().signals.values()]
    with pytest.raises(NotAssessed):
        list(CHECK.find(without(reaching(), *roles)))
