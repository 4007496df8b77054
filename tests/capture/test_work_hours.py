"""Breaks are counted by what was recorded, and nobody's is skipped."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.capture.small_rig import Options
from tests.catalog.entries import changed, entry

from corporeal.capture.driver import Driver, RecordingSource
from corporeal.capture.operator_mark import OperatorMark, why_not
from corporeal.capture.recorder import Recorder, RecorderSettings
from corporeal.capture.trigger import Button
from corporeal.capture.work_hours import WorkHours, work_standing
from corporeal.catalog.database import Database
from corporeal.catalog.episodes import add_episodes
from corporeal.catalog.people import takes_of
from corporeal.errors import CorporealError
from corporeal.protocol.protocol import WorkLimits
from corporeal.units import SECOND_NS

LIMITS = WorkLimits()
BEGIN_S = datetime(2026, 3, 2, 8, 0).timestamp()


def _takes(*minutes: tuple[float, float]) -> list[tuple[float, float]]:
    return [(BEGIN_S + 60 * first, BEGIN_S + 60 * last) for first, last in minutes]


def test_work_for_three_quarters_of_an_hour_needs_a_break_of_fifteen_minutes() -> None:
    spans = _takes((0, 1), (14, 15), (29, 30), (44, 45.5))
    # Thirteen or fourteen minutes without a take are no break yet.
    waiting = work_standing(spans[:3], BEGIN_S + 60 * 38, LIMITS)
    assert (waiting.state, round(waiting.worked_min)) == ("good", 38)
    halted = work_standing(spans, BEGIN_S + 60 * 46, LIMITS)
    assert halted.state == "halted"
    assert "Rest until" in halted.sentence
    assert halted.until is not None
    until_s = datetime.fromisoformat(halted.until).timestamp()
    assert until_s == BEGIN_S + 60 * 60.5
    assert work_standing(spans, until_s + 1, LIMITS).state == "good"


def test_somebody_is_warned_five_minutes_before() -> None:
    told = work_standing(_takes((0, 14), (28, 40)), BEGIN_S + 60 * 41, LIMITS)
    assert told.state == "due"
    assert told.sentence == "Break in 4 min: 15 minutes."


def test_four_hours_are_enough_for_a_day() -> None:
    spans = _takes(*((60 * hour + part, 60 * hour + part + 1)
                     for hour in range(6) for part in range(0, 44, 4)))  # fmt: skip
    told = work_standing(spans, spans[-1][1], LIMITS)
    assert told.state == "halted"
    assert "tomorrow" in told.sentence
    assert told.until is None
    assert work_standing(spans, spans[-1][1] + 3600, LIMITS).state == "halted"


@given(st.lists(st.tuples(st.floats(0.1, 30), st.floats(0, 30)), max_size=60))
def test_whoever_obeys_never_works_longer_than_the_limits(steps: list[tuple[float, float]]) -> None:
    """Takes of any length with any pause; one begins only where none is forbidden."""
    at = BEGIN_S
    spans: list[tuple[float, float]] = []
    for pause, length in steps:
        at += 60 * pause
        if work_standing(spans, at, LIMITS).state == "halted":
            continue
        spans.append((at, at + 60 * length))
        at += 60 * length
    for number in range(1, len(spans)):
        block = [spans[number]]
        for earlier in reversed(spans[:number]):
            if block[0][0] - earlier[1] >= 60 * LIMITS.break_min:
                break
            block.insert(0, earlier)
        assert block[-1][0] - block[0][0] < 60 * LIMITS.block_min


def test_a_take_that_runs_is_not_cut_off_and_the_next_one_waits(tmp_path: Path) -> None:
    clock = [BEGIN_S]
    hours = WorkHours(tmp_path, "op01", LIMITS, now=lambda: clock[0])
    hours.begin()
    clock[0] += 60 * 50
    assert hours.is_halted
    hours.end()
    clock[0] += 60 * 14
    assert hours.is_halted
    clock[0] += 60
    assert not hours.is_halted


def test_whoever_moves_to_another_station_brings_the_hours_along(tmp_path: Path) -> None:
    clock, takes = [BEGIN_S + 60 * 50], _takes((0, 20), (25, 49))
    asked: list[int] = []

    def elsewhere() -> list[tuple[float, float]]:
        asked.append(1)
        return takes

    hours = WorkHours(tmp_path, "op01", LIMITS, elsewhere=elsewhere, now=lambda: clock[0])
    assert hours.health().state == "halted"
    assert WorkHours(tmp_path, "op01", LIMITS, now=lambda: clock[0]).health().state == "good"
    clock[0] += 60 * 30
    assert hours.health().state == "good"
    takes += _takes((66, 80), (80, 112))
    clock[0] = BEGIN_S + 60 * 113
    deadline = time.monotonic() + 30
    # What another station records meanwhile is asked for in the background.
    while hours.health().state != "halted" and time.monotonic() < deadline:
        time.sleep(0.001)
    assert hours.health().state == "halted"
    assert len(asked) < 9


def test_a_recorder_asks_for_the_takes_of_whoever_records(
    make_driver: Callable[..., Driver], tmp_path: Path
) -> None:
    asked = []

    def elsewhere(operator: str) -> list[tuple[float, float]]:
        asked.append(operator)
        return [(time.time() - 60 * minutes, time.time() - 60 * (minutes - 12))
                for minutes in range(12, 60, 12)]  # fmt: skip

    settings = RecorderSettings(tmp_path, metadata={"task": "t", "operator": "op01"})
    source = RecordingSource("rig", make_driver(lambda: iter(())), Options())
    recorder = Recorder([source], settings, trigger=Button(), elsewhere=elsewhere)
    assert asked == ["op01"]
    work = recorder.health().work
    assert work is not None
    assert work.state == "halted" or datetime.now().hour == 0, "an hour ago was yesterday"


def test_takes_of_all_stations_are_known_to_the_catalogue(database: Database) -> None:
    noon_ns = round(BEGIN_S * SECOND_NS)
    entries = [changed(entry(number), operator=name, station=f"s{number}", duration_s=30.0,
                       recorded_ns=noon_ns + 60 * SECOND_NS * number)
               for number, name in enumerate(("op01", "op01", "op02", "op01"))]  # fmt: skip
    with database.write() as connection:
        add_episodes(connection, entries, who="tester")
    with database.read() as connection:
        takes = takes_of(connection, "op01", since_s=BEGIN_S + 1)
    assert takes == [(BEGIN_S + 60, BEGIN_S + 90), (BEGIN_S + 180, BEGIN_S + 210)]


def test_a_workspace_that_is_away_costs_nobody_a_take(tmp_path: Path) -> None:
    def elsewhere() -> list[tuple[float, float]]:
        raise CorporealError("the workspace is away")

    assert not WorkHours(tmp_path, "op01", LIMITS, elsewhere=elsewhere).is_halted


def test_a_start_during_a_break_is_refused_in_words() -> None:
    said = why_not(OperatorMark("start"), running=None, is_open=False, by_hand=True,
                   is_wanted=True, is_halted=False, rest="Break: 46 minutes of work.")  # fmt: skip
    assert said == "start: Break: 46 minutes of work."
