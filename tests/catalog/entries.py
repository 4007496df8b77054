"""Episodes as the catalogue has them, made up."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import EpisodeEntry, EpisodeRow, State
from corporeal.catalog.people import Privacy, set_privacy
from corporeal.catalog.permission import Actor

MANAGED = Privacy("managed", "tests of the charts", "nobody is real", "a lead", "to the lead")


def entry(number: int, **facts: Any) -> EpisodeEntry:
    """One episode with a little of everything, always the same for the same number."""
    digest = hashlib.sha256(f"episode {number}".encode()).hexdigest()
    return made_entry(
        str(uuid.UUID(digest[:32])),
        {
            "hash": f"sha256:{digest}",
            "bytes": 40_000_000 + number,
            "file": f"episode_{number:06}.h5",
            "task": f"task_{number % 7}",
            "operator": f"op{number % 5:02}",
            "session": f"s{number // 20}",
            "robot": "g1",
            "recorded_ns": 1_700_000_000_000_000_000 + number,
            "duration_s": 20.0,
            "success": number % 3 > 0,
            "score": (number % 100) / 100,
            "metadata": {"light": "Größe 3", "gains": [1.5, 2]},
            **facts,
        },
        findings=[
            {"check": "joints_within_limits", "severity": "warn", "stream": "observations/joints",
             "value": 1.25, "limit": 1.0, "message": "out of range", "frames": [[3, 9]]},
        ] if number % 4 == 0 else (),
        scores=[{"part": "smoothness", "value": 0.5, "weight": 1.0}],
        streams=[{"path": "observations/joints", "kind": "vector", "rate_hz": 100.0,
                  "samples": 2000}],
        documents={"schema": {"hash": "sha256:d0", "name": "lab", "version": "1.0.0",
                              "text": "streams: {}"}},
        parents={f"session:s{number // 20}": "recorded_in"},
    )  # fmt: skip


def made_entry(
    name: str, facts: Mapping[str, Any], state: State = "recorded", **beside: Any
) -> EpisodeEntry:
    """An episode by the columns of its row, with what is kept beside it."""
    return EpisodeEntry(EpisodeRow(id=name, state=state, **facts), **beside)


def changed(entry: EpisodeEntry, **facts: Any) -> EpisodeEntry:
    """The entry with other values in some columns of its row."""
    return replace(entry, row=replace(entry.row, **facts))


def show_people(database: Database) -> None:
    """Let leads of a workspace see figures of single operators, who are made up."""
    with database.write() as connection:
        set_privacy(connection, MANAGED, by=Actor("tester", "admin"))
