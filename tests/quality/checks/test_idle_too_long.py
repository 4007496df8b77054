"""Motion, not waiting."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.demonstrations import STATE, demonstration, rows, with_pause, without

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.idle_too_long import find


@pytest.mark.parametrize("seed", range(5))
def test_passes_with_a_second_before_and_two_after(seed: int) -> None:
    assert not list(find(Subject(demonstration(seed))))


@pytest.mark.parametrize(
    ("at", "words"), [(0, "at the start"), (230, "in the middle"), (469, "at the end")]
)
def test_finds_where_nothing_moves_for_long(at: int, words: str) -> None:
    (found,) = find(Subject(with_pause(demonstration(), at, 10.0)))
    assert words in found.message
    assert found.stream == STATE
    assert found.value == pytest.approx(11.5, abs=2.0)
    first, stop = found.frames[0]
    assert first <= at + 20
    assert stop >= at + 480


def test_finds_many_rests_that_are_each_short_enough() -> None:
    recording = demonstration(motion_s=4.0)
    for at in (205, 160, 120, 90):
        recording = with_pause(recording, at, 2.4)
    (found,) = find(Subject(recording))
    assert "% of the" in found.message
    assert found.value is not None
    assert found.value > 0.4


def test_an_episode_in_which_nothing_moves_is_left_to_another_check() -> None:
    assert not list(find(Subject(rows(demonstration(), np.full(900, 5)))))


def test_without_a_state_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(find(Subject(without(demonstration(), STATE))))
