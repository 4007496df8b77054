"""When a campaign is done: by whole days, with bounds that hold, and not told of too few days."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from corporeal.operations.campaign import CampaignForecast, forecast
from corporeal.operations.campaign.campaign import CampaignEpisode, Outcome

MONDAY = datetime(2026, 11, 2, 9, 0).astimezone()


def of_day(day: int, outcome: Outcome, count: int) -> list[CampaignEpisode]:
    at_ns = round((MONDAY + timedelta(days=day)).timestamp()) * 10**9
    return [CampaignEpisode({}, {}, None, "ann", "s1", at_ns, outcome, None)] * count


def after(day: int, planned: int, *episodes: list[CampaignEpisode]) -> CampaignForecast:
    return forecast(planned, [each for some in episodes for each in some],
                    MONDAY + timedelta(days=day, hours=3))  # fmt: skip


def test_pace_and_yield_of_whole_days_tell_when_it_is_done() -> None:
    days = [of_day(day, "accepted", 10) + of_day(day, "rejected", 2) for day in (0, 1, 2, 3)]
    told = after(4, 100, *days, of_day(4, "accepted", 1))
    assert (told.left, told.days, told.per_day) == (59, 4, 10.0)
    assert told.accepted_share == pytest.approx(41 / 49)
    assert told.days_left == pytest.approx(5.9)
    assert told.low is not None
    assert told.high is not None
    assert told.low < 5.9 < told.high
    assert told.expected == date(2026, 11, 12)
    assert told.words.startswith("59 episodes left: at 10.0 a working day (84 % accepted)")


def test_what_nobody_has_judged_counts_by_the_yield_and_practice_counts_for_nothing() -> None:
    days = [of_day(day, "accepted", 6) + of_day(day, "rejected", 2) + of_day(day, "unchecked", 4)
            + of_day(day, "practice", 20) for day in range(3)]  # fmt: skip
    told = after(3, 63, *days)
    assert told.per_day == pytest.approx(9.0)
    assert told.left == 45
    assert told.days_left == pytest.approx(4.0)


def test_weekends_move_the_date_and_not_the_days() -> None:
    days = [of_day(day, "accepted", 10) for day in (0, 1, 2, 3, 4, 7, 8, 9, 10, 11)]
    told = after(14, 150, *days)
    assert told.days_left == 5.0
    assert told.expected == date(2026, 11, 22)


def test_of_two_days_nothing_is_told_and_neither_of_what_nobody_judged() -> None:
    two = after(
        5, 50, of_day(0, "accepted", 10), of_day(1, "accepted", 10), of_day(5, "accepted", 1)
    )
    assert two.days_left is None
    assert two.words == (
        "Cannot tell when it will be done: 2 whole days of work so far; 3 are needed."
    )
    waiting = after(5, 50, *(of_day(day, "unchecked", 10) for day in range(4)))
    assert "none of its episodes is judged" in waiting.words
    assert "nothing was accepted" in after(
        5, 50, *(of_day(day, "rejected", 10) for day in range(4))
    ).words  # fmt: skip
    assert after(5, 20, of_day(0, "accepted", 20)).words == "All its episodes are accepted."


def test_three_days_as_far_apart_as_can_be_have_no_latest_day() -> None:
    told = after(3, 200, of_day(0, "accepted", 1), of_day(1, "accepted", 30),
                 of_day(2, "accepted", 2))  # fmt: skip
    assert told.high is None
    assert "or much later" in told.words


@pytest.mark.parametrize(("days", "scatter"), [(3, 0.0), (5, 0.3), (10, 0.3)])
def test_the_bounds_hold_the_truth_nine_times_in_ten(days: int, scatter: float) -> None:
    chance = np.random.default_rng(days)

    def drawn(count: int) -> list[int]:
        return [int(each) for each in chance.poisson(12 * chance.gamma(
            1 / scatter**2, scatter**2, count) if scatter else np.full(count, 12.0))]  # fmt: skip

    held = 0
    for _ in range(200):
        made = drawn(days)
        told = after(days, sum(made) + 80, *(of_day(day, "accepted", count)
                                             for day, count in enumerate(made)))  # fmt: skip
        took = int(np.searchsorted(np.cumsum(drawn(60)), 80)) + 1
        held += told.low is not None and told.low <= took and (
            told.high is None or took <= told.high
        )  # fmt: skip
    assert held >= 172, held


def test_the_clock_of_the_caller_says_what_today_is() -> None:
    made = [each for day in range(3) for each in of_day(day, "accepted", 10)]
    assert forecast(50, made, datetime(2026, 11, 4, 23, tzinfo=UTC)).days <= 3
    assert forecast(50, made, MONDAY).days == 0
