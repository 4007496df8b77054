"""Electric spikes are found, blows are not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import altered, standing, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.force_spikes import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


@pytest.mark.parametrize(
    ("part", "width"), [("wrist", 1), ("wrist", 3), ("ankle", 1), ("ankle", 3)]
)
def test_a_leap_of_two_hundred_newtons_is_found(part: str, width: int) -> None:
    def leap(values: np.ndarray) -> None:
        values[400 : 400 + width, 2] += 200.0

    label = f"observations/left_{part}_wrench"
    (finding,) = found(altered(label, leap))
    assert (finding.stream, finding.frames) == (label, ((400, 400 + width),))


def test_a_blow_that_fades_is_no_spike() -> None:
    def strike(values: np.ndarray) -> None:
        values[400:440, 0] += 90.0 * np.exp(-np.arange(40) / 6) * np.cos(np.arange(40))

    assert found(altered("observations/left_wrist_wrench", strike)) == []


def test_more_than_a_hand_meets_is_found() -> None:
    def press(values: np.ndarray) -> None:
        values[400:500, 0] += 300.0 * np.sin(np.linspace(0, np.pi, 100))

    (finding,) = found(altered("observations/left_wrist_wrench", press))
    assert "more than hands meet" in finding.message


def test_a_recording_without_force_sensors_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no force sensor"):
        found(without("_wrench"))
