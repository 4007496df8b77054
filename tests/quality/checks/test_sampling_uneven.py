"""Uneven sampling is found, missing samples are not taken for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.quality.moving import IMU, moving, restamped, rows, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.sampling_uneven import CHECK


def shaken(share: float, period_ns: float, when: NDArray[np.int64]) -> NDArray[np.int64]:
    shifts = np.random.default_rng(3).uniform(-share, share, len(when)) * period_ns
    return np.sort(when + shifts.astype(np.int64))


def test_even_samples_pass() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


def test_five_percent_of_jitter_are_tolerated() -> None:
    mild = restamped(moving(), IMU, lambda when: shaken(0.05, 5e6, when))
    assert list(CHECK.find(Subject(mild))) == []


@pytest.mark.parametrize("share", [0.15, 0.3])
def test_jitter_is_found(share: float) -> None:
    uneven = restamped(moving(), IMU, lambda when: shaken(share, 5e6, when))
    (finding,) = CHECK.find(Subject(uneven))
    assert finding.stream == IMU
    assert finding.value is not None
    assert finding.value > 0.1


def test_made_stamps_may_not_shake() -> None:
    uneven = restamped(rows(30.0), "action", lambda when: shaken(0.05, 3.3e7, when))
    (finding,) = CHECK.find(Subject(uneven))
    assert (finding.stream, finding.limit) == ("action", 0.02)


def test_missing_samples_are_no_jitter() -> None:
    lost = np.arange(10, 2300, 12)
    assert list(CHECK.find(Subject(without(moving(), IMU, lost)))) == []


def test_too_few_samples_are_not_assessed() -> None:
    short = without(moving(), IMU, slice(10, None))
    with pytest.raises(NotAssessed):
        list(CHECK.find(Subject(replace(short, signals={IMU: short.signals[IMU]}))))
