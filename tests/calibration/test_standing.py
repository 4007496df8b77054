"""Where a station stands between two checks: by its log, its plan and the session."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.calibration.marker_pictures import LEFT, station

from corporeal.calibration.verification import LoggedCheck, LoggedShift, standing_of
from corporeal.protocol import Calibration

BEGAN = datetime(2026, 11, 19, 8, 0, tzinfo=UTC)
MARKER = {
    "name": "verification_a4", "camera": "head_left", "frame": "world",
    "board": LEFT.model_dump(mode="json", exclude_none=True),
    "xyz": [0.0, 0.0, 0.5], "rpy": [0.0, 0.0, 0.0], "camera_rpy": [0.0, 0.0, 0.0],
    "position_sigma_m": [1e-4] * 3, "rotation_sigma_rad": [1e-3] * 3,
}  # fmt: skip
CELL: Calibration = station(verification={"markers": [MARKER], "every_min": 45, "grace_min": 15})
SHIFT = LoggedShift("verification_a4", "head_left", (0.0, 0.0, 0.01), (0.004, 0.0, 0.0),
                    (1e-3,) * 3, (1e-4,) * 3, 0.0025, 0.015, "camera")  # fmt: skip


def check(minutes: float, *, passed: bool = True, version: str = "1.0.0") -> LoggedCheck:
    at = (BEGAN + timedelta(minutes=minutes)).isoformat()
    shift = SHIFT if not passed else replace(SHIFT, shift_m=(2e-4, 0, 0), cause="nothing")
    return LoggedCheck("check", at, f"cell@{version}", "ann", passed, shifts=(shift,))


def state(*entries: LoggedCheck, after_min: float) -> str:
    now = BEGAN + timedelta(minutes=after_min)
    return standing_of(CELL, entries, began=BEGAN, now=now).state


@pytest.mark.parametrize(
    ("entries", "after_min", "expected"),
    [
        ([], 1, "due"),
        ([], 16, "overdue"),
        ([check(-5)], 1, "good"),
        ([check(-5)], 41, "due"),
        ([check(-20)], 1, "due"),
        ([check(-70)], 1, "overdue"),
        ([check(2)], 46, "good"),
        ([check(2)], 48, "due"),
        ([check(2)], 63, "overdue"),
        ([check(2, version="0.9.0")], 3, "due"),
        ([check(2), check(3, passed=False)], 4, "halted"),
        ([check(3, passed=False), check(4)], 5, "good"),
        ([check(3, passed=False), check(4, version="1.0.1")], 5, "due"),
    ],
)
def test_it_is_good_due_overdue_or_halted(
    entries: list[LoggedCheck], after_min: float, expected: str
) -> None:
    assert state(*entries, after_min=after_min) == expected


def test_a_lift_ends_a_halt_and_counts_as_a_check_that_passed() -> None:
    lift = LoggedCheck("lift", (BEGAN + timedelta(minutes=4)).isoformat(), "cell@1.0.0", "ann",
                       passed=True, why="kicked")  # fmt: skip
    assert state(check(3, passed=False), lift, after_min=5) == "good"
    assert state(check(3, passed=False), lift, after_min=50) == "due"


def test_checks_of_other_stations_do_not_count() -> None:
    other = replace(check(3, passed=False), calibration="cell_2@1.0.0")
    assert state(check(2), other, after_min=5) == "good"


def test_an_episode_says_how_its_start_was_verified_and_what_lacks() -> None:
    now = BEGAN + timedelta(minutes=80)
    facts = standing_of(CELL, [check(2)], began=BEGAN, now=now).facts(CELL)
    assert facts["start"]["passed"]
    assert facts["start"]["position_error_m"] == pytest.approx(2e-4)
    assert facts["check"]["state"] == "overdue"
    assert facts["check"]["last"] == check(2).at
    good = standing_of(CELL, [check(2)], began=BEGAN, now=BEGAN + timedelta(minutes=3)).facts(CELL)
    assert good["check"]["state"] == "good"


def test_a_marker_that_was_moved_is_no_error_of_the_calibration() -> None:
    moved = replace(check(2), shifts=(replace(SHIFT, cause="marker"),))
    now = BEGAN + timedelta(minutes=3)
    start = standing_of(CELL, [moved], began=BEGAN, now=now).facts(CELL)["start"]
    assert "position_error_m" not in start
