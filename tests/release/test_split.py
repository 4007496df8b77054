"""Splits keep their shares in every stratum, do not part groups, and stay where they were."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.catalog.database import CatalogError
from corporeal.release.split import SplitItem, allot, assign_splits

SHARES = {"train": 0.9, "validation": 0.1}


def _items(sizes: dict[str, int], start: int = 0) -> list[SplitItem]:
    return [
        SplitItem(f"{name}-{number}", name) for name, size in sizes.items()
        for number in range(start, start + size)
    ]  # fmt: skip


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=40),
    st.sampled_from([(0.9, 0.1), (0.8, 0.1, 0.1), (0.5, 0.5), (0.7, 0.2, 0.05, 0.05)]),
)
def test_every_stratum_and_the_whole_keep_their_shares(
    sizes: list[int], shares: tuple[float, ...]
) -> None:
    quotas = allot(sizes, shares)
    for size, quota in zip(sizes, quotas, strict=True):
        assert sum(quota) == size
        assert min(quota) >= 0
    if len(shares) == 2:
        for size, quota in zip(sizes, quotas, strict=True):
            assert all(abs(got - size * share) < 1.000001
                       for got, share in zip(quota, shares, strict=True))  # fmt: skip
    totals = [sum(quota[at] for quota in quotas) for at in range(len(shares))]
    for got, share in zip(totals, shares, strict=True):
        assert abs(got - sum(sizes) * share) < len(shares)


def test_strata_of_one_episode_together_keep_the_share() -> None:
    items = _items({f"s{number}": 1 for number in range(100)})
    assert Counter(assign_splits(items, SHARES).values()) == {"train": 90, "validation": 10}


def test_a_small_set_still_has_something_to_validate_with() -> None:
    counts = Counter(assign_splits(_items({"a": 2, "b": 2}), SHARES).values())
    assert counts == {"train": 3, "validation": 1}


def test_the_same_seed_gives_the_same_splits_in_any_order_of_episodes() -> None:
    items = _items({"a": 37, "b": 11, "c": 3})
    again = assign_splits(items[::-1], SHARES, seed=4)
    assert assign_splits(items, SHARES, seed=4) == again
    assert assign_splits(items, SHARES, seed=5) != again


def test_an_added_episode_moves_few_others() -> None:
    shares = {"train": 0.8, "validation": 0.1, "test": 0.1}
    items = _items({f"s{number}": 3 + number for number in range(40)})
    before = assign_splits(items, shares)
    for number in range(20):
        after = assign_splits([*items, SplitItem(f"new-{number}", f"s{number}")], shares)
        assert sum(before[name] != after[name] for name in before) <= 6


def test_growing_by_a_tenth_moves_less_than_a_tenth() -> None:
    sizes = {f"s{number}": 50 for number in range(20)}
    before = assign_splits(_items(sizes), SHARES)
    after = assign_splits(_items(dict.fromkeys(sizes, 55)), SHARES)
    assert sum(before[name] != after[name] for name in before) < 0.1 * len(before)


def _grouped(count: int, size: int) -> list[SplitItem]:
    return [
        SplitItem(f"{group}-{number}", f"task{number % 3}", f"session{group}")
        for group in range(count) for number in range(size)
    ]  # fmt: skip


def test_no_group_is_in_two_splits_and_the_shares_are_near() -> None:
    items = _grouped(50, 10)
    placed = assign_splits(items, SHARES)
    homes = {item.group: placed[item.id] for item in items}
    assert all(placed[item.id] == homes[item.group] for item in items)
    assert Counter(placed.values()) == {"train": 450, "validation": 50}


def test_groups_of_very_different_size_come_as_near_as_they_can() -> None:
    sizes = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 40, 41, 42, 43, 44]
    items = [
        SplitItem(f"{group}-{number}", (), f"g{group}")
        for group, size in enumerate(sizes)
        for number in range(size)
    ]
    for seed in range(5):
        counts = Counter(assign_splits(items, SHARES, seed=seed).values())
        assert abs(counts["validation"] - 0.1 * len(items)) < 0.01 * len(items)


def test_two_groups_fill_both_splits() -> None:
    items = _grouped(2, 10)
    assert Counter(assign_splits(items, SHARES).values()) == {"train": 10, "validation": 10}


def test_an_added_group_moves_few_others() -> None:
    items = _grouped(80, 10)
    before = assign_splits(items, SHARES)
    moved = []
    for number in range(10):
        more = [SplitItem(f"new{number}-{at}", f"task{at % 3}", f"new{number}") for at in range(10)]
        after = assign_splits([*items, *more], SHARES)
        moved.append(len({name.split("-")[0] for name in before if before[name] != after[name]}))
    assert sum(moved) / len(moved) <= 4


@pytest.mark.parametrize(
    "shares",
    [{}, {"train": 0.9}, {"train": 1.2, "validation": -0.2}, {"train": float("nan")},
     {"train": 0.5, "negatives": 0.5}, {"../x": 1.0}],
)  # fmt: skip
def test_shares_that_are_no_parts_of_a_whole_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(CatalogError):
        assign_splits([SplitItem("a")], shares)
