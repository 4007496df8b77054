"""A stream that runs at another rate than it states is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.moving import IMU, moving, restamped, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.rate_misstated import CHECK


def test_stated_rates_pass() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_rate_ten_percent_off_is_found(factor: float) -> None:
    (finding,) = CHECK.find(Subject(restamped(moving(), IMU, lambda when: when * factor)))
    assert finding.stream == IMU
    assert finding.value == pytest.approx(abs(1 / factor - 1), abs=1e-3)
    assert "states 200 Hz" in finding.message


def test_every_second_sample_lost_is_another_rate() -> None:
    (finding,) = CHECK.find(Subject(without(moving(), IMU, slice(0, None, 2))))
    assert finding.value == pytest.approx(0.5)


def test_a_recording_without_rates_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(Subject(replace(moving(), signals={}))))
