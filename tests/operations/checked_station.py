"""A station whose markers were looked at nine times; at the last look its camera had been moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from tests.calibration.marker_pictures import station
from tests.calibration.test_standing import MARKER
from tests.catalog.entries import changed, entry

from corporeal.calibration.verification import LoggedCheck, LoggedShift
from corporeal.catalog.database import Database
from corporeal.catalog.episodes import (
    EpisodeEntry,
    Halt,
    StationCheck,
    add_episodes,
    list_halts,
    move_episodes,
    take_check,
)
from corporeal.protocol import Calibration

BEGAN = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
CELL: Calibration = station(verification={"markers": [MARKER], "every_min": 45, "grace_min": 15})
WHY = "cell@1.0.0 failed its check: head_left was moved by 4.1 mm"


def fill_station(database: Database, *, checks: int = 9, bumped: bool = True) -> Halt | None:
    """Checks every 40 minutes and an accepted episode after each; the halt, where one was made."""
    rng = np.random.default_rng(4)
    with database.write() as connection:
        for number in range(checks):
            is_last = bumped and number == checks - 1
            noted = _check(number, rng, passed=not is_last)
            take_check(connection, noted, who="ann", why=WHY if is_last else "")
            episode = station_episode(number)
            if not is_last:
                add_episodes(connection, [episode], who="ingest")
                move_episodes(connection, [episode.id], "accepted", who="ingest", why=None)
        return next(iter(list_halts(connection)), None)


def at(number: int, minutes: float = 0) -> datetime:
    """When the check of this number was, or so much later."""
    return BEGAN + timedelta(minutes=40 * number + minutes)


def _check(number: int, rng: np.random.Generator, *, passed: bool) -> StationCheck:
    noise = rng.normal(0, 1e-4, 3)
    x, y, z = noise if passed else (4.1e-3, 0.0, 0.0)
    shift = LoggedShift("verification_a4", "head_left", (1e-4, 0.0, 1e-4), (x, y, z), (1e-3,) * 3,
                        (1e-4,) * 3, 0.0025, 0.015, "nothing" if passed else "camera")  # fmt: skip
    moment = at(number).isoformat()
    logged = LoggedCheck("check", moment, CELL.reference, "ann", passed, shifts=(shift,))
    return StationCheck(CELL.reference, moment, passed, logged.to_json()["shifts"], "s1")


def station_episode(number: int) -> EpisodeEntry:
    """The episode after the check of this number."""
    recorded_ns = round(at(number, 10).timestamp() * 1e9)
    made = entry(number, recorded_ns=recorded_ns, calibration=CELL.reference)
    document = {"hash": CELL.hash, "name": CELL.name, "version": CELL.version,
                "text": CELL.canonical()}  # fmt: skip
    made = changed(made, verdict="accepted")
    made.documents["calibration"] = document  # type: ignore[index]
    return made
