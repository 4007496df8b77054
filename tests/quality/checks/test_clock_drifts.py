"""Clocks that drift are found, from stamps and from what the recorder noted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.quality.moving import IMU, moving, restamped, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.clock_drifts import CHECK

GOOD = {"drift_ppm": 20.0, "jumps": 0, "backwards": 0, "samples": 2000}


def told(**facts: Any) -> Subject:
    return Subject(replace(moving(), metadata={"clocks": {"robot": GOOD, "head": GOOD | facts}}))


def test_clocks_in_step_pass() -> None:
    assert list(CHECK.find(told())) == []


@pytest.mark.parametrize("drift", [-0.005, 0.005])
def test_half_a_percent_of_drift_is_found(drift: float) -> None:
    (finding,) = CHECK.find(Subject(restamped(moving(), IMU, lambda when: when * (1 + drift))))
    assert finding.stream == IMU
    assert finding.value == pytest.approx(5000, rel=0.02)
    assert ("slow" if drift > 0 else "fast") in finding.message


def test_lost_samples_are_no_drift() -> None:
    lost = np.random.default_rng(0).choice(2300, 30, replace=False)
    assert list(CHECK.find(Subject(without(moving(), IMU, lost)))) == []


def test_another_rate_is_no_drift() -> None:
    assert list(CHECK.find(Subject(restamped(moving(), IMU, lambda when: when * 1.1)))) == []


@pytest.mark.parametrize("facts", [{"drift_ppm": 900.0}, {"jumps": 1}, {"backwards": 2}])
def test_what_the_recorder_noted_is_reported(facts: dict[str, Any]) -> None:
    (finding,) = CHECK.find(told(**facts))
    assert "source head" in finding.message


def test_short_streams_are_not_assessed() -> None:
    short = without(moving(), IMU, slice(20, None))
    with pytest.raises(NotAssessed):
        list(CHECK.find(Subject(replace(short, signals={IMU: short.signals[IMU]}))))
