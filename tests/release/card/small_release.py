"""A catalogue with one release of invented episodes, the same every time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert
from tests.catalog.entries import made_entry

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import EpisodeEntry, add_episodes
from corporeal.catalog.tables import MEMBER, RELEASE
from corporeal.catalog.workspace import upgrade
from corporeal.release.card import CardFacts, card_facts
from corporeal.schema import open_schema

NAME, VERSION = "kitchen", "1.2.0"
MANIFEST = "sha256:" + "ab" * 32
PEOPLE = ("jane.doe", "m.okafor", "li_wei", "ana", "tomás")
TASKS = {
    "pick_place": ("Put the red cup on the tray.", 0.82, 14.0),
    "handover": ("Hand the box to the person in front of you.", 0.74, 9.0),
    "bimanual_lift": ("Lift the crate with both hands.", 0.66, 18.0),
    "walk_carry": ("Carry the box to the table.", 0.58, 31.0),
}
_DAY_NS = 86_400_000_000_000
_START_NS = 1_788_000_000_000_000_000
SCHEMA = open_schema("teleop_humanoid")
FACTS: Mapping[str, Any] = {
    "licence": "CC-BY-4.0",
    "description": "A humanoid robot at work in a kitchen, by teleoperation.",
    "left_out": {"quarantined": 7},
    "representativeness": {
        "judgement": "different",
        "words": "The splits differ in operator.",
        "splits": {"test": 24, "train": 216},
        "properties": [
            {"property": "task", "judgement": "alike", "test": "chi-square", "p": 0.73,
             "effect": 0.02, "words": "task: no difference shows."},
            {"property": "operator", "judgement": "different", "test": "chi-square", "p": 0.01,
             "effect": 0.31, "words": "operator: jane.doe is 60% of test, 30% of train."},
        ],
    },
}  # fmt: skip


def entries(count: int = 240, *, seed: int = 6) -> list[EpisodeEntry]:
    """Episodes of four tasks by five people over six weeks."""
    draw = np.random.default_rng(seed)
    return [_entry(number, draw) for number in range(count)]


def _entry(number: int, draw: np.random.Generator) -> EpisodeEntry:
    task = str(draw.choice(list(TASKS), p=[0.45, 0.25, 0.2, 0.1]))
    told, score, duration = TASKS[task]
    success = bool(draw.random() < score + 0.15)
    score = float(np.clip(draw.normal(score if success else score - 0.25, 0.07), 0, 1))
    day = int(42 * draw.random() ** 0.7)
    rows: list[dict[str, Any]] = []
    if draw.random() < 0.15:
        rows.append(_finding("gap_in_stream", "quarantine"))
    if draw.random() < 0.05:
        rows.append(_finding("picture_blurred", "note"))
    facts = {
        "hash": f"sha256:{number:064x}",
        "bytes": 40_000_000 + number,
        "file": f"{task}_{number:04d}.h5",
        "task": task,
        "instruction": told,
        "robot": "g1" if number % 5 else "h1",
        "operator": str(draw.choice(PEOPLE, p=[0.34, 0.26, 0.2, 0.15, 0.05])),
        "station": f"station {number % 3 + 1}",
        "session": f"s{day:02d}",
        "batch": f"b{day // 7}",
        "protocol": f"{task}@1.0.0",
        "environment": "kitchen" if number % 4 else None,
        "mode": "teleoperation",
        "software": "corporeal 0.6.0",
        "recorded_ns": _START_NS + day * _DAY_NS + number * 10**9,
        "duration_s": float(draw.lognormal(np.log(duration), 0.25)),
        "success": success if number % 30 else None,
        "failure": None if success else str(draw.choice(["dropped", "missed", "too slow"])),
        "verdict": "accepted" if not rows else "quarantined",
        "score": score,
        "metadata": {},
    }
    return made_entry(
        name=f"e{number:05d}",
        facts=facts,
        state="accepted",
        findings=rows,
        scores=[{"part": "hesitation", "value": score, "weight": 1.0}],
        streams=[
            {"path": stream.path, "kind": stream.kind, "rate_hz": stream.rate_hz, "samples": 100}
            for stream in SCHEMA.streams
        ],
        documents={"schema": {"hash": SCHEMA.hash, "name": SCHEMA.name, "version": SCHEMA.version,
                              "text": SCHEMA.canonical()}},
    )  # fmt: skip


def _finding(check: str, severity: str) -> dict[str, Any]:
    return {"check": check, "severity": severity, "message": "something", "frames": [[3, 9]],
            "stream": "observations/joint_position", "value": 1.0, "limit": 0.5}  # fmt: skip


def release(
    connection: Connection,
    made: list[EpisodeEntry],
    *,
    condition: str = "task != reach and operator != jane.doe and score > 0.2",
    facts: Mapping[str, Any] = FACTS,
) -> None:
    """A release of all of these, nine of ten to train on."""
    connection.execute(insert(RELEASE).values(
        name=NAME, version=VERSION, manifest=MANIFEST, condition=condition, episodes=len(made),
        created_at="2026-10-20T09:30:00.000000Z", created_by="jane.doe",
        facts=json.loads(json.dumps(facts)),
    ))  # fmt: skip
    connection.execute(insert(MEMBER), [
        {"name": NAME, "version": VERSION, "episode": entry.id,
         "split": "test" if number % 10 == 0 else "train"}
        for number, entry in enumerate(made)
    ])  # fmt: skip


@contextmanager
def catalogue(
    folder: Path, made: list[EpisodeEntry] | None = None, **options: Any
) -> Iterator[Database]:
    """A SQLite catalogue in a folder that has the release."""
    with Database("sqlite:///catalog.db", root=folder) as database:
        upgrade(database)
        listed = entries() if made is None else made
        with database.write() as connection:
            add_episodes(connection, listed, who="tests")
            release(connection, listed, **options)
        yield database


def facts_of(folder: Path, made: list[EpisodeEntry] | None = None, **options: Any) -> CardFacts:
    """The facts of such a release."""
    with catalogue(folder, made, **options) as database, database.read() as connection:
        return card_facts(connection, NAME, VERSION)
