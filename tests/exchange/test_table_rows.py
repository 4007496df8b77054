"""The times of rows and the pictures they show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corporeal.exchange.table import picture_numbers

PERIOD = 33_333_333


def _numbers(stamps: np.ndarray, grid: np.ndarray) -> np.ndarray:
    return picture_numbers(stamps.astype(np.int64), grid.astype(np.int64), period_ns=PERIOD)


def test_a_camera_in_step_shows_its_pictures_in_turn() -> None:
    grid = np.arange(100) * PERIOD
    assert _numbers(grid + 4_000_000, grid).tolist() == list(range(100))


def test_a_camera_half_a_period_off_neither_repeats_nor_skips() -> None:
    rng = np.random.default_rng(0)
    grid = np.arange(300) * PERIOD
    stamps = grid + PERIOD // 2 + rng.integers(-3_000_000, 3_000_000, 300)
    nearest = np.abs(stamps[None, :] - grid[:, None]).argmin(axis=1)
    assert (np.diff(nearest) != 1).sum() > 50, "the nearest picture alone would flicker"
    assert (np.diff(_numbers(stamps, grid)) == 1).all()


def test_a_lost_picture_is_bridged_by_its_neighbour() -> None:
    grid = np.arange(20) * PERIOD
    stamps = np.delete(grid, 10)
    numbers = _numbers(stamps, grid)
    assert numbers[:10].tolist() == list(range(10))
    assert numbers[10] in (9, 10)
    assert numbers[11:].tolist() == list(range(10, 19))


def test_a_camera_that_runs_slow_repeats_a_picture_now_and_then() -> None:
    grid = np.arange(1000) * PERIOD
    stamps = (np.arange(1000) * PERIOD * 1.01).astype(np.int64)
    numbers = _numbers(stamps, grid)
    assert (np.diff(numbers) >= 0).all()
    assert 8 <= (np.diff(numbers) == 0).sum() <= 11
    assert np.abs(stamps[numbers] - grid).max() <= 0.75 * PERIOD


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rate=st.floats(0.2, 3.0),
    lost=st.floats(0.0, 0.3),
)
def test_pictures_never_go_back_and_are_as_near_as_promised(
    seed: int, rate: float, lost: float
) -> None:
    rng = np.random.default_rng(seed)
    stamps = np.sort((np.arange(80) * PERIOD / rate + rng.normal(0, 2e6, 80)).astype(np.int64))
    stamps = stamps[rng.random(80) >= lost]
    if not len(stamps):
        return
    grid = np.arange(int(stamps[0]), int(stamps[-1]) + 1, PERIOD)
    numbers = _numbers(stamps, grid)
    assert (np.diff(numbers) >= 0).all()
    assert numbers.min() >= 0
    assert numbers.max() < len(stamps)
    best = np.abs(stamps[None, :] - grid[:, None]).min(axis=1)
    shown = np.abs(stamps[numbers] - grid)
    assert (shown <= np.maximum(best, 0.75 * PERIOD)).all()


def test_one_picture_serves_all_rows() -> None:
    assert _numbers(np.array([5]), np.arange(4) * PERIOD).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_short_episode_has_pictures_for_all_rows(count: int) -> None:
    grid = np.arange(count) * PERIOD
    assert _numbers(grid, grid).tolist() == list(range(count))
