"""How long a failed check takes to hold ten thousand episodes, and its lift to give them back."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.catalog.entries import entry

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import (
    StationCheck,
    add_episodes,
    lift_halt,
    move_episodes,
    take_check,
)
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import upgrade
from corporeal.units import SECOND_NS

BEGIN_S = 1_700_000_000


def quarantine(episodes: int) -> dict[str, float]:
    """CPU seconds of one transaction each, on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'catalog.db'}")
        upgrade(database)
        entries = [entry(number, recorded_ns=(BEGIN_S + number) * SECOND_NS,
                         calibration="cell@1.0.0") for number in range(episodes)]  # fmt: skip
        with database.write() as connection:
            add_episodes(connection, entries, who="bench")
            move_episodes(connection, [each.id for each in entries], "accepted", who="bench",
                          why=None)  # fmt: skip
        at = datetime.fromtimestamp(BEGIN_S + episodes, UTC).isoformat()
        check = StationCheck("cell@1.0.0", at, passed=False, shifts=[], station="s1")
        begin = time.process_time()
        with database.write() as connection:
            halt = take_check(connection, check, who="bench", why="head_left was moved by 4 mm")
        held_s = time.process_time() - begin
        assert halt is not None
        begin = time.process_time()
        with database.write() as connection:
            lifted = lift_halt(connection, halt.key, why="looked at", by=Actor("lena", "lead"))
        return {"held": halt.held, "hold_cpu_s": held_s, "given_back": lifted.count,
                "lift_cpu_s": time.process_time() - begin}  # fmt: skip
