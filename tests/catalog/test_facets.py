"""Facets count what a query finds, refinements change it, landmarks lead into its middle."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.catalog.entries import entry

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import EpisodeRow, add_episodes
from corporeal.catalog.query import (
    complete,
    count_facets,
    drop_facet,
    episode_page,
    every_episode,
    find_page_keys,
    query_text,
    read_query,
    relax,
    set_span,
    toggle_value,
)
from corporeal.catalog.query.facets import MOST_BARS
from corporeal.catalog.query.lexer import QueryError
from corporeal.errors import UnknownNameError

DAY_NS = 86_400 * 10**9


@pytest.fixture
def filled(database: Database) -> Database:
    """230 episodes, some without an operator or a score, over 200 days."""
    entries = [
        entry(
            number,
            operator=None if number % 11 == 0 else f"op{number % 5:02}",
            score=None if number % 13 == 0 else (number % 101) / 100,
            failure="fall" if number % 17 == 0 else None,
            verdict=("accepted", "failed")[number % 2],
            recorded_ns=1_790_000_000_000_000_000 + (number % 200) * DAY_NS,
        )
        for number in range(230)
    ]
    with database.write() as connection:
        add_episodes(connection, entries, who="tester")
    return database


def _all(database: Database, query: str) -> list[EpisodeRow]:
    with database.read() as connection:
        return list(every_episode(connection, query))


@pytest.mark.parametrize("query", ["", "task = task_3", "score > 0.5 and not operator = op02"])
def test_facets_count_what_the_query_finds(filled: Database, query: str) -> None:
    rows = _all(filled, query)
    with filled.read() as connection:
        found = count_facets(connection, read_query(query))
    counts = {facet.name: {v.value: v.count for v in facet.values} for facet in found.facets}
    for name in ("operator", "verdict", "failure", "robot"):
        assert counts[name] == dict(Counter(getattr(row, name) for row in rows)), name
    checks = sum(1 for row in rows if int(row.file[8:14]) % 4 == 0)
    assert counts["finding"] == {"joints_within_limits": checks}
    scored = [row.score for row in rows if row.score is not None]
    if "score" not in query:
        assert sum(bar.count for bar in found.scores) == len(scored)
        assert found.scores[3].count == sum(0.3 <= score < 0.4 for score in scored)
    assert sum(bar.count for bar in found.days) == len(rows)
    assert len(found.days) <= MOST_BARS


def test_a_facet_leaves_its_own_choice_out_of_its_counts(filled: Database) -> None:
    with filled.read() as connection:
        found = count_facets(connection, read_query("task = task_3 and verdict = failed"))
    tasks = next(facet for facet in found.facets if facet.name == "task")
    failed = Counter(row.task for row in _all(filled, "verdict = failed"))
    assert {each.value: each.count for each in tasks.values} == dict(failed)
    assert [each.value for each in tasks.values if each.chosen] == ["task_3"]


def test_what_was_chosen_can_be_taken_back_though_nothing_has_it(filled: Database) -> None:
    with filled.read() as connection:
        found = count_facets(connection, read_query("operator = nobody"))
    operators = next(facet for facet in found.facets if facet.name == "operator")
    assert [(each.value, each.count) for each in operators.values if each.chosen] == [("nobody", 0)]


@pytest.mark.parametrize(
    ("query", "facet", "value", "expected"),
    [
        ("", "task", "reach", "task = reach"),
        ("task = reach", "task", "walk", "task in (reach, walk)"),
        ("task in (reach, walk)", "task", "reach", "task = walk"),
        ("task = walk", "task", "walk", ""),
        ("score > 0.5", "operator", None, "score > 0.5 and operator is unknown"),
        ("operator = a", "operator", None, "operator = a or operator is unknown"),
        ("has finding a", "finding", "b", "has finding a or has finding b"),
        ("task = a or score > 1", "task", "b", "(task = a or score > 1) and task = b"),
        ("not task = a", "task", "b", "not task = a and task = b"),
        ("", "task", "and or", 'task = "and or"'),
    ],
)
def test_a_click_changes_the_query(
    query: str, facet: str, value: str | None, expected: str
) -> None:
    changed = toggle_value(read_query(query), facet, value)
    assert ("" if changed is None else query_text(changed)) == expected


def test_a_span_replaces_the_one_before() -> None:
    first = set_span(read_query("task = a"), "score", "score >= 0.2 and score < 0.3")
    second = set_span(first, "score", "score >= 0.9")
    assert second is not None
    assert query_text(second) == "task = a and score >= 0.9"
    assert drop_facet(second, "score") == read_query("task = a")
    with pytest.raises(UnknownNameError, match="expected"):
        drop_facet(second, "colour")
    with pytest.raises(QueryError):
        set_span(None, "score", "score >")


def test_every_part_of_a_query_can_be_left_out() -> None:
    condition = read_query("task = a and (score > 1 or score < 0)")
    assert condition is not None
    assert [rest and query_text(rest) for _, rest in relax(condition)] == [
        "score > 1 or score < 0", "task = a",
    ]  # fmt: skip


@pytest.mark.parametrize("order", ["id", "-id", "score", "-score", "-recorded", "operator"])
@pytest.mark.parametrize("text", ["", "verdict = failed", "operator = nobody"])
def test_landmarks_lead_to_every_page(filled: Database, text: str, order: str) -> None:
    query = read_query(text)
    with filled.read() as connection:
        whole = [row.id for row in every_episode(connection, query, order=order)]
        marks = find_page_keys(connection, query, order=order, step=20)
        assert marks.total == len(whole)
        assert len(marks.ids) == len(whole) // 20
        for number, after in enumerate(marks.ids, 1):
            rows = episode_page(connection, query, order=order, limit=20, after=after).rows
            assert [row.id for row in rows] == whole[number * 20 : number * 20 + 20]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("ta", "task"),
        ("task", "task"),
        ("task ", "="),
        ("task = ", "task_0"),
        ("task = task_3 ", "and"),
        ("task = task_3 and scor", "score"),
        ("task in (task_1, ta", "task_0"),
        ("has ", "finding"),
        ("has finding ", "joints_within_limits"),
        ("has finding joints_within_limits severity ", "fail"),
        ("verdict = a", "accepted"),
        ("metadata.", "metadata.light"),
        ("rate.", "rate.observations/joints"),
        ("operator is ", "known"),
        ('task = "task_2', "task_2"),
    ],
)
def test_what_can_follow_is_offered(filled: Database, typed: str, expected: str) -> None:
    with filled.read() as connection:
        found = complete(connection, typed, len(typed))
    texts = [item.text for item in found.items]
    assert expected in texts or (expected == typed and not texts)
    assert 0 <= found.start <= found.end == len(typed)


@pytest.mark.parametrize(
    "typed",
    ["'", '"""', "task = \0", "(((((", ")))", "= = =", "task in in (", "🙂 =", 'task = "\0'],
)
def test_nonsense_is_completed_with_nothing_worse_than_nothing(
    filled: Database, typed: str
) -> None:
    with filled.read() as connection:
        for cursor in range(len(typed) + 2):
            complete(connection, typed, cursor)
