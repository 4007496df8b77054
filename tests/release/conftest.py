"""A workspace with judged episodes in it: rows with small objects, or real files of a robot."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.catalog.entries import made_entry

from corporeal.catalog.episodes import EpisodeEntry, add_episodes
from corporeal.catalog.ingestion.episode_entry import entry_of
from corporeal.catalog.store.store import digest_of
from corporeal.catalog.workspace import Workspace, make_workspace
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.schema import open_schema

Fill = Callable[..., list[str]]


@pytest.fixture
def workspace(empty_url: str, tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace, once with each kind of database."""
    with make_workspace(tmp_path / "workspace", catalog=empty_url) as made:
        yield made


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace with SQLite alone."""
    with make_workspace(tmp_path / "plain") as made:
        yield made


def document(kind: str, name: str, **body: Any) -> dict[str, str]:
    text = json.dumps({"document": kind, "name": name, "version": "1.0.0", **body})
    digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    return {"hash": digest, "name": name, "version": "1.0.0", "text": text}


def robot_document(*joints: str) -> dict[str, str]:
    return document("embodiment", "g1", joints=[{"name": name} for name in joints])


SCHEMA = document("schema", "rig", streams=[{"group": "actions", "name": "target", "shape": [2]}])


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    """Puts episodes into a workspace; the ids that they have."""

    def put(workspace: Workspace, facts: Sequence[dict[str, Any]], *, seed: str = "") -> list[str]:
        entries = []
        for number, own in enumerate(facts):
            said = dict(own)
            path = tmp_path / "object"
            path.write_text(f"{seed} episode {number}")
            digest = workspace.store.put(path)
            name = str(UUID(hashlib.md5(f"{seed}{number}".encode()).hexdigest()))
            documents = said.pop(
                "documents", {"schema": SCHEMA, "embodiment": robot_document("a", "b")}
            )
            base = {"hash": digest, "bytes": path.stat().st_size, "file": f"e{number}.h5",
                    "task": "pick", "operator": "op1", "robot": "g1", "verdict": "accepted",
                    "score": (number % 10) / 10, "duration_s": 5.0 + number % 7,
                    "recorded_ns": 10**18 + number, "policy": "default@1.1.0"}  # fmt: skip
            state = said.pop("state", "accepted")
            entries.append(made_entry(name, base | said, state=state, documents=documents))
        with workspace.database.write() as connection:
            add_episodes(connection, entries, who="tester")
        return [entry.id for entry in entries]

    return put


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[Workspace, int], list[str]]:
    """Puts small real episodes of a G1 into a workspace, as accepted ones."""

    def put(workspace: Workspace, count: int) -> list[str]:
        entries = []
        for number in range(count):
            path = tmp_path / f"real{number}.h5"
            _write_episode(path, number)
            with Episode.open(path) as episode:
                size = path.stat().st_size
                entry = entry_of(episode, digest=digest_of(path), size=size)
            workspace.store.put(path)
            judged = replace(entry.row, state="accepted", verdict="accepted", score=0.9)
            entries.append(EpisodeEntry(judged, streams=entry.streams, documents=entry.documents))
        with workspace.database.write() as connection:
            add_episodes(connection, entries, who="tester")
        return [entry.id for entry in entries]

    return put


def _write_episode(path: Path, number: int) -> None:
    robot = open_robot("g1")
    with EpisodeWriter(
        path,
        schema=open_schema("teleop_humanoid"),
        embodiment=robot,
        metadata={"task": "wave", "operator": f"op{number % 2}", "station": "s1"},
    ) as writer:
        time_ns = np.arange(50) * 10_000_000
        position = np.full((50, len(robot.joint_names)), number / 100)
        writer.extend("observations/joint_position", time_ns, position)
        writer.extend("actions/joint_position_target", time_ns[::2], position[::2])
        writer.append("observations/instruction", 0, "wave")
