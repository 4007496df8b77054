"""Data of people without a certificate goes to practice, by what was so when it was recorded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operations.trained import BEGIN, LEAD, SMALL, put

from corporeal.catalog.audit import events_of
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.people import (
    Certificate,
    CertifiedTask,
    add_operator,
    give_certificate,
    operators_certified,
    place_episodes,
    practice_of,
    reason_for,
    refuse_practice,
    replace_episodes,
    require_certificates,
    revoke_certificates,
    stop_requiring,
)
from corporeal.catalog.query import count_episodes
from corporeal.errors import UnknownNameError

DAY = timedelta(days=1)


def test_a_workspace_that_asks_for_no_certificate_has_no_practice(database: Database) -> None:
    with database.write() as connection:
        ids = put(connection, 3, at=BEGIN)
        assert place_episodes(connection, ids, who="ingest") == {}
        assert practice_of(connection, ids) == {}


def test_what_was_recorded_before_it_was_asked_for_counts(database: Database) -> None:
    with database.write() as connection:
        require_certificates(connection, "reach", SMALL, by=LEAD, since=BEGIN + DAY)
        early = put(connection, 2, at=BEGIN)
        late = put(connection, 2, at=BEGIN + DAY)
        other = put(connection, 1, at=BEGIN + DAY, task="pour")
        placed = place_episodes(connection, [*early, *late, *other], who="ingest")
    assert placed == dict.fromkeys(late, "no certificate")


def test_practice_is_found_by_query_and_tells_why(database: Database) -> None:
    with database.write() as connection:
        require_certificates(connection, "reach", SMALL, by=LEAD, since=BEGIN)
        ids = put(connection, 2, at=BEGIN)
        ids += put(connection, 1, at=BEGIN + DAY, operator=None)
        ids += put(connection, 1, at=BEGIN + DAY, task=None)
        place_episodes(connection, ids, who="ingest")
        assert count_episodes(connection, "practice is known") == 4
        assert count_episodes(connection, "practice = 'no certificate'") == 2
        assert count_episodes(connection, "practice = 'no operator'") == 1
        assert count_episodes(connection, "practice = 'no task'") == 1
        event = list(events_of(connection, f"episode:{ids[0]}"))[-1]
    assert event["what"] == "practice"
    assert event["details"]["after"] == "no certificate"


def test_what_was_practice_stays_so_when_a_certificate_is_given(database: Database) -> None:
    with database.write() as connection:
        add_operator(connection, "op01", by=LEAD)
        require_certificates(connection, "reach", SMALL, by=LEAD, since=BEGIN)
        before = put(connection, 2, at=BEGIN)
        place_episodes(connection, before, who="ingest")
        give_certificate(connection, "op01", "reach", SMALL, by=LEAD, evidence={},
                         valid_from=BEGIN + DAY)  # fmt: skip
        after = put(connection, 2, at=BEGIN + 2 * DAY)
        expired = put(connection, 1, at=BEGIN + 182 * DAY)
        placed = replace_episodes(connection, who="lea", why="certificate", task="reach")
    assert placed == {
        **dict.fromkeys(before, "no certificate"), **dict.fromkeys(expired, "certificate expired"),
    }  # fmt: skip
    assert not set(after) & set(placed)


def test_a_certificate_revoked_for_the_past_takes_its_data_back(database: Database) -> None:
    with database.write() as connection:
        add_operator(connection, "op01", by=LEAD)
        require_certificates(connection, "reach", SMALL, by=LEAD, since=BEGIN)
        give_certificate(connection, "op01", "reach", SMALL, by=LEAD, evidence={}, valid_from=BEGIN)
        kept, lost = put(connection, 2, at=BEGIN), put(connection, 2, at=BEGIN + 3 * DAY)
        assert place_episodes(connection, [*kept, *lost], who="ingest") == {}
        stamp = (BEGIN + 4 * DAY).isoformat()
        assert operators_certified(connection, "reach", stamp) == ["op01"]
        revoke_certificates(
            connection, "op01", "reach", by=LEAD, why="habits", since=BEGIN + 2 * DAY
        )
        replace_episodes(connection, who="lea", why="habits", task="reach", operator="op01")
        assert practice_of(connection, kept) == {}
        assert set(practice_of(connection, lost).values()) == {"certificate revoked"}
        assert operators_certified(connection, "reach", stamp) == []
        with pytest.raises(CatalogError, match=r"2 episodes of the practice part.*corporeal ls"):
            refuse_practice(connection, [*kept, *lost], what="export of reach@1.0.0")


def test_a_task_that_asks_for_none_any_more_gives_its_data_back(database: Database) -> None:
    with database.write() as connection:
        require_certificates(connection, "reach", SMALL, by=LEAD, since=BEGIN)
        ids = put(connection, 2, at=BEGIN)
        place_episodes(connection, ids, who="ingest")
        stop_requiring(connection, "reach", why="a pilot is over", by=LEAD)
        replace_episodes(connection, who="lea", why="a pilot is over", task="reach")
        assert practice_of(connection, ids) == {}
        assert find_episode(connection, ids[0]).state == "accepted"
        with pytest.raises(UnknownNameError):
            stop_requiring(connection, "reach", why="again", by=LEAD)


_DAYS = st.integers(0, 400)


@given(_DAYS, _DAYS, _DAYS, st.none() | _DAYS)
def test_data_counts_exactly_while_a_certificate_holds(
    since: int, begin: int, recorded: int, revoked: int | None
) -> None:
    end = begin + 100
    given = Certificate(1, "op01", "reach", "d", _at(begin), _at(end), "", "lea", None, {},
                        None if revoked is None else _at(revoked))  # fmt: skip
    rules = {"reach": CertifiedTask("reach", "d", _at(since), "lea", "")}
    holds = begin <= recorded < min(end, end if revoked is None else revoked)
    reason = reason_for("reach", "op01", _at(recorded), rules, [given])
    assert (reason is None) == (holds or recorded < since)
    assert reason_for("pour", "op01", _at(recorded), rules, [given]) is None


def _at(day: int) -> str:
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
