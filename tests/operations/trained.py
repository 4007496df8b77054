"""Operators in training: a catalogue in which somebody records episode after episode."""

from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, update
from tests.catalog.entries import made_entry

from corporeal.catalog.episodes import State, add_episodes
from corporeal.catalog.people import (
    CalibrationPhase,
    Certification,
    PracticePhase,
    ProtocolPhase,
)
from corporeal.catalog.permission import Actor
from corporeal.catalog.tables import REFERENCE, SYNOPSIS, TRAINING
from corporeal.quality.batch import Synopsis
from corporeal.quality.synopsis import pack_synopsis

BEGIN = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
LEAD = Actor("lea", "lead", privacy="managed")
SMALL = Certification(
    document="certification", name="small", version="1.0.0",
    practice=PracticePhase(latest=10, hours=0.05),
    protocol=ProtocolPhase(reviewed=5),
    calibration=CalibrationPhase(episodes=6, grasps=0.9, slower=1.5, wider=2.0, diversity=0.5),
)  # fmt: skip


def put(
    connection: Connection, count: int, *, at: datetime, operator: str | None = "op01",
    task: str | None = "reach", good: int | None = None, seconds: float = 20.0,
    spread: float = 0.3, **facts: Any,
) -> list[str]:  # fmt: skip
    """Episodes one minute apart; the first `good` of them succeed. Their ids."""
    entries = []
    for number in range(count):
        moment = at + timedelta(minutes=number)
        key = f"{operator} {task} {moment.isoformat()} {number}"
        digest = hashlib.sha256(key.encode()).hexdigest()
        is_good = good is None or number < good
        draw = np.random.default_rng(int(digest[:8], 16))
        duration_s = seconds * float(np.exp(draw.normal(0, 0.1)))
        values = {
            "hash": f"sha256:{digest}", "bytes": 1000, "file": f"{digest[:6]}.h5", "task": task,
            "operator": operator, "robot": "g1", "recorded_ns": int(moment.timestamp()) * 10**9,
            "duration_s": duration_s, "success": is_good,
            "verdict": "accepted" if is_good else "failed", **facts,
        }  # fmt: skip
        name = str(uuid.UUID(digest[:32]))
        state: State = "accepted" if is_good else "failed"
        brief = _synopsis(name, draw, spread)
        entries.append(made_entry(name, values, state=state, synopsis=brief))
    add_episodes(connection, entries, who="tester")
    return [each.id for each in entries]


def begun(connection: Connection, at: datetime) -> None:
    """Let the phase that was begun last have begun at a moment of the past."""
    stamp = at.isoformat(timespec="microseconds").replace("+00:00", "Z")
    latest = TRAINING.select().order_by(TRAINING.c.number.desc()).limit(1)
    number = connection.execute(latest).one().number
    connection.execute(update(TRAINING).where(TRAINING.c.number == number).values(begun_at=stamp))


def refer_to(connection: Connection, ids: list[str]) -> None:
    """Let these be the reference of the task, as `corporeal rejudge` makes one."""
    connection.execute(
        update(SYNOPSIS).where(SYNOPSIS.c.episode.in_(ids)).values(profile=b"a profile")
    )
    connection.execute(REFERENCE.insert().values(
        task="reach", robot="g1", version=1, episodes=ids, made_at="2026-01-01T00:00:00Z",
        made_by="tester",
    ))  # fmt: skip


def _synopsis(name: str, draw: np.random.Generator, spread: float) -> bytes:
    """An episode in brief that came from a direction near straight ahead."""
    direction = np.array([1.0, *draw.normal(0, spread, 2)])
    direction /= np.linalg.norm(direction)
    measures = dict(
        zip(("approach_x", "approach_y", "approach_z"), direction.tolist(), strict=True)
    )
    return pack_synopsis(Synopsis(
        index=0, id=name, source=Path(f"{name}.h5"), task="reach", metadata={}, duration_s=20.0,
        frames=0, digest=b"", path=None, moments={}, measures=measures,
    ))  # fmt: skip
