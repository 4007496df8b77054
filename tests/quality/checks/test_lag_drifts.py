"""Lags that grow along the episode are found."""

from __future__ import annotations

import pytest
from tests.quality.moving import IMU, VELOCITY, moving, restamped, rows

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.lag_drifts import CHECK


def test_steady_lags_pass() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


def test_a_constant_lag_is_steady() -> None:
    assert list(CHECK.find(Subject(moving(late_s={VELOCITY: 0.05})))) == []


@pytest.mark.parametrize("label", [IMU, VELOCITY])
def test_half_a_percent_of_drift_is_found(label: str) -> None:
    drifting = restamped(moving(), label, lambda when: when * 1.005)
    (finding,) = CHECK.find(Subject(drifting))
    assert finding.stream == label
    assert finding.value == pytest.approx(0.045, abs=0.015)
    assert len(finding.evidence["lag_s"]) >= 3


def test_rows_without_such_a_pair_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no two streams"):
        list(CHECK.find(Subject(rows(30.0))))
