"""The object ends where it should."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import OBJECT, demonstration, told
from tests.quality.ruled import judge

from corporeal.errors import NotAssessed

NAME = "placement_off_protocol"


def test_passes_within_two_centimetres() -> None:
    assert not list(judge(NAME, told(demonstration(), goal=[0.45, 0.01, 0.75])))


def test_finds_an_object_beside_its_goal() -> None:
    (found,) = judge(NAME, told(demonstration(), goal=[0.45, 0.05, 0.75]))
    assert found.stream == OBJECT
    assert found.value == pytest.approx(0.05)


def test_finds_an_error_that_the_outcome_states() -> None:
    outcome = {"success": True, "measures": {"placement_error_m": 0.034}}
    (found,) = judge(NAME, told(demonstration(), outcome=outcome))
    assert found.value == 0.034


def test_without_a_goal_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge(NAME, demonstration()))
