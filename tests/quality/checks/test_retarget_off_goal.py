"""Hands and feet that miss their goals are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import standing
from tests.retargeting.made_results import result_of, squatting, unsure

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.retarget_off_goal import CHECK
from corporeal.retargeting.result import Retargeted
from corporeal.retargeting.robot_episode import recording_of


def found(result: Retargeted) -> list[Finding]:
    return list(CHECK.find(Subject(recording_of(result))))


def test_a_motion_that_reaches_its_goals_passes() -> None:
    assert found(result_of(*squatting(60), off_m=0.03)) == []


def test_each_end_that_misses_is_named_with_its_frames() -> None:
    result = result_of(*squatting(60))
    result.error_m[20:25, 1] = 0.08
    (finding,) = found(result)
    assert "the right hand is 0.080 m from its goal at 0.40 s" in finding.message
    assert "5 of 60 frames" in finding.message
    assert finding.frames == ((20, 25),)
    assert finding.value == pytest.approx(0.08)
    assert finding.limit == 0.05


def test_an_end_without_a_goal_misses_nothing() -> None:
    result = unsure(result_of(*squatting(60), off_m=0.2), "left_hand")
    assert {each.message[:13] for each in found(result)} == {
        "the right han", "the left foot", "the right foo"
    }  # fmt: skip


def test_an_episode_that_was_not_retargeted_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no retarget_error stream"):
        list(CHECK.find(Subject(standing())))


def test_the_limit_is_a_keyword() -> None:
    subject = Subject(recording_of(result_of(*squatting(60), off_m=0.03)))
    assert len(list(CHECK.find(subject, max_error_m=0.02))) == 4
    assert np.isclose(next(iter(CHECK.find(subject, max_error_m=0.02))).value or 0.0, 0.03)
