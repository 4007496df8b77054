"""The demonstration is as long as its protocol allows."""

from __future__ import annotations

import pytest
from tests.quality.demonstrations import STATE, demonstration
from tests.quality.ruled import MARKS, judge, marked

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.duration_off_protocol import find


def test_passes_within_the_range() -> None:
    assert not list(judge("duration_off_protocol", marked()))
    assert not list(judge("duration_off_protocol", demonstration()))


def test_finds_a_demonstration_that_is_too_short_between_its_marks() -> None:
    marks = [MARKS[0], {"what": "end", "time_ns": 3_200_000_000}]
    (found,) = judge("duration_off_protocol", marked(marks=marks))
    assert (found.value, found.limit, found.stream) == (2.0, 5.0, STATE)


def test_finds_one_that_is_too_long() -> None:
    (found,) = judge("duration_off_protocol", demonstration(motion_s=70.0))
    assert found.limit == 60.0


def test_without_a_protocol_or_under_that_of_another_task_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="--protocol"):
        list(find(Subject(demonstration())))
    with pytest.raises(NotAssessed, match="for pick_place, the episode shows juggle"):
        list(judge("duration_off_protocol", demonstration(task="juggle")))
