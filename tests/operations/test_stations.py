"""Calibrations of stations in the catalogue: what is in force, due, halted, and how they drift."""

from __future__ import annotations

from datetime import timedelta

from tests.operations.checked_station import at, fill_station

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import lift_halt
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import count_episodes
from corporeal.operations.monitoring import held_query, read_station_log, read_stations
from corporeal.operations.question import LineMarks, charts
from corporeal.operations.scope import read_scope

LEAD = Actor("lena", "lead")
CHART = charts()["calibration_drift"]


def test_a_station_says_what_is_in_force_and_when_it_is_checked_next(database: Database) -> None:
    fill_station(database, bumped=False)
    with database.read() as connection:
        (station,) = read_stations(connection, now=at(8, 5))
        assert station.reference == "cell@1.0.0"
        assert station.standing is not None
        assert station.standing.state == "good"
        assert station.standing.due_at == at(8, 45)
        assert (station.open_halt, station.versions[0].episodes) == (None, 9)
        (late,) = read_stations(connection, now=at(8, 70))
    assert late.standing is not None
    assert late.standing.state == "overdue"


def test_a_halted_station_stays_so_until_it_is_lifted_and_finds_its_episodes(
    database: Database,
) -> None:
    halt = fill_station(database)
    assert halt is not None
    assert halt.held == 1
    with database.read() as connection:
        (station,) = read_stations(connection, now=at(8, 5))
        query = held_query(halt, [station.reference])
        held = count_episodes(connection, query)
    assert station.standing is not None
    assert station.standing.state == "halted"
    assert station.open_halt is not None
    assert held == 1
    with database.write() as connection:
        lift_halt(connection, halt.key, why="the marker fell", by=LEAD)
    with database.read() as connection:
        (station,) = read_stations(connection)
        log = read_station_log(connection, "cell")
    assert station.open_halt is None
    assert station.standing is not None
    assert station.standing.state != "halted"
    assert (log[-1].what, log[-1].why) == ("lift", "the marker fell")
    assert [entry.time for entry in log] == sorted(entry.time for entry in log)


def test_the_chart_shows_every_check_beside_its_limit_and_halts_as_marks(
    database: Database,
) -> None:
    halt = fill_station(database)
    assert halt is not None
    with database.read() as connection:
        drawing = CHART.answer(connection, read_scope(connection), {})
        found = count_episodes(connection, drawing.payload.points[-1].query)  # type: ignore[union-attr]
        between = count_episodes(connection, drawing.payload.points[3].query)  # type: ignore[union-attr]
    assert drawing.answer.startswith("Collection is halted: cell@1.0.0 failed its check")
    marks = drawing.payload
    assert isinstance(marks, LineMarks)
    assert [point.state for point in marks.points] == ["within"] * 8 + ["out"]
    assert marks.points[-1].value == 4.1e-3
    assert marks.target == 0.0025
    assert "halt, 1 episode held" in marks.points[-1].detail
    assert found == 1
    assert between == 1
    with database.write() as connection:
        lift_halt(connection, halt.key, why="the marker fell", by=LEAD)
    with database.read() as connection:
        drawing = CHART.answer(connection, read_scope(connection), {"measure": "CUSUM"})
    assert drawing.answer.startswith("No: in the last check of 1 station")
    assert isinstance(drawing.payload, LineMarks)
    assert drawing.payload.points[-1].upper == 5
    assert "lifted" in drawing.payload.points[-1].detail
    assert "by lena: the marker fell" in drawing.payload.points[-1].detail


def test_without_checks_it_tells_what_to_do(database: Database) -> None:
    with database.read() as connection:
        drawing = CHART.answer(connection, read_scope(connection), {})
        assert read_stations(connection) == []
    assert drawing.answer.startswith("Cannot tell: no station was checked")
    assert "corporeal calibrate reference" in drawing.advice
    assert at(1) - at(0) == timedelta(minutes=40)
