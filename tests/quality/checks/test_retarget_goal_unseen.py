"""Hands and feet that nobody saw for long are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import standing
from tests.retargeting.made_results import result_of, squatting

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.retarget_goal_unseen import CHECK
from corporeal.retargeting.result import Retargeted
from corporeal.retargeting.robot_episode import recording_of


def found(result: Retargeted) -> list[Finding]:
    return list(CHECK.find(Subject(recording_of(result))))


def hidden(first: int, stop: int) -> Retargeted:
    """A motion at 50 Hz in which the left foot is unsure for some frames."""
    result = result_of(*squatting(120))
    assert result.rate_hz == 50.0
    result.goals.confidence[first:stop, 2] = 0.3
    return result


def test_a_person_who_is_seen_passes() -> None:
    assert found(result_of(*squatting(60))) == []


def test_a_short_gap_passes() -> None:
    assert found(hidden(40, 64)) == []


def test_a_long_gap_is_found_with_its_frames() -> None:
    (finding,) = found(hidden(40, 80))
    assert finding.message == (
        "the left foot was not seen for 0.80 s from 0.80 s on: its motion is made up."
    )
    assert finding.frames == ((40, 80),)
    assert finding.value == pytest.approx(0.8)


def test_an_end_that_is_never_seen_is_found() -> None:
    result = result_of(*squatting(120))
    result.goals.confidence[:] = np.array([1.0, 1.0, 1.0, 0.0])
    (finding,) = found(result)
    assert "the right foot was not seen for 2.40 s" in finding.message


def test_an_episode_that_was_not_retargeted_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no retarget_confidence stream"):
        list(CHECK.find(Subject(standing())))
