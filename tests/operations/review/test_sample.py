"""A sample has something of everyone, and the same seed draws it again."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corporeal.errors import CorporealError
from corporeal.operations.review.sample import (
    LotEpisode,
    allocate,
    draw,
    read_lot_episode,
    size_of,
    variant_of,
)


def _lot(count: int, *, operators: int = 4, stations: int = 2) -> list[LotEpisode]:
    return [
        LotEpisode(f"e{number:04}", (f"op{number % operators}", f"st{number % stations}",
                                    f"{8 + number % 3} h", "reach"))
        for number in range(count)
    ]  # fmt: skip


def test_every_stratum_is_looked_at_in_proportion() -> None:
    sample = draw(_lot(240), size_of(240, 0.12), seed=1)
    assert len(sample.drawn) == len({name for name, _ in sample.drawn}) == 29
    assert sum(each.lot for each in sample.strata) == 240
    assert all(each.drawn >= 1 for each in sample.strata)
    assert {each.drawn for each in sample.strata} <= {2, 3}, "twelve strata of twenty"


def test_the_same_seed_draws_the_same_and_another_one_another() -> None:
    lot = _lot(200)
    assert draw(lot, 24, seed=7) == draw(list(reversed(lot)), 24, seed=7)
    assert draw(lot, 24, seed=7).drawn != draw(lot, 24, seed=8).drawn


def test_a_rare_operator_is_looked_at_too() -> None:
    lot = [*_lot(200, operators=1, stations=1)[:198], LotEpisode("r1", ("rare", "st9", "3 h", "x")),
           LotEpisode("r2", ("rare", "st9", "3 h", "x"))]  # fmt: skip
    for seed in range(20):
        assert {"r1", "r2"} & {name for name, _ in draw(lot, 24, seed=seed).drawn}


def test_with_more_strata_than_places_the_finest_factor_no_longer_parts() -> None:
    sample = draw(_lot(40, operators=4, stations=4), 5, seed=0)
    assert sample.by == ("operator", "station")
    assert Counter(name.split(" · ")[0] for _, name in sample.drawn).keys() == {
        f"op{number}" for number in range(4)
    }
    assert draw(_lot(40, operators=20), 3).by == ()


def test_every_episode_has_the_same_chance_within_its_stratum() -> None:
    lot, seen = _lot(60, operators=3, stations=1), Counter[str]()
    for seed in range(400):
        seen.update(name for name, _ in draw(lot, 12, seed=seed).drawn)
    assert len(seen) == 60
    assert max(seen.values()) < 2 * 80
    assert min(seen.values()) > 80 / 2


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.data())
@settings(max_examples=100, deadline=None)
def test_allocation_gives_out_exactly_what_there_is(
    given_sizes: list[int], data: st.DataObject
) -> None:
    sizes = {f"stratum {place}": size for place, size in enumerate(given_sizes)}
    total = data.draw(st.integers(0, sum(sizes.values())))
    counts = allocate(sizes, total, random.Random(0))
    assert sum(counts.values()) == total
    assert all(0 <= counts[name] <= sizes[name] for name in sizes)
    if total >= len(sizes):
        assert min(counts.values()) >= 1


def test_a_variant_is_named_by_words_not_by_measures() -> None:
    varied = {"variation": {"hand": "left", "light": 0.8, "fault": None, "approach": "top"}}
    assert variant_of("reach", varied) == "reach top left"
    assert variant_of("reach", {**varied, "variant": "green cup"}) == "green cup"
    hour_ns = 3_600 * 10**9
    read = read_lot_episode("a", "accepted", None, "st1", 14 * hour_ns, "reach", varied)
    assert read.levels == ("unknown", "st1", "14 h", "reach top left")


def test_a_share_is_rounded_up_and_checked() -> None:
    assert (size_of(200, 0.12), size_of(1, 0.1), size_of(0, 0.1)) == (24, 1, 0)
    with pytest.raises(CorporealError, match="share"):
        size_of(10, 1.5)
