"""Time warping gives the distance of its definition, and a path of that length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from corporeal.errors import CorporealError
from corporeal.signal import warping
from corporeal.signal.warping import distance, distances, pairwise, warping_path

Array = NDArray[np.float64]


def plain(a: Array, b: Array, band: float | None = None) -> float:
    """The definition, cell by cell."""
    rows, columns = len(a), len(b)
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0.0
    for i in range(rows):
        for j in range(columns):
            apart = abs(i / max(1, rows - 1) - j / max(1, columns - 1))
            if band is None or apart <= band + 1e-9:
                least = min(total[i, j], total[i, j + 1], total[i + 1, j])
                total[i + 1, j + 1] = np.linalg.norm(a[i] - b[j]) + least
    return float(total[-1, -1])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    lengths=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    columns=st.integers(1, 5),
    band=st.none() | st.floats(0.3, 1.0),
    shift=st.floats(-100, 100),
)
def test_the_distance_is_that_of_the_definition(
    seed: int, lengths: tuple[int, int], columns: int, band: float | None, shift: float
) -> None:
    dice = np.random.default_rng(seed)
    a, b = (dice.normal(size=(length, columns)) + shift for length in lengths)
    expected = plain(a, b, band)
    assert distance(a, b, band=band) == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_series_longer_than_a_block_are_as_exact() -> None:
    dice = np.random.default_rng(1)
    lengths = (2 * warping.MOST_ROWS // 4 + 3, 150)
    a, b = (dice.normal(size=(length, 3)).cumsum(axis=0) for length in lengths)
    many = [(a, b)] * 40  # so many lanes that blocks are at their smallest
    expected = plain(a, b)
    assert distance(a, b) == pytest.approx(expected, rel=1e-5)
    assert distances(many) == pytest.approx([expected] * 40, rel=1e-5)


def test_pairs_of_different_lengths_keep_their_order() -> None:
    dice = np.random.default_rng(2)
    pairs = [
        (dice.normal(size=(n, 2)), dice.normal(size=(m, 2))) for n, m in ((5, 9), (3, 3), (5, 9))
    ]
    assert distances(pairs) == pytest.approx([plain(a, b) for a, b in pairs], rel=1e-5)


def test_portions_bounded_in_memory_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(3)
    pairs = [(dice.normal(size=(20, 2)), dice.normal(size=(30, 2))) for _ in range(7)]
    whole = distances(pairs)
    monkeypatch.setattr(warping, "CELLS", 1)
    assert distances(pairs) == pytest.approx(whole, rel=1e-6)


def test_a_series_is_at_no_distance_from_itself_done_slower() -> None:
    path = np.sin(np.linspace(0, 6, 50))[:, None]
    assert distance(path, np.repeat(path, 2, axis=0)) == pytest.approx(0, abs=1e-3)
    assert distance(path, path + 1.0) > 1.0


def test_every_series_is_held_against_every_other() -> None:
    dice = np.random.default_rng(4)
    series = [dice.normal(size=(12, 2)) for _ in range(4)]
    table = pairwise(series)
    assert np.array_equal(table, table.T)
    assert np.all(np.diag(table) == 0)
    assert table[1, 3] == pytest.approx(plain(series[1], series[3]), rel=1e-5)
    assert pairwise(series[:1]).shape == (1, 1)


def test_series_that_do_not_fit_are_refused() -> None:
    with pytest.raises(CorporealError, match="same columns"):
        distance(np.zeros((3, 2)), np.zeros((3, 4)))
    with pytest.raises(CorporealError, match="empty"):
        distance(np.zeros((0, 2)), np.zeros((3, 2)))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 1000))
def test_the_path_is_as_short_as_the_distance_says(rows: int, columns: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    a, b = draw.normal(size=(rows, 3)), draw.normal(size=(columns, 3))
    path = warping_path(a, b, band=1.0)
    assert path[0].tolist() == [0, 0]
    assert path[-1].tolist() == [rows - 1, columns - 1]
    steps = np.diff(path, axis=0)
    assert ((steps >= 0) & (steps <= 1)).all()
    assert (steps.sum(axis=1) >= 1).all()
    walked = np.linalg.norm(a[path[:, 0]] - b[path[:, 1]], axis=1).sum()
    assert walked == pytest.approx(distance(a, b), rel=1e-3, abs=1e-3)
