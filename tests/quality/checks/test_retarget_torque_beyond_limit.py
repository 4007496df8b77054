"""A motion beyond the motors is found, with the frames and the joint; one within them is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.standing import standing
from tests.retargeting.made_results import result_of, squatting

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.retarget_torque_beyond_limit import CHECK
from corporeal.retargeting.measure.metrics import measure_result
from corporeal.retargeting.result import Retargeted
from corporeal.retargeting.robot_episode import recording_of


def _subject(result: Retargeted) -> Subject:
    return Subject(recording_of(result, metrics=measure_result(result)))


def _standing_result(leap_m: float = 0.0) -> Retargeted:
    q, base = squatting()
    base[100:, 2] += leap_m
    result = result_of(q, base)
    stands = np.ones_like(result.goals.contacts)
    return replace(result, goals=replace(result.goals, contacts=stands))


def test_a_squat_within_the_motors_passes() -> None:
    assert list(CHECK.find(_subject(_standing_result()))) == []


def test_a_leap_beyond_the_motors_is_found_where_it_happens() -> None:
    (finding,) = CHECK.find(_subject(_standing_result(0.05)), max_share=0.0)
    assert "more than its limit at worst" in finding.message
    assert any(first <= 100 < stop for first, stop in finding.frames)
    assert all(90 < first < stop < 110 for first, stop in finding.frames)
    assert finding.value is not None
    assert 0 < finding.value < 0.2


def test_a_share_that_is_allowed_is_not_told() -> None:
    subject = _subject(_standing_result(0.05))
    assert list(CHECK.find(subject, max_share=0.5)) == []


def test_an_episode_without_efforts_is_not_assessed() -> None:
    for subject in (Subject(standing()), Subject(recording_of(result_of(*squatting(20))))):
        with pytest.raises(NotAssessed, match="nothing of the efforts"):
            list(CHECK.find(subject))
