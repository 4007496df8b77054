"""A solver that gave up is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.quality.standing import standing
from tests.retargeting.made_results import result_of, squatting

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.retarget_not_converged import CHECK
from corporeal.retargeting.robot_episode import recording_of


def test_a_result_that_converged_passes() -> None:
    assert list(CHECK.find(Subject(recording_of(result_of(*squatting(20)))))) == []


def test_a_result_that_did_not_is_found_with_its_first_note() -> None:
    result = replace(result_of(*squatting(20), converged=False), notes=("it faces backwards",))
    (finding,) = CHECK.find(Subject(recording_of(result)))
    assert finding.message == "the retargeting did not converge: it faces backwards"


def test_an_episode_that_was_not_retargeted_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="nothing of a retargeting"):
        list(CHECK.find(Subject(standing())))
