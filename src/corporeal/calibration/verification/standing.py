"""Where a station stands between two looks at its markers: good, due, overdue or halted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from corporeal.calibration.verification.check_log import LoggedCheck
from corporeal.protocol import Calibration

StandingState = Literal["good", "due", "overdue", "halted"]


@dataclass(frozen=True)
class StationStanding:
    """What the log says of a calibration at one moment.

    `good` is the last check that passed, or the last lift, of this very version; `failed` is the
    check that halts collection. `due_at` and `overdue_at` are of the next check.
    """

    state: StandingState
    due_at: datetime
    overdue_at: datetime
    good: LoggedCheck | None = None
    failed: LoggedCheck | None = None

    def facts(self, calibration: Calibration) -> dict[str, Any]:
        """What an episode that begins now says: its verification at the start, and what is due."""
        stated: dict[str, Any] = {}
        last = self.good if self.failed is None else self.failed
        if last is not None and last.what == "check":
            stated["start"] = {"id": calibration.reference, "at": last.at, "passed": last.passed,
                               **worst_errors(last)}  # fmt: skip
        stated["check"] = {"state": self.state, "due_at": _iso(self.due_at),
                           "last": None if self.good is None else self.good.at}  # fmt: skip
        return stated


def worst_errors(check: LoggedCheck) -> Mapping[str, float]:
    """The largest shift and turn of a check, of markers that were not moved themselves."""
    told = [shift for shift in check.shifts if shift.cause != "marker"]
    if not told:
        return {}
    return {
        "position_error_m": float(f"{max(shift.distance_m for shift in told):.4g}"),
        "rotation_error_rad": float(f"{max(shift.angle_rad for shift in told):.4g}"),
    }


def standing_of(
    calibration: Calibration, entries: Sequence[LoggedCheck], *, began: datetime, now: datetime
) -> StationStanding:
    """Where a calibration with markers stands; `began` is when the session did.

    Halted until a check of the station passes, of any version, or somebody lifts it. The first
    check of a session is due at its start, unless one passed no longer ago than the grace.
    """
    plan = calibration.verification
    assert plan is not None
    every, grace = timedelta(minutes=plan.every_min), timedelta(minutes=plan.grace_min)
    mine = sorted(
        (entry for entry in entries if entry.calibration.partition("@")[0] == calibration.name),
        key=lambda entry: entry.time,
    )
    failed = mine[-1] if mine and not mine[-1].passed else None
    good = next((entry for entry in reversed(mine)
                 if entry.passed and entry.calibration == calibration.reference), None)  # fmt: skip
    due = began if good is None else good.time + every
    overdue = due + grace
    if good is not None and good.time < began - grace:
        due = min(due, began)
    state: StandingState = "good"
    if failed is not None:
        state = "halted"
    elif now >= overdue:
        state = "overdue"
    elif now >= due:
        state = "due"
    return StationStanding(state, due, overdue, good, failed)


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
