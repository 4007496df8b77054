"""Sensors that repeat themselves are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.reaching import IMU, POSITION, TORQUE, altered, reaching, table, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.signal_frozen import CHECK


def freeze(first: int, stop: int, number: int | None = None) -> object:
    def edit(values: np.ndarray) -> None:
        columns = slice(None) if number is None else number
        values[first:stop, columns] = values[first, columns]

    return edit


def test_sensors_that_tremble_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []
    assert list(CHECK.find(Subject(table()))) == []


@pytest.mark.parametrize(
    ("role", "label"),
    [("pelvis_imu", IMU), ("joint_torque", TORQUE), ("joint_position", POSITION)],
)
def test_a_stream_that_repeats_all_its_values_is_found(role: str, label: str) -> None:
    (finding,) = CHECK.find(altered(**{role: freeze(200, 240)}))  # type: ignore[arg-type]
    assert (finding.stream, finding.frames) == (label, ((200, 240),))


def test_one_axis_that_is_stuck_is_found() -> None:
    (finding,) = CHECK.find(altered(pelvis_imu=freeze(400, 500, 2)))  # type: ignore[arg-type]
    assert finding.frames == ((400, 500),)
    assert "az" in finding.message


def test_a_sensor_that_never_changes_is_found() -> None:
    (finding,) = CHECK.find(altered(pelvis_imu=freeze(0, 1600)))  # type: ignore[arg-type]
    assert finding.stream == IMU


def test_a_joint_at_rest_may_repeat_its_position() -> None:
    assert list(CHECK.find(altered(joint_position=freeze(200, 300, 5)))) == []  # type: ignore[arg-type]


def test_a_recording_without_sensors_is_not_assessed() -> None:
    roles = [s.spec.name for s in reaching().signals.values() if s.spec.group != "actions"]
    with pytest.raises(NotAssessed):
        list(CHECK.find(without(reaching(), *roles)))
