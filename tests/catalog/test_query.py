"""The query language: read, refused with a place, spelled out again, and true in both databases."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql, sqlite

from corporeal.catalog.query import (
    LONGEST_QUERY,
    And,
    Comparison,
    Condition,
    Date,
    HasFinding,
    Known,
    Mentions,
    OneOf,
    Or,
    Within,
    condition_sql,
    parse,
    pinned,
    query_text,
)
from corporeal.catalog.query.grammar import DEEPEST, MOST_CLAUSES, MOST_VALUES
from corporeal.catalog.query.lexer import QueryError
from corporeal.catalog.query.tree import Between, HasDocument, HasStream, InRelease, Not

DAY_NS = 86_400 * 10**9


def test_the_query_of_the_manual_is_read_as_it_sounds() -> None:
    text = (
        "task = pick_place and score > 0.8 and operator != op07 "
        "and has finding joints_within_limits"
    )
    assert parse(text) == And(
        (
            Comparison("task", "=", "pick_place"),
            Comparison("score", ">", 0.8),
            Comparison("operator", "!=", "op07"),
            HasFinding("joints_within_limits", None),
        )
    )


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("NOT task = a OR task = b", Or((Not(Comparison("task", "=", "a")),
                                         Comparison("task", "=", "b")))),
        ("task in (a, 'b c')", OneOf("task", ("a", "b c"))),
        ("task not in (a)", Not(OneOf("task", ("a",)))),
        ("score between 0.2 and 1", Between("score", 0.2, 1)),
        ("score is not known", Known("score", known=False)),
        ("operator = 07", Comparison("operator", "=", "07")),
        ("success = TRUE", Comparison("success", "=", True)),
        ("recorded = 1970-01-02", Comparison("recorded", "=", Date(DAY_NS, 2 * DAY_NS))),
        ("recorded > 1970-01-01T01:00+01:00", Comparison("recorded", ">", Date(0, 1000))),
        ("ingested within 1 week", Within("ingested", 1, "weeks")),
        ("metadata.shelf.row = 3", Comparison("metadata.shelf.row", "=", 3)),
        ('metadata.shelf = "3"', Comparison("metadata.shelf", "=", "3")),
        ("rate.observations/imu < 98.5", Comparison("rate.observations/imu", "<", 98.5)),
        ("protocol = pick_place@1.0.0", Comparison("protocol", "=", "pick_place@1.0.0")),
        ("has finding severity fail", HasFinding(None, "fail")),
        ("has finding stays_upright", HasFinding("robot_fell", None)),
        ("has finding robot_fell", HasFinding("robot_fell", None)),
        ("has stream actions/joint_position", HasStream("actions/joint_position")),
        ("has document calibration", HasDocument("calibration")),
        ("in release walks@1.0.0 split train", InRelease("walks", "1.0.0", "train")),
        ("task ~ 'it\\'s'", Comparison("task", "~", "it's")),
        ("task == a", Comparison("task", "=", "a")),
        ("cylinder", Mentions("cylinder")),
        ("green 'tall cup' and score > 1", And((Mentions("green"), Mentions("tall cup"),
                                                Comparison("score", ">", 1)))),
        ("green or not tall", Or((Mentions("green"), Not(Mentions("tall"))))),
    ],
)  # fmt: skip
def test_each_form_is_read(text: str, condition: Condition) -> None:
    assert parse(text) == condition
    assert parse(query_text(condition)) == condition


@pytest.mark.parametrize(
    ("text", "at", "told"),
    [
        ("", 1, "a field"),
        ("task = = x", 8, "a word, or a text in quotes"),
        ("taks = x", 1, "did you mean task?"),
        ("Task = x", 1, "metadata.<key>"),
        ("task = 'abc", 8, "a closing '"),
        ("task < b", 6, "one of = != ~ after task"),
        ("score > high", 9, "a number"),
        ("score > 1e999", 9, "a number"),
        ("score > nan", 9, "a number"),
        ("bytes > 99999999999999999999", 9, "a number"),
        ("state = acceptd", 9, "recorded, checked, accepted"),
        ("(task = a", 10, "a closing parenthesis"),
        ("task = a)", 9, "and, or, or the end"),
        ("task = and", 8, "a word, or a text in quotes"),
        ("recorded > 2026-13-01", 12, "a date such as"),
        ("recorded > 1969-12-31", 12, "from 1970"),
        ("recorded within 0 days", 17, "a whole number"),
        ("recorded within 7 moons", 19, "minutes, hours, days, weeks"),
        ("metadata.a between x and 3", 20, "a number"),
        ("has finding x severity bad", 24, "fail, quarantine, note"),
        ("in release @1", 12, "a release such as"),
        ("metadata.a.-1 = 3", 1, "metadata.<key>"),
        ("task = 'a\0b'", 10, "text"),
        ("task = \ud800", 8, "text"),
        ("task ~ " + "*" * 17, 8, "at most 16 stars"),
        ("task = a\n; drop table episode", 10, "and, or, or the end"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, at: int, told: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse(text)
    assert refused.value.at == at
    assert f"at character {at}" in str(refused.value)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "(" * (DEEPEST + 1) + "task = a" + ")" * (DEEPEST + 1),
        "not " * 10_000 + "task = a",
        " or ".join(["task = a"] * (MOST_CLAUSES + 1)),
        f"task in ({','.join('a' * (MOST_VALUES + 1))})",
        "task = " + "a" * LONGEST_QUERY,
        "(" * LONGEST_QUERY,
    ],
)
def test_a_query_that_is_too_large_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse(text)
    assert len(str(refused.value)) < 400


def test_within_becomes_a_date_that_stays() -> None:
    condition = pinned(parse("not recorded within 2 days"), now_ns=3 * DAY_NS)
    assert query_text(condition) == "not recorded >= 1970-01-02T00:00:00.000000Z"
    assert parse(query_text(condition)) == condition


def test_values_travel_beside_the_statement_and_never_in_it() -> None:
    hostile = "x'; drop table episode; --"
    condition = parse(
        f'task = "{hostile}" or metadata.a = "{hostile}" or task ~ "{hostile}" '
        f'or has finding "{hostile}" or in release "{hostile}" or document.schema = "{hostile}"'
    )
    spoken: tuple[Any, ...] = (sqlite, postgresql)
    for each in spoken:
        assert "drop" not in str(condition_sql(condition).compile(dialect=each.dialect()))


_texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
_numbers = st.one_of(st.integers(-(2**62), 2**62), st.floats(-1e9, 1e9))
_days = st.integers(0, 100_000).map(lambda day: Date(day * DAY_NS, (day + 1) * DAY_NS))
_instants = st.integers(0, 10**15).map(lambda us: Date(us * 1000, us * 1000 + 1000))
_clauses: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Comparison, st.sampled_from(["task", "protocol", "document.schema"]),
              st.sampled_from(["=", "!=", "~"]), _texts.map(lambda text: text.replace("*", ""))),
    st.builds(Comparison, st.sampled_from(["score", "rate.a/b", "metadata.x"]),
              st.sampled_from(["=", "<", ">="]), _numbers),
    st.builds(OneOf, st.just("metadata.x"), st.tuples(_texts, _numbers, st.booleans())),
    st.builds(Between, st.just("recorded"), _days, _instants),
    st.builds(Known, st.just("ingested"), st.booleans()),
    st.builds(Within, st.just("recorded"), st.integers(1, 999), st.just("days")),
    st.builds(HasFinding, st.none() | _texts, st.none() | st.just("note")),
    st.builds(HasStream, _texts),
    st.builds(InRelease, st.just("severity"), st.none() | st.just("1.0.0"), st.none() | _texts),
)  # fmt: skip
_conditions = st.recursive(
    _clauses,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(_conditions)
def test_what_is_spelled_out_means_the_same(condition: Condition) -> None:
    text = query_text(condition)
    assert query_text(parse(text)) == text
    assert condition_sql(parse(text)).compare(condition_sql(condition)) or "within" in text


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(
    ["task", "=", "!=", "(", ")", "and", "or", "not", "in", "has", "finding", "x", "'", "score",
     "between", "1", "is", "known", "recorded", "within", "7", "days", ",", "release"]
)).map(" ".join))  # fmt: skip
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        condition = parse(text)
    except QueryError:
        return
    assert parse(query_text(condition)) == condition
