"""Every chart answers its question, and behind every mark are the episodes that it counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection
from tests.catalog.entries import entry
from tests.operations.made_up import DAY_NS, fill, laboratory

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.query import count_episodes
from corporeal.catalog.workspace import upgrade
from corporeal.errors import UnknownNameError
from corporeal.operations.question import (
    SECTIONS,
    BarMarks,
    BigNumbers,
    Drawing,
    HeatMarks,
    HistogramMarks,
    LineMarks,
    StackMarks,
    TableMarks,
    charts,
)
from corporeal.operations.scope import read_scope


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Database]:
    """An empty catalogue in a file."""
    with Database(f"sqlite:///{tmp_path / 'catalog.db'}") as made:
        upgrade(made)
        yield made


def _draw(database: Database, name: str, query: str = "", **settings: str) -> Drawing:
    with database.read() as connection:
        return charts()[name].answer(connection, read_scope(connection, query), settings)


def _counted(drawing: Drawing, name: str) -> Iterator[tuple[str, int | None]]:
    """Every query of a drawing, with the number of episodes that its mark shows, if it does."""
    match drawing.payload:
        case LineMarks(points=points):
            # A figure may be known of fewer episodes than the batch has.
            yield from ((each.query, None) for each in points)
        case BarMarks(bars=bars, unit=unit):
            for bar in bars:
                if bar.query is not None:
                    yield bar.query, int(bar.value) if unit == "count" else None
        case StackMarks(stacks=stacks, unit=unit):
            for stack in stacks:
                for segment in stack.segments:
                    if segment.query is not None:
                        yield segment.query, int(segment.value) if unit == "share" else None
        case HeatMarks(cells=cells):
            for cell in (each for line in cells for each in line):
                if cell.query is not None:
                    shown = name.startswith("coverage") and not cell.empty
                    yield cell.query, int(cell.value or 0) if shown else None
        case HistogramMarks(bins=bins):
            yield from ((each.query, each.count) for each in bins)
        case TableMarks(rows=rows):
            yield from ((row.query, None) for row in rows if row.query is not None)
        case BigNumbers(figures=figures):
            yield from ((each.query, None) for each in figures if each.query is not None)


def _check(connection: Connection, drawing: Drawing, name: str) -> None:
    for query, shown in _counted(drawing, name):
        found = count_episodes(connection, query)
        assert found == shown if shown is not None else found > 0, (name, query)


def test_behind_every_mark_are_the_episodes_that_it_shows(database: Database) -> None:
    fill(database, laboratory())
    for query in ("", "station in (st1, st2) or task = reach"):
        for name in charts():
            drawing = _draw(database, name, query)
            assert drawing.payload is not None or drawing.advice, name
            with database.read() as connection:
                _check(connection, drawing, name)


def test_an_empty_workspace_is_told_what_to_do(small: Database) -> None:
    for name in charts():
        drawing = _draw(small, name)
        assert drawing.payload is None, name
        assert drawing.answer.endswith("."), name
        assert drawing.advice.endswith("."), name


@pytest.mark.parametrize("name", list(charts()))
def test_a_chart_asks_a_question(name: str) -> None:
    chart = charts()[name]
    assert chart.title.endswith("?")
    assert chart.section in SECTIONS


def _batches(database: Database, shares: list[float], *, size: int = 40) -> None:
    """Batches one day apart, each with a share of accepted episodes."""
    made = []
    for batch, share in enumerate(shares):
        for place in range(size):
            verdict = "accepted" if place < share * size else "failed"
            number = batch * size + place
            facts = {"batch": f"b{batch:02}", "verdict": verdict, "station": f"st{place % 2}",
                     "recorded_ns": 1_700_000_000 * 10**9 + batch * DAY_NS}  # fmt: skip
            made.append(entry(number, **facts))
    with database.write() as connection:
        add_episodes(connection, made, who="tester")


def test_a_fall_of_quality_is_named_with_the_batch_where_it_began(small: Database) -> None:
    _batches(small, [0.925] * 24 + [0.6] * 3)
    drawing = _draw(small, "quality_over_time")
    assert drawing.answer.startswith("Yes. Acceptance rate fell from 92.4 % to 60.0 % in 3 batches")
    assert "since b24" in drawing.answer
    assert isinstance(drawing.payload, LineMarks)
    states = [each.state for each in drawing.payload.points]
    assert states == ["reference"] * 20 + ["within"] * 4 + ["out"] * 3
    assert drawing.payload.points[-1].query == "batch = b26"


def test_quality_that_stays_is_not_called_worse(small: Database) -> None:
    _batches(small, [0.95, 0.9] * 14)
    assert _draw(small, "quality_over_time").answer.startswith("No: acceptance rate is 90.0 %")


def test_few_batches_are_too_few_to_tell_and_it_is_said_how_many_are_missing(
    small: Database,
) -> None:
    _batches(small, [0.9] * 2)
    drawing = _draw(small, "quality_over_time")
    assert drawing.answer == (
        "Too early to tell: acceptance rate is 90.0 % over 2 batches; "
        "8 more batches are needed to see a change."
    )
    assert isinstance(drawing.payload, LineMarks)
    assert {each.state for each in drawing.payload.points} <= {"unknown", "reference"}


def test_a_fall_is_said_before_there_are_limits(small: Database) -> None:
    _batches(small, [0.9, 0.95] * 4 + [0.6, 0.55, 0.6, 0.55])
    answer = _draw(small, "quality_over_time").answer
    assert answer == "Yes. Acceptance rate: 92.5 % -> 57.5 % since b08 (4 batches, p < 0.01)."


def test_where_nothing_changed_early_batches_say_so(small: Database) -> None:
    _batches(small, [0.9, 0.95] * 6)
    answer = _draw(small, "quality_over_time").answer
    assert answer.startswith("No change that chance does not explain: acceptance rate is 92.5 %")


def _operators(database: Database, scores: dict[str, list[float]]) -> None:
    """Episodes of operators, one each in three days, from 2026-09-01 on."""
    begin = 20_697 * DAY_NS
    made = [
        entry(
            100 * who + place,
            operator=name,
            score=score,
            recorded_ns=begin + 3 * place * DAY_NS,
        )
        for who, (name, values) in enumerate(scores.items())
        for place, score in enumerate(values)
    ]
    with database.write() as connection:
        add_episodes(connection, made, who="tester")


_STEADY = [0.82, 0.85, 0.84, 0.86, 0.83, 0.85] * 3


def test_an_operator_whose_score_fell_is_named_with_the_day(small: Database) -> None:
    fallen = [*_STEADY[:14], 0.56, 0.54, 0.55, 0.55]
    _operators(small, {"anna": fallen, "ben": _STEADY, "chi": _STEADY, "dana": _STEADY})
    drawing = _draw(small, "operator_change")
    assert drawing.answer == "anna: 0.84 -> 0.55 since 2026-10-13 (4 episodes, p < 0.01)."
    assert isinstance(drawing.payload, HeatMarks)
    assert drawing.payload.rows[0] == "anna"


def test_operators_with_too_few_episodes_learn_how_many_are_missing(small: Database) -> None:
    _operators(small, {"anna": _STEADY[:6], "ben": _STEADY[:10]})
    answer = _draw(small, "operator_change").answer
    assert answer == (
        "Too early to tell: a change can be seen with more episodes (ben 1 more, anna 5 more)."
    )


def test_operators_who_stay_as_they_were_have_not_changed(small: Database) -> None:
    _operators(small, {"anna": _STEADY, "ben": _STEADY[:5]})
    answer = _draw(small, "operator_change").answer
    assert answer == (
        "Nobody's: no change of score that chance does not explain, of 1 operator; "
        "too early to tell for others (ben 6 more)."
    )


def test_an_improvement_is_no_reason_for_worry(small: Database) -> None:
    _batches(small, [0.6, 0.65] * 12 + [0.98] * 4)
    assert _draw(small, "quality_over_time").answer.startswith("No, it got better.")


def test_the_dominant_operator_is_named(small: Database) -> None:
    with small.write() as connection:
        made = [entry(n, operator="anna" if n < 6 else f"op{n}") for n in range(10)]
        add_episodes(connection, made, who="tester")
    answer = _draw(small, "operator_share").answer
    assert answer == "anna recorded 60 % of the episodes, above the limit of 30 %."


def test_an_alarm_that_stands_is_told_first(small: Database) -> None:
    with small.write() as connection:
        change = Change("watch", "alarm", "metric:batch/score_mean", "score mean fell.",
                        {"since": "b 7", "seen": ""})  # fmt: skip
        record(connection, [change])
    drawing = _draw(small, "alarms")
    assert drawing.answer == "1 alarm not over yet. Score mean fell."
    assert isinstance(drawing.payload, TableMarks)
    assert drawing.payload.rows[0].query == 'batch = "b 7"'


def test_wrong_settings_are_refused_in_a_sentence(small: Database) -> None:
    fill(small, laboratory(40))
    with pytest.raises(UnknownNameError, match="figure"):
        _draw(small, "quality_over_time", figure="beauty")
    with pytest.raises(UnknownNameError, match="setting of this chart"):
        _draw(small, "quality_over_time", colour="red")
    with pytest.raises(CatalogError, match="operator_per_hour"):
        _draw(small, "cost", operator_per_hour="much")
    with pytest.raises(CatalogError, match="reset_s"):
        _draw(small, "cost", reset_s="-3")
    with pytest.raises(UnknownNameError, match="axis"):
        _draw(small, "coverage_objects", rows="horoscope")


def test_what_has_no_plan_is_not_called_balanced_and_no_calibration_is_not_in_use(
    small: Database,
) -> None:
    with small.write() as connection:
        add_episodes(
            connection, [entry(number, metadata={}, task="reach") for number in range(6)], who="me"
        )
    balance = _draw(small, "label_balance", "")
    assert balance.answer.startswith("Cannot tell: nothing here has a plan")
    drift = _draw(small, "calibration_drift", "")
    assert drift.answer.endswith("No episode states a calibration.")
    assert drift.payload is None
