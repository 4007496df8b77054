"""A failed check holds every episode since the last good one; one action gives them back."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from tests.catalog.entries import entry

from corporeal.catalog.audit import events_of, latest_events
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import (
    EpisodeMark,
    StationCheck,
    add_episodes,
    decisions_of,
    hold_late,
    lift_halt,
    list_checks,
    list_halts,
    mark_episodes,
    move_episodes,
    states_of,
    take_check,
)
from corporeal.catalog.permission import Actor, PermissionDeniedError
from corporeal.catalog.tables import EPISODE, HELD

LEAD = Actor("lena", "lead")
SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND
WHY = "head_left was moved by 4.1 mm"


def moment(seconds: int) -> str:
    return datetime.fromtimestamp(BEGIN // SECOND + seconds, UTC).isoformat()


def check(seconds: int, *, passed: bool, version: str = "1.0.2") -> StationCheck:
    return StationCheck(f"cell@{version}", moment(seconds), passed, [{"camera": "head_left"}], "s1")


def recorded(database: Database, *seconds: int, calibration: str = "cell@1.0.2") -> list[str]:
    """Accepted episodes of a station, recorded then."""
    entries = [
        entry(number + (0 if calibration.startswith("cell") else 5000),
              recorded_ns=BEGIN + number * SECOND, calibration=calibration)
        for number in seconds
    ]  # fmt: skip
    ids = [each.id for each in entries]
    with database.write() as connection:
        add_episodes(connection, entries, who="ingest")
        move_episodes(connection, ids, "accepted", who="ingest", why=None)
    return ids


def states(database: Database, ids: list[str]) -> list[str]:
    with database.read() as connection:
        known = states_of(connection, ids)
    return [known[name] for name in ids]


def test_a_failed_check_holds_what_was_recorded_since_the_last_good_one(database: Database) -> None:
    ids = recorded(database, 10, 100, 200)
    others = recorded(database, 100, calibration="other@1.0.0")
    with database.write() as connection:
        assert take_check(connection, check(50, passed=True), who="anna") is None
        halt = take_check(connection, check(300, passed=False), who="anna", why=WHY)
    assert halt is not None
    assert halt.held == 2
    assert states(database, ids) == ["accepted", "quarantined", "quarantined"]
    assert states(database, others) == ["accepted"]
    with database.read() as connection:
        assert decisions_of(connection, ids[1:2])[ids[1]].why == WHY
        moved = [event for event in events_of(connection, f"episode:{ids[1]}")
                 if event["details"].get("halt")]  # fmt: skip
        assert [event["details"]["to"] for event in moved] == ["quarantined"]
        assert latest_events(connection, f"halt:{halt.key}", ("halt",))[0]["why"] == WHY


def test_without_a_good_check_all_of_that_version_are_held(database: Database) -> None:
    ids = recorded(database, 10, 100) + recorded(database, 150, calibration="cell@1.0.1")
    with database.write() as connection:
        take_check(connection, check(300, passed=False), who="anna", why=WHY)
    assert states(database, ids) == ["quarantined", "quarantined", "accepted"]


def test_a_halt_holds_each_episode_once_however_often_the_check_fails(database: Database) -> None:
    ids = recorded(database, 10, 400)
    with database.write() as connection:
        first = take_check(connection, check(300, passed=False), who="anna", why=WHY)
        second = take_check(connection, check(500, passed=False), who="anna", why="again")
    assert first is not None
    assert second is not None
    assert (second.key, second.held) == (first.key, 2)
    assert states(database, ids) == ["quarantined"] * 2
    with database.read() as connection:
        assert len(list_halts(connection)) == 1


def test_what_comes_in_later_from_that_time_is_held_until_the_next_good_check(
    database: Database,
) -> None:
    with database.write() as connection:
        take_check(connection, check(50, passed=True), who="anna")
        take_check(connection, check(300, passed=False), who="anna", why=WHY)
        take_check(connection, check(600, passed=True, version="1.0.3"), who="anna")
    ids = recorded(database, 20, 200, 400, 700)
    with database.write() as connection:
        held = hold_late(connection, ids, who="ingest")
    assert held == {ids[1]: WHY, ids[2]: WHY}
    assert states(database, ids) == ["accepted", "quarantined", "quarantined", "accepted"]


def test_lifting_gives_back_what_was_and_leaves_what_a_person_judged(database: Database) -> None:
    ids = recorded(database, 10, 20, 30, 40)
    with database.write() as connection:
        mark_episodes(connection, ids[1:2], EpisodeMark("quarantined", "blurred"), who="lena")
        mark_episodes(connection, ids[2:3], EpisodeMark("failed", "fell"), who="lena")
        halt = take_check(connection, check(300, passed=False), who="anna", why=WHY)
        assert halt is not None
        mark_episodes(connection, ids[3:], EpisodeMark("accepted"), who="lena")
        lifted = lift_halt(connection, halt.key, why="the marker was kicked", by=LEAD)
    assert states(database, ids) == ["accepted", "quarantined", "failed", "accepted"]
    assert (halt.held, lifted.count, lifted.kept) == (3, 2, {ids[3]: "accepted"})
    assert lifted.halt.lifted_why == "the marker was kicked"
    with database.read() as connection:
        decisions = decisions_of(connection, ids)
        assert ids[0] not in decisions
        assert decisions[ids[1]].why == "blurred"
        (event,) = latest_events(connection, f"halt:{halt.key}", ("halt lifted",))
        assert (event["who"], event["why"]) == ("lena", "the marker was kicked")


def test_lifting_takes_a_judge_a_reason_and_an_open_halt(database: Database) -> None:
    with database.write() as connection:
        halt = take_check(connection, check(300, passed=False), who="anna", why=WHY)
        assert halt is not None
        with pytest.raises(PermissionDeniedError, match="judge"):
            lift_halt(connection, halt.key, why="fine", by=Actor("otto", "operator"))
        with pytest.raises(CatalogError, match="why may these episodes be used"):
            lift_halt(connection, halt.key, why="  ", by=LEAD)
        lift_halt(connection, halt.key, why="fine", by=LEAD)
        with pytest.raises(CatalogError, match="was lifted by lena"):
            lift_halt(connection, halt.key, why="again", by=LEAD)


def test_a_released_episode_stays_released_and_the_verdict_waits_for_the_next(
    database: Database,
) -> None:
    ids = recorded(database, 10)
    with database.write() as connection:
        move_episodes(connection, ids, "released", who="lena", why=None)
        halt = take_check(connection, check(300, passed=False), who="anna", why=WHY)
    assert states(database, ids) == ["released"]
    with database.write() as connection:
        verdict = connection.execute(select(EPISODE.c.verdict).where(EPISODE.c.id == ids[0]))
        assert verdict.scalar() == "quarantined"
        assert halt is not None
        lift_halt(connection, halt.key, why="fine", by=LEAD)
        assert connection.execute(select(HELD.c.state)).scalar() == "released"
    assert states(database, ids) == ["released"]


def test_a_check_without_a_time_zone_is_refused(database: Database) -> None:
    with database.write() as connection, pytest.raises(CatalogError, match="with a time zone"):
        take_check(connection, StationCheck("cell@1.0.0", "2026-11-19T08:00", True, []), who="a")


def test_checks_are_listed_by_station_the_oldest_first(database: Database) -> None:
    with database.write() as connection:
        for seconds in (200, 50):
            take_check(connection, check(seconds, passed=True), who="anna")
        take_check(connection, check(200, passed=True), who="anna")
    with database.read() as connection:
        listed = list_checks(connection, "cell")
    assert [each.at[:19] for each in listed] == [moment(50)[:19], moment(200)[:19]]
