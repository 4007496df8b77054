"""Breaks are counted by what was recorded, and nobody's is skipped."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from corporeal.capture.operator_mark import OperatorMark, why_not
from corporeal.capture.work_hours import WorkHours, work_standing
from corporeal.protocol.protocol import WorkLimits

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


def test_a_start_during_a_break_is_refused_in_words() -> None:
    said = why_not(OperatorMark("start"), running=None, is_open=False, by_hand=True,
                   is_wanted=True, is_halted=False, rest="Break: 46 minutes of work.")  # fmt: skip
    assert said == "start: Break: 46 minutes of work."
