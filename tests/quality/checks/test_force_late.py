"""Wrist forces out of step with the hand are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.moving import WRENCH, moving, rows

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.force_late import CHECK


def test_a_force_in_step_passes() -> None:
    assert list(CHECK.find(Subject(moving()))) == []


@pytest.mark.parametrize("late_s", [-0.08, 0.08])
def test_a_force_out_of_step_is_found(late_s: float) -> None:
    (finding,) = CHECK.find(Subject(moving(late_s={WRENCH: late_s})))
    assert finding.stream == WRENCH
    assert finding.value == pytest.approx(late_s, abs=0.01)


def test_a_force_that_the_motion_does_not_explain_is_not_assessed() -> None:
    recording = moving()
    noise = np.random.default_rng(0).normal(size=(len(recording.signals[WRENCH]), 6))
    changed = replace(recording.signals[WRENCH], values=noise)  # type: ignore[type-var]
    other = replace(recording, signals={**recording.signals, WRENCH: changed})
    with pytest.raises(NotAssessed, match="alone"):
        list(CHECK.find(Subject(other)))


def test_rows_without_force_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="wrench"):
        list(CHECK.find(Subject(rows(30.0))))


def test_forty_milliseconds_are_found_and_measured() -> None:
    (finding,) = CHECK.find(Subject(moving(late_s={WRENCH: 0.04})))
    assert finding.value == pytest.approx(0.04, abs=0.01)
