"""Episodes drawn into parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.errors import CorporealError
from corporeal.exchange.editing.edit import draw_split, parse_shares


@given(st.integers(2, 300), st.floats(0.05, 0.95), st.integers(0, 99))
def test_every_episode_is_in_exactly_one_part(count: int, share: float, seed: int) -> None:
    parts = draw_split(range(count), {"a": share, "b": 1 - share}, seed=seed)
    assert sorted(parts["a"] + parts["b"]) == list(range(count))
    assert parts["a"]
    assert parts["b"]
    assert abs(len(parts["a"]) - share * count) <= 1.0 + 1e-9


def test_the_same_seed_draws_the_same() -> None:
    shares = {"train": 0.8, "validation": 0.2}
    assert draw_split(range(50), shares, seed=3) == draw_split(range(50), shares, seed=3)
    assert draw_split(range(50), shares, seed=3) != draw_split(range(50), shares, seed=4)


def test_shares_are_read() -> None:
    assert parse_shares("train=0.9, validation=0.1") == {"train": 0.9, "validation": 0.1}


@pytest.mark.parametrize(
    "text", ["train", "train=1", "a=0.5,b=0.6", "a=0.5,a=0.5", "../x=0.5,b=0.5", "a=0..5,b=0.5"]
)
def test_wrong_shares_say_what_was_expected(text: str) -> None:
    with pytest.raises(CorporealError, match="expected"):
        parse_shares(text)


def test_more_parts_than_episodes_is_an_error() -> None:
    with pytest.raises(CorporealError, match="1 episodes for 2 parts"):
        draw_split([0], {"a": 0.5, "b": 0.5}, seed=0)
