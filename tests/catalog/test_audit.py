"""The audit log is a chain: whatever is done to it afterwards shows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, insert, select, text, update

from corporeal.catalog import audit
from corporeal.catalog.audit import GENESIS, Change, Head, chain_hash, events_of, head, record
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.tables import EVENT, HEAD


@pytest.fixture
def log(database: Database) -> Database:
    """Ten events, in three transactions."""
    for numbers in (range(1, 5), range(5, 8), range(8, 11)):
        with database.write() as connection:
            record(connection, [
                Change("anna", "state", f"episode:e{number % 2}", "because", {"number": number})
                for number in numbers
            ])  # fmt: skip
    return database


def _reasons(database: Database, **options: Any) -> list[str]:
    with database.read() as connection:
        return [found.reason for found in audit.verify(connection, **options)]


def _row(connection: Connection, number: int) -> dict[str, Any]:
    found = connection.execute(select(EVENT).where(EVENT.c.number == number)).mappings().one()
    return dict(found)


def test_an_untouched_log_verifies(log: Database) -> None:
    assert _reasons(log) == []
    with log.read() as connection:
        assert head(connection).number == 10
        assert [event["number"] for event in events_of(connection, "episode:e1")] == [1, 3, 5, 7, 9]


def test_an_empty_log_verifies(database: Database) -> None:
    assert _reasons(database) == []
    with database.write() as connection:
        assert record(connection, []) == 0
        assert head(connection) == Head(0, GENESIS)


@pytest.mark.parametrize(
    "change",
    [
        {"who": "ben"},
        {"why": None},
        {"at": "2020-01-01T00:00:00.000000Z"},
        {"what": "other"},
        {"subject": "episode:e9"},
        {"details": {"number": 4, "more": 1}},
        {"hash": "f" * 64},
        {"previous": "f" * 64},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_event_is_found(log: Database, change: dict[str, Any]) -> None:
    with log.write() as connection:
        connection.execute(update(EVENT).where(EVENT.c.number == 4).values(**change))
    assert any("event 4 was changed" in reason for reason in _reasons(log))


def test_a_changed_event_with_a_new_hash_is_found_at_the_next(log: Database) -> None:
    with log.write() as connection:
        row = {**_row(connection, 4), "who": "ben"}
        row["hash"] = chain_hash(row)
        connection.execute(update(EVENT).where(EVENT.c.number == 4).values(**row))
    assert _reasons(log) == ["event 5 does not follow the one before it"]


@pytest.mark.parametrize("number", [1, 5])
def test_a_deleted_event_is_found(log: Database, number: int) -> None:
    with log.write() as connection:
        connection.execute(delete(EVENT).where(EVENT.c.number == number))
    assert _reasons(log) == [f"event {number} is missing; event {number + 1} comes next"]


def test_a_deleted_event_is_found_when_the_others_move_up(log: Database) -> None:
    with log.write() as connection:
        connection.execute(delete(EVENT).where(EVENT.c.number == 5))
        for number in range(6, 11):
            moved = update(EVENT).where(EVENT.c.number == number)
            connection.execute(moved.values(number=number - 1))
        connection.execute(update(HEAD).values(number=9))
    assert "event 5 does not follow the one before it" in _reasons(log)


@pytest.mark.parametrize("with_head", [False, True])
def test_a_log_that_was_cut_off_is_found(log: Database, with_head: bool) -> None:
    with log.write() as connection:
        noted = {head(connection): "a drawer"}
        connection.execute(delete(EVENT).where(EVENT.c.number > 7))
        if with_head:
            end = _row(connection, 7)["hash"]
            connection.execute(update(HEAD).values(number=7, hash=end))
    if with_head:  # As good as an older log; only who has noted down its end can tell.
        assert _reasons(log) == []
    else:
        assert _reasons(log) == ["the log ends with event 7, but its head says event 10"]
    assert "event 10 is missing: it was noted in a drawer" in _reasons(log, noted=noted)


def test_an_event_that_was_added_by_hand_is_found(log: Database) -> None:
    with log.write() as connection:
        last = _row(connection, 10)
        row = {**last, "number": 11, "who": "mallory", "previous": last["hash"]}
        row["hash"] = chain_hash(row)
        connection.execute(insert(EVENT).values(**row))
    assert _reasons(log) == ["the log ends with event 11, but its head says event 10"]


def test_an_event_before_the_first_is_found(log: Database) -> None:
    with log.write() as connection:
        row = {**_row(connection, 1), "number": 0}
        connection.execute(insert(EVENT).values(**{**row, "hash": chain_hash(row)}))
    assert _reasons(log)


def test_two_events_that_changed_places_are_found(log: Database) -> None:
    with log.write() as connection:
        for old, new in ((3, 99), (6, 3), (99, 6)):
            connection.execute(update(EVENT).where(EVENT.c.number == old).values(number=new))
    reasons = _reasons(log)
    assert "event 3 was changed after it was written" in reasons
    assert "event 6 was changed after it was written" in reasons


def test_a_log_written_anew_is_found_by_who_noted_down_its_end(log: Database) -> None:
    with log.write() as connection:
        noted = {head(connection): "a drawer"}
        connection.execute(delete(EVENT))
        connection.execute(update(HEAD).values(number=0, hash=GENESIS))
        record(connection, [Change("mallory", "state", "episode:e1")] * 10)
    assert _reasons(log) == []
    assert _reasons(log, noted=noted) == ["event 10 is not the one that was noted in a drawer"]


def test_a_head_that_was_noted_down_holds_while_the_log_grows(log: Database) -> None:
    with log.write() as connection:
        noted = {head(connection): "a drawer"}
        record(connection, [Change("ben", "state", "episode:e1")])
    assert _reasons(log, noted=noted) == _reasons(log, noted={Head(0, GENESIS): "x"}) == []


def test_a_log_without_its_head_is_found_and_not_written_to(log: Database) -> None:
    with log.write() as connection:
        connection.execute(delete(HEAD))
    assert _reasons(log) == ["the log ends with event 10, but its head says nothing"]
    with pytest.raises(CatalogError, match="has no audit log"), log.write() as connection:
        record(connection, [Change("anna", "state", "episode:e1")])


@pytest.mark.parametrize("content", ["'{not json'", "x'7b'", "'" + "[" * 5000 + "'"])
def test_details_that_are_no_json_any_more_are_found(log: Database, content: str) -> None:
    if not log.is_sqlite:
        pytest.skip("PostgreSQL refuses what is no JSON")
    with log.write() as connection:
        connection.execute(text(f"UPDATE event SET details = {content} WHERE number = 2"))
    assert _reasons(log) == ["event 2 was changed after it was written"]


def test_text_that_is_no_text_any_more_is_an_error(log: Database) -> None:
    if not log.is_sqlite:
        pytest.skip("PostgreSQL refuses what is no text")
    with log.write() as connection:
        connection.execute(text("UPDATE event SET who = CAST(x'ff' AS TEXT) WHERE number = 2"))
    with pytest.raises(CatalogError, match="UTF-8"):
        _reasons(log)


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT | st.integers(), inner),
    max_leaves=8,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(details=st.dictionaries(_TEXT | st.integers(), _JSON, max_size=4), why=_TEXT)
def test_whatever_is_said_comes_back_and_verifies(
    database: Database, details: dict[Any, Any], why: str
) -> None:
    with database.write() as connection:
        record(connection, [Change("anna", "state", "episode:e1", why, details)])
    assert _reasons(database) == []


@pytest.mark.parametrize("bad", ["zero \0", "half \ud800"])
def test_text_that_a_database_cannot_keep_is_refused(database: Database, bad: str) -> None:
    for change in (
        Change(bad, "state", "episode:e1"),
        Change("anna", "state", "episode:e1", bad),
        Change("anna", "state", "episode:e1", None, {bad: 1}),
        Change("anna", "state", "episode:e1", None, {"a": [bad]}),
    ):
        with pytest.raises(CatalogError, match="zero bytes"), database.write() as connection:
            record(connection, [change])
    assert _reasons(database) == []


def test_a_reader_sees_one_moment_of_a_log_that_is_written_to(log: Database) -> None:
    with log.read() as connection:
        assert head(connection).number == 10
        with log.write() as other:
            record(other, [Change("ben", "state", "episode:e1")])
        assert list(audit.verify(connection)) == []
        assert head(connection).number == 10
    assert _reasons(log) == []
