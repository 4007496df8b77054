"""Measures of agreement, against worked examples, other packages and their own rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corporeal.labelling.agreement.measures import (
    FrameSpan,
    cohen_kappa,
    edit_distance,
    edit_score,
    krippendorff_alpha,
    pair_up,
    share_bounds,
)

_LABELS = st.lists(st.sampled_from("abc"), max_size=8)


def test_kappa_of_a_table_worked_by_hand() -> None:
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)


def test_kappa_of_nothing_is_no_number() -> None:
    assert math.isnan(cohen_kappa([]))


def test_alpha_of_krippendorffs_own_example() -> None:
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    assert krippendorff_alpha(list(zip(*rows, strict=True))) == pytest.approx(0.743, abs=5e-4)


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=3, max_size=3), min_size=3,
             max_size=12)
)  # fmt: skip
def test_alpha_is_that_of_the_krippendorff_package(units: list[list[str | None]]) -> None:
    peer = pytest.importorskip("krippendorff")
    paired = [value for unit in units for value in unit if value and len([*filter(None, unit)]) > 1]
    # Without two labels among things that two people labelled, the package has no answer.
    assume(len(set(paired)) > 1)
    numbers = {"a": 0.0, "b": 1.0, "c": 2.0, None: np.nan}
    data = np.array([[numbers[value] for value in unit] for unit in units]).T
    wanted = peer.alpha(reliability_data=data, level_of_measurement="nominal")
    assert krippendorff_alpha(units) == pytest.approx(wanted, abs=1e-9)


def test_alpha_of_people_who_never_label_the_same_thing_is_no_number() -> None:
    assert math.isnan(krippendorff_alpha([["a", None], [None, "b"]]))


def test_a_share_of_three_in_three_proves_little() -> None:
    lower, upper = share_bounds(3, 3)
    assert lower == pytest.approx(0.025 ** (1 / 3))
    assert upper == 1.0
    assert share_bounds(0, 0) == (0.0, 1.0)


def test_the_words_kitten_and_sitting_are_three_edits_apart() -> None:
    assert edit_distance("kitten", "sitting") == 3
    assert edit_score([], []) == 1.0
    assert edit_score(["a"], []) == 0.0


@given(_LABELS, _LABELS, _LABELS)
def test_the_distance_of_sequences_is_a_distance(one: list[str], two: list[str],
                                                 three: list[str]) -> None:  # fmt: skip
    assert edit_distance(one, two) == edit_distance(two, one)
    assert (edit_distance(one, two) == 0) == (one == two)
    assert edit_distance(one, three) <= edit_distance(one, two) + edit_distance(two, three)


def test_segments_are_paired_in_order_and_the_odd_one_stays_alone() -> None:
    first = [
        FrameSpan("reach", 0, 50, 0),
        FrameSpan("grasp", 50, 60, 1),
        FrameSpan("lift", 60, 90, 2),
    ]
    second = [FrameSpan("reach", 0, 52, 0), FrameSpan("lift", 52, 90, 1)]
    assert pair_up(first, second) == [
        (first[0], second[0]),
        (first[1], None),
        (first[2], second[1]),
    ]
