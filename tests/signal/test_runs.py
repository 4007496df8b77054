"""Runs of samples: where a flag is on, where values repeat, when a level is crossed."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.signal.runs import crossing_s, keep_lasting, longest_repeats, runs


def test_runs_are_half_open_and_reach_both_ends() -> None:
    assert runs([1, 1, 0, 0, 1]) == ((0, 2), (4, 5))
    assert runs([0, 0, 0]) == ()
    assert runs([]) == ()


def test_runs_with_a_small_gap_become_one() -> None:
    assert runs([1, 0, 1, 0, 0, 1], gap=1) == ((0, 3), (5, 6))


def test_short_runs_are_left_out_after_gaps_are_closed() -> None:
    assert runs([1, 0, 1, 0, 0, 0, 1], gap=1, least=3) == ((0, 3),)


def test_only_what_lasts_is_kept() -> None:
    kept = keep_lasting(np.array([1, 0, 1, 1, 1, 0], bool), 2)
    assert kept.tolist() == [False, False, True, True, True, False]


def test_the_longest_repeat_of_each_column_is_found() -> None:
    values = np.array([[1.0, 5.0], [2.0, 5.0], [2.0, 5.0], [3.0, 6.0]])
    start, length = longest_repeats(values)
    assert start.tolist() == [1, 0]
    assert length.tolist() == [2, 3]


def test_a_level_is_crossed_between_two_samples() -> None:
    time_s, values = np.array([0.0, 1.0, 2.0]), np.array([0.0, 4.0, 4.0])
    assert crossing_s(time_s, values, 1, 1.0) == pytest.approx(0.25)
    assert crossing_s(time_s, values, 0, 1.0) == 0.0
    assert crossing_s(time_s, values, 3, 1.0) == 2.0
