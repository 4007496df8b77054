"""Lags are found from content, whatever the rates, and doubtful ones say so."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.signal.lag import lag, lag_course
from corporeal.signal.track import Array


def motion(time_s: Array, columns: int = 3, *, seed: int = 0) -> Array:
    dice = np.random.default_rng(seed)
    hertz = dice.uniform(0.2, 2.5, (6, columns))
    waves = np.sin(2 * np.pi * hertz * time_s[:, None, None] + dice.uniform(0, 6, (6, columns)))
    return np.asarray(waves.sum(axis=1))


@pytest.mark.parametrize("true_s", [-0.15, -0.004, 0.0, 0.013, 0.2])
@pytest.mark.parametrize(("one_hz", "two_hz"), [(100.0, 200.0), (30.0, 30.0), (20.0, 50.0)])
def test_a_lag_is_found_to_a_fraction_of_a_frame(
    true_s: float, one_hz: float, two_hz: float
) -> None:
    one_s, two_s = np.arange(0, 12, 1 / one_hz), np.arange(0.3, 12.4, 1 / two_hz)
    dice = np.random.default_rng(1)
    noisy = 3 * motion(two_s - true_s) + 7 + dice.normal(0, 0.05, (len(two_s), 3))
    found = lag(motion(one_s), one_s, noisy, two_s)
    assert found.seconds == pytest.approx(true_s, abs=0.003)
    assert found.confidence > 0.9
    assert found.correlation > 0.9
    assert found.deviation_s < 0.005


def test_one_column_is_enough() -> None:
    time_s = np.arange(0, 10, 0.02)
    found = lag(motion(time_s, 1)[:, 0], time_s, motion(time_s - 0.06, 1)[:, 0], time_s)
    assert found.seconds == pytest.approx(0.06, abs=0.003)


@pytest.mark.parametrize("seed", range(5))
def test_unrelated_signals_give_no_confidence(seed: int) -> None:
    time_s = np.arange(0, 12, 0.02)
    one, two = motion(time_s, seed=seed), motion(time_s, seed=seed + 50)
    assert lag(one, time_s, two, time_s).confidence < 0.5


def test_a_periodic_motion_is_ambiguous() -> None:
    time_s = np.arange(0, 12, 0.01)
    wave = np.sin(2 * np.pi * 4 * time_s)
    assert lag(wave, time_s, np.roll(wave, 3), time_s).confidence < 0.5


@pytest.mark.parametrize("values", [np.zeros(400), np.full(400, np.nan), np.zeros(0), np.zeros(1)])
def test_nothing_to_see_is_no_lag(values: Array) -> None:
    time_s = np.arange(400) / 50
    found = lag(motion(time_s)[:, 0], time_s, values, time_s[: len(values)])
    assert found.confidence == 0.0
    assert np.isnan(found.seconds)


def test_holes_and_repeated_stamps_do_not_disturb() -> None:
    time_s = np.arange(0, 12, 0.01)
    values = motion(time_s - 0.05)
    values[200:210] = np.nan
    stamps = time_s.copy()
    stamps[300] = stamps[299]
    assert lag(motion(time_s), time_s, values, stamps).seconds == pytest.approx(0.05, abs=0.003)


def test_a_drift_shows_in_the_course() -> None:
    time_s = np.arange(0, 20, 0.01)
    middles, lags = lag_course(motion(time_s), time_s, motion(time_s * 0.995), time_s)
    slope = np.polyfit(middles, [each.seconds for each in lags], 1)[0]
    assert slope == pytest.approx(0.005, rel=0.1)


def test_signals_apart_in_time_have_no_course() -> None:
    time_s = np.arange(0, 5, 0.01)
    _, lags = lag_course(motion(time_s), time_s, motion(time_s), time_s + 100)
    assert all(each.confidence == 0 for each in lags)
