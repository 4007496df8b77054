"""A change is said where the data shows it, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.operations.monitoring import change
from corporeal.operations.monitoring.change import (
    LevelChange,
    NoChange,
    TooFew,
    find_change,
    least_values,
)


def _noise(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.8, 0.04, count)


def test_a_step_is_found_with_its_place_and_both_levels() -> None:
    values = _noise(18, 1)
    values[14:] -= 0.28
    result = find_change(values, series=4)
    assert isinstance(result, LevelChange)
    assert result.at == 14
    assert result.before == pytest.approx(values[:14].mean())
    assert result.after == pytest.approx(values[14:].mean())
    assert result.chance < 0.01


def test_noise_is_called_a_change_about_as_often_as_promised() -> None:
    called = sum(isinstance(find_change(_noise(16, seed)), LevelChange) for seed in range(150))
    # With a chance of 0.01 each, 7 of 150 or more happen once in 1,400 times.
    assert called < 7


def test_one_outlier_and_a_constant_are_no_change() -> None:
    values = _noise(20, 3)
    values[12] = 0.1
    assert isinstance(find_change(values), NoChange)
    assert find_change(np.full(12, 0.9)) == NoChange(1.0)


def test_what_is_missing_is_exactly_what_a_perfect_step_needs() -> None:
    assert least_values() == 10
    perfect = np.repeat([0.9, 0.5], 5)
    assert isinstance(find_change(perfect), LevelChange)
    assert find_change(perfect[1:]) == TooFew(1)
    assert least_values(4) == 12
    assert isinstance(find_change(np.repeat([0.9, 0.5], 6), series=4), LevelChange)


def test_of_a_long_series_the_latest_values_count_and_places_stay_its_own() -> None:
    values = _noise(900, 5)
    values[850:] -= 0.3
    result = find_change(values)
    assert isinstance(result, LevelChange)
    assert result.at == 850


def test_an_answer_that_stands_is_not_looked_at_further(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def count(rows: np.ndarray) -> np.ndarray:
        drawn.append(len(rows))
        return measured(rows)

    measured = change._steps
    monkeypatch.setattr(change, "_steps", count)
    assert isinstance(find_change(_noise(400, 2), series=40), NoChange)
    fallen = _noise(400, 2)
    fallen[300:] -= 0.3
    assert isinstance(find_change(fallen, series=40), LevelChange)
    assert sum(drawn) < 2000


def test_the_bound_is_never_below_the_chance_that_orders_show() -> None:
    for seed in range(12):
        values = _noise(30, seed)
        values[20:] -= 0.01 * seed
        step = float(change._steps(values[None])[0].max())
        lot = np.broadcast_to(values, (4000, 30))
        orders = np.random.default_rng(seed).permuted(lot, axis=1)
        shown = float((change._steps(orders).max(axis=1) >= step).mean())
        assert shown <= change._bound(values, step) + 0.01
