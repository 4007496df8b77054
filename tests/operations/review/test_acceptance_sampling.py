"""What a sample proves, against published tables, SciPy and chance itself."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, hypergeom

from corporeal.errors import CorporealError
from corporeal.operations.review import make_plan, most_bad, sample_size
from corporeal.operations.review.acceptance_sampling import Stratum, acceptance_number, judge_lot
from corporeal.words import percent_bound


@given(st.integers(1, 300), st.data())
@settings(max_examples=60, deadline=None)
def test_the_bound_is_where_scipy_puts_it(lot: int, data: st.DataObject) -> None:
    sample = data.draw(st.integers(1, lot))
    rejected = data.draw(st.integers(0, sample))
    bound = most_bad(lot, sample, rejected)
    assert rejected <= bound <= lot - (sample - rejected)
    assert bound == rejected or hypergeom.cdf(rejected, lot, bound, sample) > 0.05 - 1e-9
    if bound < lot - (sample - rejected):
        assert hypergeom.cdf(rejected, lot, bound + 1, sample) <= 0.05 + 1e-9


@pytest.mark.parametrize(
    ("limit", "accept", "published"),
    # Samples of single plans for lots without end at 95 %, as tables of the binomial have them.
    [(0.05, 0, 59), (0.10, 0, 29), (0.05, 1, 93), (0.10, 1, 46), (0.10, 2, 61), (0.01, 0, 299)],
)
def test_for_a_large_lot_the_sample_is_the_published_one(
    limit: float, accept: int, published: int
) -> None:
    assert sample_size(10_000_000, limit, accept=accept) == pytest.approx(published, abs=1)


def test_for_a_large_lot_the_bound_is_that_of_clopper_and_pearson() -> None:
    for sample, rejected in ((24, 0), (120, 3), (60, 10)):
        expected = beta.ppf(0.95, rejected + 1, sample - rejected)
        assert most_bad(5_000_000, sample, rejected) / 5_000_000 == pytest.approx(
            expected, abs=1e-6
        )


def test_the_plan_says_what_it_proves_before_anybody_looks() -> None:
    plan = make_plan(200, 24)
    assert (plan.accept, round(plan.proves, 3)) == (0, 0.11)
    assert plan.words == (
        "look at 24 of 200; if none is bad, at most 11 % of the batch are, with 95 % confidence"
    )
    assert "47 would be enough" in make_plan(200, 24, limit=0.05).words
    assert make_plan(200, 24, limit=0.05).accept is None
    assert make_plan(20, 20).proves == 0


def test_the_acceptance_number_is_the_last_one_that_proves_the_limit() -> None:
    number = acceptance_number(2000, 240, 0.05)
    assert number == 6
    assert most_bad(2000, 240, 6) <= 100 < most_bad(2000, 240, 7)


def test_a_limit_asks_for_the_smallest_sample_that_proves_it() -> None:
    size = sample_size(200, 0.05)
    assert most_bad(200, size, 0) <= 10 < most_bad(200, size - 1, 0)


def test_the_lot_is_undecided_then_accepted_or_not() -> None:
    plan = make_plan(200, 24, limit=0.2)
    assert plan.accept == 1
    for decided, rejected, state in (
        (0, 0, "undecided"), (10, 0, "undecided"), (10, 2, "not accepted"), (24, 1, "accepted"),
        (24, 2, "not accepted"), (10, 1, "undecided"),
    ):  # fmt: skip
        found = judge_lot(plan, [Stratum("all", 200, 24, decided, rejected)])
        assert found.state == state, (decided, rejected)


def test_a_rejected_episode_counts_by_how_many_it_stands_for() -> None:
    plan = make_plan(200, 20)
    rare = [Stratum("rare", 10, 10, 10, 2), Stratum("usual", 190, 10, 10, 0)]
    usual = [Stratum("rare", 10, 10, 10, 0), Stratum("usual", 190, 10, 10, 2)]
    low, high = judge_lot(plan, rare), judge_lot(plan, usual)
    assert low.share == pytest.approx(2 / 200)
    assert high.share == pytest.approx(0.2 * 190 / 200)
    assert low.most_bad is not None
    assert high.most_bad is not None
    assert low.most_bad < high.most_bad
    even = judge_lot(plan, [Stratum("all", 200, 20, 20, 2)])
    assert high.most_bad > (even.most_bad or 0), "uneven strata prove less"


def test_the_bound_holds_as_often_as_it_says() -> None:
    """Lots whose bad episodes sit with one operator, drawn from evenly and unevenly."""
    chance = random.Random(4)
    for sizes, draws in (((100, 60, 40), (12, 7, 5)), ((150, 40, 10), (12, 6, 6))):
        held = 0
        for _ in range(600):
            bad = (chance.randint(0, 30), chance.randint(0, 8), chance.randint(0, 4))
            strata = [
                Stratum(str(place), size, drawn, drawn,
                        sum(one < bad[place] for one in chance.sample(range(size), drawn)))
                for place, (size, drawn) in enumerate(zip(sizes, draws, strict=True))
            ]  # fmt: skip
            found = judge_lot(make_plan(sum(sizes), sum(draws), strata=strata), strata)
            held += sum(bad) / sum(sizes) <= (found.most_bad or 0) + 1e-12
        assert held / 600 > 0.94, (sizes, held / 600)


def test_what_cannot_be_a_sample_is_refused() -> None:
    with pytest.raises(CorporealError, match="5 rejected of 3 of 10"):
        most_bad(10, 3, 5)


def test_a_bound_is_rounded_so_that_it_stays_true() -> None:
    assert percent_bound(0.11001) == "11.1 %"
    assert percent_bound(0.11) == "11 %"
    assert math.isclose(float(percent_bound(0.0999).removesuffix(" %")), 10.0)
