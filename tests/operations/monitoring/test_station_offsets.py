"""A station that is off or has changed is named; people, tasks and chance are not taken for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from tests.catalog.entries import entry

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import add_episodes
from corporeal.operations.monitoring import (
    OffsetReport,
    StationRow,
    estimate_offsets,
    read_offsets,
    read_register,
)
from corporeal.operations.scope import read_scope

Shift = Callable[[str, int], float]
FIRST = date(2026, 11, 2)


def a_floor(
    shift: Shift, *, changing: bool = True, days: int = 10, seed: int = 0
) -> tuple[list[StationRow], dict[str, float]]:
    """Three people of unlike pace, at three stations, on variants of unlike length."""
    chance = np.random.default_rng(seed)
    pace = {"anna": -0.2, "ben": 0.0, "chloe": 0.25}
    rows, values = [], {}
    for day in range(days):
        for place, person in enumerate(pace):
            station = f"s{(place + day * changing) % 3 + 1}"
            today = chance.normal(0, 0.05)
            for number in range(10):
                row = StationRow(f"{day}-{place}-{number}", station, person,
                                 f"variant {number % 2}", FIRST + timedelta(days=day))  # fmt: skip
                rows.append(row)
                values[row.id] = (2.5 + 0.3 * (number % 2) + pace[person] + today
                                  + shift(station, day) + chance.normal(0, 0.2))  # fmt: skip
    return rows, values


def duration(shift: Shift, **floor: bool | int) -> OffsetReport:
    rows, values = a_floor(shift, **floor)  # type: ignore[arg-type]
    return estimate_offsets(rows, values, "duration")


def test_stations_alike_are_not_named_whoever_works_there() -> None:
    report = duration(lambda *_: 0.0)
    assert not any(station.is_off or station.since for station in report.stations)
    assert "no station stands out" in report.words


def test_the_station_that_is_slower_is_named_with_its_offset_and_no_other() -> None:
    report = duration(lambda station, _: 0.18 * (station == "s2"))
    assert [station.station for station in report.stations if station.is_off] == ["s2"]
    slow = report.stations[0]
    assert slow.lower < math.expm1(0.18) < slow.upper
    assert slow.offset == pytest.approx(math.expm1(0.18), abs=0.08)
    assert report.words.startswith("s2 +")


def test_a_station_that_changed_is_named_with_the_day() -> None:
    report = duration(lambda station, day: 0.4 * (station == "s3" and day >= 15), days=30)
    stepped = {each.station: each.since for each in report.stations if each.since is not None}
    assert list(stepped) == ["s3"]
    assert abs((stepped["s3"] or FIRST) - (FIRST + timedelta(days=15))) <= timedelta(days=2)
    assert "s3 changed by +" in report.words


def test_people_who_never_change_places_cannot_be_told_from_their_stations() -> None:
    report = duration(lambda *_: 0.0, changing=False)
    assert report.stations == ()
    assert "let people change places" in report.words


def test_a_task_that_only_one_station_has_is_no_offset() -> None:
    rows, values = a_floor(lambda *_: 0.0)
    own = [replace(row, kind=row.station) for row in rows]
    report = estimate_offsets(own, values, "duration")
    assert report.stations == ()
    assert "collect the same at each" in report.words


@pytest.mark.parametrize("count", [0, 1, 12])
def test_too_little_is_said_and_not_judged(count: int) -> None:
    rows, values = a_floor(lambda *_: 0.0)
    report = estimate_offsets(rows[:count], values, "duration")
    assert report.stations == ()
    assert report.words.startswith("cannot tell: ")


def fill(database: Database) -> None:
    """Twelve days in the catalogue: a camera of s1 is exchanged on the eleventh, s2 is slow."""
    rows, values = a_floor(lambda station, _: 0.3 * (station == "s2"), days=12)
    with database.write() as connection:
        entries = []
        for number, row in enumerate(rows):
            at = datetime.combine(row.day, datetime.min.time(), UTC) + timedelta(minutes=number)
            camera = "B7" if row.station == "s1" and row.day >= FIRST + timedelta(days=10) else "A1"
            entries.append(entry(
                number, station=row.station, operator=row.operator, task=row.kind,
                duration_s=math.exp(values[row.id]), recorded_ns=int(at.timestamp() * 1e9),
                verdict="accepted", success=True, score=None,
                metadata={"site": "north", "sensor_serials": {"head": camera}},
            ))  # fmt: skip
        add_episodes(connection, entries, who="lena")


def test_the_catalogue_gives_register_exchanges_and_offsets(database: Database) -> None:
    fill(database)
    with database.read() as connection:
        scope = read_scope(connection)
        register = read_register(connection, scope, now=datetime(2026, 11, 14, tzinfo=UTC))
        reports = {report.measure: report for report in read_offsets(connection, scope)}
    assert [station.name for station in register] == ["s1", "s2", "s3"]
    first = register[0]
    assert (first.site, first.robot, first.operators) == ("north", "g1", 3)
    assert first.sensors == {"head": "B7"}
    assert [(each.sensor, each.before, each.after) for each in first.exchanges] == [
        ("head", "A1", "B7")
    ]
    assert first.exchanges[0].day >= FIRST + timedelta(days=10)
    assert register[1].exchanges == ()
    assert first.latest == ("accepted",) * 10
    assert [each.station for each in reports["duration"].stations if each.is_off] == ["s2"]
    assert reports["score"].words.startswith("cannot tell: 0 stations")
    assert not any(each.is_off for each in reports["errors"].stations)
