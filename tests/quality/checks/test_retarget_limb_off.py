"""Limbs that point elsewhere than the person's are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import standing
from tests.retargeting.made_results import result_of, squatting

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.retarget_limb_off import CHECK
from corporeal.retargeting.result import Retargeted
from corporeal.retargeting.robot_episode import recording_of


def found(result: Retargeted) -> list[Finding]:
    return list(CHECK.find(Subject(recording_of(result))))


def test_limbs_that_point_as_the_persons_do_pass() -> None:
    assert found(result_of(*squatting(60), turned_rad=np.radians(30))) == []


def test_a_shank_on_the_other_side_is_named_with_its_frames() -> None:
    result = result_of(*squatting(60), turned_rad=np.radians(5))
    limb = result.goals.limbs["left_shank"]
    limb.direction[20:40] *= -1
    (finding,) = found(result)
    assert "the left shank points 175 degrees away from the person's" in finding.message
    assert "20 of 60 frames" in finding.message
    assert finding.frames == ((20, 40),)
    assert finding.value == pytest.approx(175, abs=0.1)
    assert finding.limit == 45.0


def test_a_limb_that_is_off_for_a_moment_only_passes() -> None:
    result = result_of(*squatting(60), turned_rad=np.radians(5))
    result.goals.limbs["left_shank"].direction[20:25] *= -1
    assert found(result) == []


def test_a_limb_that_was_not_seen_is_not_off() -> None:
    result = result_of(*squatting(60), turned_rad=np.radians(5))
    limb = result.goals.limbs["left_shank"]
    limb.direction[20:40] *= -1
    limb.confidence[20:40] = 0.0
    assert found(result) == []


def test_an_episode_that_was_not_retargeted_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no retarget_limb_error stream"):
        list(CHECK.find(Subject(standing())))
