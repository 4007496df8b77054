"""The recording has the rolls of its protocol."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import demonstration, told
from tests.quality.ruled import MARKS, judge, marked

from corporeal.errors import NotAssessed

NAME = "roll_length_off_protocol"


def test_passes_with_a_second_before_and_two_after() -> None:
    assert not list(judge(NAME, marked()))
    assert not list(judge(NAME, told(demonstration(), marks=MARKS)))


def test_finds_rolls_that_are_too_short() -> None:
    found = list(judge(NAME, marked(roll={"pre_s": 0.3, "post_s": 1.0})))
    assert [each.value for each in found] == [0.3, 1.0]
    assert "the post-roll is 1.00 s; the protocol asks for 2 s" in found[1].message


def test_without_marks_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge(NAME, demonstration()))
