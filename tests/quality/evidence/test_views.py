"""Two views are compared for likeness, shift and turn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from corporeal.quality.evidence.views import busy_share, edges, likeness, shift, turned_views

WIDE = 128 + 60 * gaussian_filter(np.random.default_rng(3).normal(0, 3, (80, 120)), 1.2)
VIEW = WIDE[10:70, 20:100]


def test_a_view_is_like_itself_in_any_light() -> None:
    assert likeness(VIEW, VIEW) == pytest.approx(1)
    assert likeness(VIEW, 0.5 * VIEW + 20) == pytest.approx(1)
    assert likeness(VIEW, np.ones_like(VIEW)) == 0


def test_another_view_is_not_like_it() -> None:
    other = gaussian_filter(np.random.default_rng(4).normal(0, 3, VIEW.shape), 1.2)
    assert abs(likeness(VIEW, other)) < 0.3


@pytest.mark.parametrize(("down", "right"), [(0, 0), (3, -5), (-2, 7)])
def test_a_shift_is_measured(down: int, right: int) -> None:
    moved = WIDE[10 - down : 70 - down, 20 - right : 100 - right]
    got_down, got_right, fit = shift(VIEW, moved)
    assert got_down == pytest.approx(down, abs=0.3)
    assert got_right == pytest.approx(right, abs=0.3)
    assert fit > 0.95


def test_a_plain_view_has_no_edges() -> None:
    assert edges(np.full((60, 80), 7.0)).max() == 0
    assert busy_share(np.full((60, 80), 7.0)) == 0
    assert busy_share(VIEW) > 0.5


def test_turned_views_turn_back() -> None:
    for _, turned in turned_views(VIEW):
        assert any(np.array_equal(VIEW, again) for _, again in turned_views(turned))
