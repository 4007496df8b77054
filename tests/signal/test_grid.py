"""Grids and filters: even stamps, gaps, resampling."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.signal.filters import low_pass, moving_mean
from corporeal.signal.grid import bridge_gaps, even_stamps, finite_and_rising, resample


def test_even_stamps_are_rounded_to_nanoseconds() -> None:
    assert even_stamps(4, 30.0).tolist() == [0, 33_333_333, 66_666_667, 100_000_000]


def test_gaps_are_bridged_along_straight_lines_and_a_dead_column_is_zero() -> None:
    values = np.array([[0.0, np.nan], [np.nan, np.inf], [2.0, np.nan]])
    assert bridge_gaps(values).tolist() == [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    whole = np.ones((3, 2))
    assert bridge_gaps(whole) is whole


def test_rows_that_are_no_numbers_or_go_back_in_time_are_left_out() -> None:
    time_s, values = finite_and_rising(
        np.array([0.0, 1.0, 0.5, 2.0]), np.array([[0.0], [np.nan], [3.0], [4.0]])
    )
    assert time_s.tolist() == [0.0, 0.5, 2.0]
    assert values[:, 0].tolist() == [0.0, 3.0, 4.0]


def test_a_fast_stream_is_averaged_before_it_is_thinned() -> None:
    time_s = np.arange(1000) / 1000.0
    hum = np.sin(2 * np.pi * 200.0 * time_s)[:, None]
    calm = resample(np.arange(10, 40) / 50.0, time_s, hum, rate_hz=50.0)
    assert np.abs(calm).max() < 0.1


def test_a_low_pass_has_no_delay_and_a_moving_mean_holds_the_ends() -> None:
    time_s = np.arange(400) / 100.0
    slow = np.sin(2 * np.pi * 0.5 * time_s)[:, None]
    assert low_pass(slow, 100.0, 9.0) == pytest.approx(slow, abs=0.01)
    assert moving_mean(np.array([0.0, 3.0, 6.0]), 3).tolist() == [1.0, 3.0, 5.0]
