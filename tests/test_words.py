"""Lists, counts, shares and sizes read well at their edges."""

from __future__ import annotations

import pytest

from corporeal.words import byte_size, counted, listed, percent, percent_bound, some_of, with_unit


@pytest.mark.parametrize(
    ("names", "words"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_a_list_ends_with_and(names: list[str], words: str) -> None:
    assert listed(names) == words
    assert listed(iter(names)) == words


@pytest.mark.parametrize(
    ("names", "words"),
    [("", ""), ("ab", "a and b"), ("abc", "a, b and c"), ("abcd", "a, b and 2 more")],
)
def test_a_long_list_says_how_many_more(names: str, words: str) -> None:
    assert some_of(names, most=2) == words


def test_things_with_commas_are_parted_by_something_else() -> None:
    assert some_of(["a, b", "c", "d", "e"], most=2, between="; ") == "a, b; c and 2 more"
    assert listed(["a, b", "c", "d"], between="; ") == "a, b; c and d"


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (12400, "12,400 tasks")]
)
def test_one_is_one_and_all_others_are_many(number: int, words: str) -> None:
    assert counted(number, "task") == words
    assert counted(2, "boundary", "boundaries") == "2 boundaries"


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "0 %"), (0.0004, "under 0.1 %"), (0.0123, "1.2 %"), (0.5, "50 %"), (0.953, "95.3 %"),
     (0.9995, "over 99.9 %"), (1.0, "100 %")],
)  # fmt: skip
def test_a_share_is_never_rounded_to_all_or_nothing(share: float, words: str) -> None:
    assert percent(share) == words


@pytest.mark.parametrize(("share", "words"), [(0.0, "0 %"), (0.0101, "1.1 %"), (0.05, "5 %")])
def test_a_bound_stays_true(share: float, words: str) -> None:
    assert percent_bound(share) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_500_000, "1.5 MB"), (2e9, "2.0 GB"),
     (3.25e12, "3.2 TB"), (4e16, "40000.0 TB")],
)  # fmt: skip
def test_a_size_is_in_the_unit_that_fits(count: float, words: str) -> None:
    assert byte_size(count) == words


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [(4.59e6, "Pa", "4.59 MPa"), (94.0, "N", "94 N"), (-1200.0, "N", "-1.2 kN"), (0.0, "N", "0 N")],
)
def test_a_large_value_has_a_prefix_before_its_unit(value: float, unit: str, words: str) -> None:
    assert with_unit(value, unit) == words
