"""Actions that come after the motion, or far ahead of it, are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.moving import SERVO_S, TARGET, moving, rows, with_signal

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.action_late import CHECK
from corporeal.quality.evidence.action_lag import action_lag_measures


def delayed(recording: Recording, rows_: int) -> Recording:
    action = recording.signals["action"]
    assert isinstance(action, ArraySignal)
    place = np.clip(np.arange(len(action)) - rows_, 0, len(action) - 1)
    return with_signal(recording, "action", replace(action, values=action.values[place]))


@pytest.mark.parametrize("rate_hz", [20.0, 30.0, 50.0])
def test_a_servo_passes_and_its_lag_is_known(rate_hz: float) -> None:
    subject = Subject(rows(rate_hz))
    assert list(CHECK.find(subject)) == []
    measures = action_lag_measures(subject)
    assert measures["action_lag_s"] == pytest.approx(SERVO_S, abs=0.005)
    assert len(measures) >= 11


def test_an_action_that_is_the_next_state_passes() -> None:
    whole = rows(30.0)
    state = whole.signals["observation.state"]
    assert isinstance(state, ArraySignal)
    shifted = np.concatenate((state.values[1:], state.values[-1:]))
    action = replace(state, spec=whole.signals["action"].spec, values=shifted)
    assert list(CHECK.find(Subject(with_signal(whole, "action", action)))) == []


@pytest.mark.parametrize("late_s", [0.08, 0.15])
def test_a_robot_that_moves_before_it_is_told_is_found(late_s: float) -> None:
    (finding,) = CHECK.find(Subject(moving(late_s={TARGET: late_s})))
    assert finding.stream == TARGET
    assert finding.value == pytest.approx(SERVO_S - late_s, abs=0.01)
    assert "before it is told" in finding.message


def test_rows_shifted_against_each_other_are_found() -> None:
    (finding,) = CHECK.find(Subject(delayed(rows(30.0), 3)))
    assert finding.value == pytest.approx(SERVO_S - 0.1, abs=0.01)


def test_a_robot_that_answers_much_too_late_is_found() -> None:
    (finding,) = CHECK.find(Subject(moving(late_s={TARGET: -0.25})))
    assert finding.value == pytest.approx(SERVO_S + 0.25, abs=0.02)


def test_a_robot_that_stands_still_is_not_assessed() -> None:
    whole = rows(30.0)
    still = {
        label: replace(each, values=0 * each[:])  # type: ignore[type-var]
        for label, each in whole.signals.items()
    }
    subject = Subject(replace(whole, signals=still))
    with pytest.raises(NotAssessed):
        list(CHECK.find(subject))
    assert action_lag_measures(subject) == {}
