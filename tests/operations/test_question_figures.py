"""Figures of operations agree with plain counting over the same episodes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from tests.catalog.entries import changed, entry
from tests.operations.made_up import DAY_NS, fill, laboratory

from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import EpisodeEntry, add_episodes
from corporeal.catalog.query import count_episodes
from corporeal.operations.monitoring import measure_batch
from corporeal.operations.monitoring.batch_line import (
    FIGURES,
    batch_series,
    calibration_series,
    find_grouping,
)
from corporeal.operations.outcome import OUTCOMES, Outcome, OutcomeGroup, compare_groups, stand_out
from corporeal.operations.questions import demonstrations_per_hour
from corporeal.operations.questions.compliance import find_gaps
from corporeal.operations.questions.cost import CostAssumptions, compute_cost
from corporeal.operations.questions.demonstrations_per_hour import read_paces
from corporeal.operations.questions.failure_reasons import Source, count_failed, list_reasons
from corporeal.operations.questions.failure_weeks import refusal_history
from corporeal.operations.questions.score_spread import BINS, count_scores
from corporeal.operations.questions.throughput import bucket_spans, count_undated, read_days
from corporeal.operations.questions.waiting import list_waiting
from corporeal.operations.scope import read_scope


def outcome(entry: EpisodeEntry) -> Outcome:
    """The same rule as in SQL, written once more by hand."""
    names: tuple[Outcome, ...] = ("accepted", "quarantined", "failed")
    for said in (entry.row.state, entry.row.verdict):
        for name in names:
            if said == name:
                return name
    return "unchecked"


def test_batches_have_the_figures_that_watch_keeps(database: Database) -> None:
    fill(database, laboratory())
    with database.read() as connection:
        scope = read_scope(connection)
        by = find_grouping(connection, scope)
        assert by == "batch"
        for figure in FIGURES:
            series = batch_series(connection, scope, figure, by)
            assert len(series) > 10
            for name, value in zip(series.subjects, series.values, strict=True):
                kept = measure_batch(connection, name)
                assert math.isclose(value, kept[figure], rel_tol=1e-9), (figure, name)


def test_calibration_growth_is_that_of_the_batch(database: Database) -> None:
    fill(database, laboratory())
    with database.read() as connection:
        series = calibration_series(connection, read_scope(connection), "position_error_m", "batch")
        for name, value in zip(series.subjects, series.values, strict=True):
            kept = measure_batch(connection, name)["calibration_position_growth_m"]
            assert math.isclose(value, kept, rel_tol=1e-9), name


def test_outcomes_by_station_are_counted(database: Database) -> None:
    kept = fill(database, laboratory())
    expected = Counter((each.row.operator, outcome(each)) for each in kept)
    with database.read() as connection:
        found = compare_groups(connection, read_scope(connection), "operator")
    assert {
        (g.name, o): g.outcomes[o] for g in found for o in OUTCOMES if g.outcomes[o]
    } == expected
    shares = [each.rejected_share for each in found]
    assert shares == sorted(shares, reverse=True)


def _group(name: str, accepted: int, bad: int) -> OutcomeGroup:
    counts: dict[Outcome, int] = {
        "accepted": accepted, "quarantined": 0, "failed": bad, "unchecked": 0
    }  # fmt: skip
    return OutcomeGroup(name, counts, 1.0)


def test_a_station_that_fails_more_often_than_chance_stands_out() -> None:
    found = stand_out([_group("st1", 190, 10), _group("st2", 188, 12), _group("st3", 120, 80)])
    assert found is not None
    assert found.group.name == "st3"
    assert math.isclose(found.elsewhere, 22 / 400)


def test_differences_that_chance_makes_do_not_stand_out() -> None:
    assert stand_out([_group("st1", 9, 1), _group("st2", 8, 2), _group("st3", 7, 3)]) is None
    assert stand_out([_group("st1", 10, 10)]) is None


def test_days_add_up_and_columns_keep_everything(database: Database) -> None:
    kept = fill(database, laboratory(days=100))
    dated = [each for each in kept if each.row.recorded_ns is not None]
    hours: dict[tuple[int, str], float] = defaultdict(float)
    for each in dated:
        day = (each.row.recorded_ns or 0) // DAY_NS
        hours[day, outcome(each)] += (each.row.duration_s or 0) / 3600
    with database.read() as connection:
        scope = read_scope(connection)
        days = read_days(connection, scope)
        assert count_undated(connection, scope) == len(kept) - len(dated)
    for span in days:
        for name in OUTCOMES:
            assert math.isclose(span.hours[name], hours[span.first, name], abs_tol=1e-9)
    columns = bucket_spans(days)
    assert columns[0].days == 7
    assert all(b.first - a.first == 7 for a, b in pairwise(columns))
    assert math.isclose(sum(each.total_hours for each in columns), sum(hours.values()))


def test_cost_is_time_at_work_over_what_was_kept(database: Database) -> None:
    kept = fill(database, laboratory())
    good = [each for each in kept if outcome(each) == "accepted"]
    recorded_s = sum(each.row.duration_s or 0 for each in kept)
    with database.read() as connection:
        spent = compute_cost(connection, read_scope(connection), CostAssumptions(30, 12, 45))
    total = (recorded_s + 45 * len(kept)) / 3600 * 42
    assert math.isclose(spent.total, total)
    assert spent.per_accepted_episode is not None
    assert math.isclose(spent.per_accepted_episode, total / len(good))
    good_hours = sum(each.row.duration_s or 0 for each in good) / 3600
    assert spent.per_accepted_hour is not None
    assert math.isclose(spent.per_accepted_hour, total / good_hours)


def test_cost_has_parts_a_target_and_what_more_acceptance_saves(database: Database) -> None:
    kept = fill(database, laboratory())
    good = sum(outcome(each) == "accepted" for each in kept)
    assumed = CostAssumptions(30, 10, 45, 5, 0.5, 2.0, 0.3)
    with database.read() as connection:
        spent = compute_cost(connection, read_scope(connection), assumed)
    assert spent.parts["checking"] == pytest.approx(0.5 * len(kept))
    assert spent.parts["annotation"] == pytest.approx(2.0 * good)
    size = sum(each.row.bytes for each in kept)
    assert spent.parts["storage"] == pytest.approx(0.3 * size / 1e9)
    assert spent.total == pytest.approx(sum(spent.parts.values()))
    share = good / len(kept)
    assert spent.per_accepted_episode is not None
    assert spent.needed_share(spent.per_accepted_episode) == pytest.approx(share)
    assert spent.needed_share(2.0) is None, "the annotation alone costs as much"
    saved = spent.saved_by(0.1)
    rest = spent.per_accepted_episode - 2.0
    assert saved == pytest.approx(rest - rest * share / (share + 0.1))


def test_demonstrations_of_an_hour_are_counted_without_breaks(database: Database) -> None:
    made = []
    for number in range(40):
        # Two minutes each, an hour of pause after the twentieth.
        minute = 2 * number + (60 if number >= 20 else 0)
        made.append(changed(
            entry(number), station="s1", mode="teleoperation", duration_s=60.0,
            recorded_ns=1_790_000_000 * 10**9 + minute * 60 * 10**9,
            verdict="accepted" if number % 4 else "failed", state="recorded",
        ))  # fmt: skip
    made.append(changed(entry(90), station="s2", mode="synthetic", duration_s=60.0,
                        recorded_ns=1_790_000_000 * 10**9))  # fmt: skip
    with database.write() as connection:
        add_episodes(connection, made, who="tester")
    with database.read() as connection:
        (pace,) = read_paces(connection, read_scope(connection))
        drawing = demonstrations_per_hour.draw(connection, read_scope(connection))
    assert (pace.station, pace.accepted, pace.episodes) == ("s1", 30, 40)
    # Each stretch is nineteen times two minutes, and its first take.
    assert pace.hours == pytest.approx(2 * 39 / 60)
    assert drawing.answer == (
        "23.1 accepted demonstrations in an hour of work; every station reaches the target of its "
        "mode."
    )


def test_cost_of_nothing_has_no_price(database: Database) -> None:
    with database.read() as connection:
        spent = compute_cost(connection, read_scope(connection), CostAssumptions(30, 12, 45))
    assert spent.per_accepted_episode is None
    assert spent.total == 0
    with pytest.raises(CatalogError, match="reset_s"):
        CostAssumptions(30, 12, math.nan)


@pytest.mark.parametrize("source", ["checks", "outcomes"])
def test_reasons_of_failures_are_counted_once_per_episode(
    database: Database, source: Source
) -> None:
    kept = fill(database, laboratory())
    expected: Counter[str | None] = Counter()
    for each in kept:
        if source == "outcomes" and each.row.success is False:
            expected[each.row.failure] += 1
        if source == "checks" and outcome(each) == "failed":
            expected.update({f["check"] for f in each.findings if f["severity"] == "fail"})
    with database.read() as connection:
        scope = read_scope(connection)
        found = list_reasons(connection, scope, source)
        assert {each.name: each.episodes for each in found} == dict(expected)
        assert count_failed(connection, scope, source) >= found[0].episodes
        for reason in found:
            assert count_episodes(connection, scope.query(*reason.conditions)) == reason.episodes


def test_gaps_are_those_that_their_queries_find(database: Database) -> None:
    kept = fill(database, laboratory())
    with database.read() as connection:
        scope = read_scope(connection)
        total, found = find_gaps(connection, scope)
        assert total == len(kept)
        for gap in found:
            assert count_episodes(connection, scope.query(gap.condition)) == gap.episodes, gap.name
    consent = [each.row.metadata.get("consent") for each in kept]
    named = {gap.name: gap.episodes for gap in found}
    assert named["consent"] == sum(each in (None, "none") for each in consent)
    assert named["protocol"] == total


def test_scores_fall_into_the_step_that_their_query_finds(database: Database) -> None:
    kept = fill(database, laboratory())
    scores = [each.row.score for each in kept if each.row.score is not None]
    with database.read() as connection:
        spread = count_scores(connection, read_scope(connection))
    expected = np.histogram(scores, bins=[k / BINS for k in range(BINS + 1)])[0]
    assert list(spread.counts) == expected.tolist()
    assert spread.unscored == len(kept) - len(scores)
    assert spread.mean is not None
    assert math.isclose(spread.mean, np.mean(scores))


def test_refused_shares_by_week_add_up(database: Database) -> None:
    kept = fill(database, laboratory(days=60))
    with database.read() as connection:
        history = refusal_history(connection, read_scope(connection), "station")
    judged = [
        each for each in kept
        if outcome(each) != "unchecked" and each.row.recorded_ns is not None
    ]  # fmt: skip
    assert history.days == 7
    assert sum(each.judged for each in history.moments) == len(judged)
    refused = sum(outcome(each) != "accepted" for each in judged)
    assert sum(each.rejected for each in history.moments) == refused
    assert {each.first for each in history.moments} <= set(history.firsts)


def test_what_waits_is_what_nobody_has_decided(database: Database) -> None:
    kept = fill(database, laboratory())
    with database.read() as connection:
        found = list_waiting(connection, read_scope(connection))
    numbers = [each.episodes for each in found]
    assert numbers == [
        sum(outcome(each) == name for each in kept) for name in ("quarantined", "unchecked")
    ]
