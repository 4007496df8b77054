"""Drift is found where it was planted, breaks are told from hours, and tasks are no fatigue."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.operations.trained import BEGIN, put

from corporeal.catalog.database import Database
from corporeal.operations.operators import WorkEpisode, estimate_drift, fit_mixed, read_fatigue
from corporeal.operations.scope import read_scope


def shift(
    draw: np.random.Generator, session: int, *, drift: float = 0.0, noise: float = 0.05,
    break_at_h: float | None = None, kinds: int = 1, in_order: bool = False, count: int = 60,
    afternoon: bool = False, lifted: float = 0.0,
) -> tuple[list[WorkEpisode], dict[str, float]]:  # fmt: skip
    """A session of two hours with log durations that grow by `drift` since the last break."""
    work, values = [], {}
    level = math.log(20) + draw.normal(0, 0.1) + (lifted if afternoon else 0.0)
    for number in range(count):
        at_h = 2 * number / count
        rested = break_at_h is not None and at_h >= break_at_h
        since = at_h - (break_at_h or 0.0) if rested else at_h
        kind = number * kinds // count if in_order else int(draw.integers(kinds))
        name = f"{session}-{number}"
        work.append(WorkEpisode(name, f"op{session % 4}", session, f"task {kind}", afternoon, since,
                                at_h, None, None))  # fmt: skip
        values[name] = level + 0.3 * kind + math.log1p(drift) * since / 2 + draw.normal(0, noise)
    return work, values


def many(count: int, seed: int, **facts: object) -> tuple[list[WorkEpisode], dict[str, float]]:
    draw = np.random.default_rng(seed)
    work: list[WorkEpisode] = []
    values: dict[str, float] = {}
    for session in range(count):
        more, own = shift(draw, session, afternoon=session % 2 == 1, **facts)  # type: ignore[arg-type]
        work, values = work + more, values | own
    return work, values


def test_a_drift_of_a_tenth_is_found_with_its_interval() -> None:
    found = estimate_drift(*many(8, 1, drift=0.1), "duration")
    assert found.is_seen
    assert found.change is not None
    assert found.change.lower < 0.1 < found.change.upper
    assert found.change.upper - found.change.lower < 0.1


def test_too_little_data_says_how_much_is_missing() -> None:
    found = estimate_drift(*many(1, 2, noise=0.3), "duration")
    assert found.more_sessions is not None
    assert 10 < found.more_sessions < 60
    assert "too little data to see a drift of 10 %" in found.words
    assert f"{found.more_sessions} more sessions" in found.words


def test_enough_data_without_drift_says_that_one_would_be_seen() -> None:
    found = estimate_drift(*many(12, 3, noise=0.03), "duration")
    assert not found.is_seen
    assert found.more_sessions == 0
    assert "would be seen" in found.words


def test_what_a_break_undoes_is_told_from_what_the_day_does() -> None:
    found = estimate_drift(*many(10, 11, drift=0.2, break_at_h=1.0), "duration")
    assert found.break_effect is not None
    planted = math.expm1(-math.log1p(0.2) * 0.75 / 2)
    assert found.break_effect.lower < planted < found.break_effect.upper
    assert found.break_effect.upper < 0


def test_tasks_that_come_one_after_the_other_are_not_taken_for_fatigue() -> None:
    varied = estimate_drift(*many(6, 5, kinds=3), "duration")
    assert not varied.is_seen
    ordered = estimate_drift(*many(6, 5, kinds=3, in_order=True, noise=0.02), "duration")
    assert not ordered.is_seen
    one_by_one = many(4, 6, kinds=60, in_order=True)
    assert "order of tasks" in estimate_drift(*one_by_one, "duration").words


def test_afternoons_are_compared_with_mornings() -> None:
    found = estimate_drift(*many(30, 7, lifted=0.2), "duration")
    assert found.afternoon is not None
    assert found.afternoon.lower < math.expm1(0.2) < found.afternoon.upper
    assert not found.is_seen


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 12), st.integers(3, 12), st.integers(0, 10_000))
def test_balanced_groups_give_the_variances_of_the_textbook(
    groups: int, size: int, seed: int
) -> None:
    """With equal groups REML is the analysis of variance, as far as that is not negative."""
    draw = np.random.default_rng(seed)
    which = np.repeat(np.arange(groups), size)
    y = draw.normal(0, 2.0, groups)[which] + draw.normal(0, 1.0, groups * size)
    fit = fit_mixed(y, np.ones((len(y), 1)), [np.eye(groups)[which]])
    means = np.array([y[which == each].mean() for each in range(groups)])
    within = float(((y - means[which]) ** 2).sum()) / (groups * (size - 1))
    between = size * float(means.var(ddof=1))
    if between > 1.2 * within:
        assert fit.noise == pytest.approx(within, rel=0.02)
        assert fit.variances[0] == pytest.approx((between - within) / size, rel=0.05)
    assert fit.effects[0] == pytest.approx(y.mean())


def test_sessions_and_breaks_are_those_of_the_catalogue(database: Database) -> None:
    with database.write() as connection:
        put(connection, 20, at=BEGIN)
        put(connection, 20, at=BEGIN + timedelta(minutes=35))
        put(connection, 20, at=BEGIN + timedelta(hours=9))
        put(connection, 20, at=BEGIN, operator="op02", good=10)
        report = read_fatigue(connection, read_scope(connection))
    assert (report.people, report.sessions, report.breaks) == (2, 3, 1)
    assert [each.outcome for each in report.drifts] == [
        "duration", "errors", "smoothness", "diversity",
    ]  # fmt: skip
    errors = report.drifts[1]
    assert errors.episodes == 80
    assert "cannot tell: 0 episodes" in report.drifts[2].words
