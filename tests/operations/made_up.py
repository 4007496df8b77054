"""Episodes of a made-up laboratory: every state and verdict, and gaps in the records."""

from __future__ import annotations

import hashlib
import random
import time
import uuid
from typing import Any

from tests.catalog.entries import made_entry

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import EpisodeEntry, State, add_episodes

DAY_NS = 86_400 * 10**9
_STATES: tuple[State, ...] = (
    "recorded", "checked", "accepted", "accepted", "accepted", "quarantined", "failed",
    "annotated", "released", "erased",
)  # fmt: skip


def laboratory(count: int = 200, *, days: int = 30, seed: int = 1) -> list[EpisodeEntry]:
    """Episodes in every state, the oldest first; always the same for the same arguments."""
    draw = random.Random(seed)
    begin = time.time_ns() // DAY_NS * DAY_NS - days * DAY_NS
    return [_entry(number, count, days, begin, draw) for number in range(count)]


def _entry(number: int, count: int, days: int, begin_ns: int, draw: random.Random) -> EpisodeEntry:
    day = number * days // count
    state = draw.choice(_STATES)
    station = f"st{number % 4 + 1}"
    verdict = state if state in ("accepted", "quarantined", "failed") else draw.choice(
        ["accepted", "failed", "quarantined", None]
    )  # fmt: skip
    success = draw.choice([True, True, False, None])
    digest = hashlib.sha256(f"made up {number}".encode()).hexdigest()
    checks = draw.sample(["force_spikes", "frames_dropped", "joints_swapped"], draw.randint(0, 2))
    facts: dict[str, Any] = {
        "hash": f"sha256:{digest}",
        "bytes": 1000 + number,
        "file": f"made_up_{number}.h5",
        "task": draw.choice(["reach", "pour water", "or"]),
        "operator": draw.choice(["anna", "ben", 'chi"di', None]),
        "station": station,
        "batch": f"b{day // 2:02}",
        "session": f"s{day}",
        "calibration": draw.choice(["cal@1.0.0", "none", None]),
        "protocol": "none",
        "software": "corporeal 1",
        "recorded_ns": None if number % 41 == 0 else begin_ns + day * DAY_NS + number * 10**6,
        "duration_s": draw.uniform(5, 30),
        "success": success,
        "failure": draw.choice(["drop", None]) if success is False else None,
        "verdict": verdict,
        "score": None if number % 17 == 0 else draw.choice([0.0, 0.15, 0.3, 0.7, 0.95, 1.0]),
        "metadata": _metadata(number, draw),
    }
    return made_entry(
        str(uuid.UUID(digest[:32])), facts, state=state,
        findings=[
            {"check": check, "severity": draw.choice(["fail", "quarantine", "note"]),
             "message": "made up", "frames": []}
            for check in checks
        ],
    )  # fmt: skip


def _metadata(number: int, draw: random.Random) -> dict[str, Any]:
    thing = {
        "colour": draw.choice(["red", "blue"]),
        "shape": draw.choice(["box", "ball"]),
        "position": [draw.choice([0.2, 0.35, 0.6]), draw.uniform(-0.3, 0.3), 0.7],
    }
    made: dict[str, Any] = {"variation": {"hand": draw.choice(["left", "right"])}}
    if number % 5:
        made["variation"]["things"] = [thing]
    if number % 3:
        made["consent"] = draw.choice(["yes", {"id": 7}, "none", None])
    if number % 7:
        start = draw.uniform(0.001, 0.002)
        made["calibration"] = {
            "start": {"position_error_m": start},
            "end": {"position_error_m": start + draw.uniform(0, 0.001)},
        }
    return made


def fill(database: Database, entries: list[EpisodeEntry]) -> list[EpisodeEntry]:
    """Put entries into a catalogue; those that are not erased, which figures are about."""
    with database.write() as connection:
        add_episodes(connection, entries, who="tester")
    return [each for each in entries if each.row.state != "erased"]
