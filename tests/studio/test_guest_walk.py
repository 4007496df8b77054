"""Whoever came by a share link is told nothing of the staff, whichever route they ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update
from tests.studio.people import open_client, token_of
from tests.studio.small_workspace import write_episode

from corporeal.catalog.audit import Change, record
from corporeal.catalog.ingestion import ingest
from corporeal.catalog.query import every_episode
from corporeal.catalog.tables import EPISODE
from corporeal.catalog.workspace import make_workspace, open_workspace

PLANTED = "-of-staff"
FACTS = ("operator", "station", "session", "batch", "environment", "software", "notes")


@pytest.fixture(scope="module")
def staffed_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of two episodes in which names of people, places and devices are everywhere."""
    folder = tmp_path_factory.mktemp("staffed")
    metadata: dict[str, Any] = {name: f"{name}{PLANTED}" for name in FACTS}
    metadata |= {"task": "reach", "devices": {"head": {"serial": f"serial{PLANTED}"}}}
    files = [
        write_episode(
            folder / f"olga{PLANTED}_{number}.h5", seed=number, duration_s=1.5,
            metadata=metadata, events=((0.5, "start"), (1.0, "grasp")),
        )
        for number in range(2)
    ]  # fmt: skip
    with make_workspace(folder / f"workspace{PLANTED}") as workspace:
        ingest(workspace, files, who=f"iris{PLANTED}", on="serial")
        with workspace.database.write() as connection:
            names = {name: f"{name}{PLANTED}" for name in ("operator", "station", "session")}
            connection.execute(update(EPISODE).values(names))
            events = [
                Change(f"eve{PLANTED}", "state", f"episode:{row.id}", f"a reason{PLANTED}")
                for row in every_episode(connection)
            ]
            record(connection, events)
        return workspace.root


def value_of(parameter: dict[str, Any], episodes: list[str], stream: str) -> Any:
    """Something that a route may be asked with."""
    known = {"episode_id": episodes[0], "a": episodes[0], "b": episodes[1], "stream": stream,
             "streams": stream, "check": "video_frozen", "share_id": "x", "name": "x"}  # fmt: skip
    return known.get(parameter["name"], max(1, parameter["schema"].get("minimum", 1)))


def walk_routes(
    client: TestClient,
    episodes: list[str],
    headers: dict[str, str],
    *,
    only: str = "",
    named: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[str, int, bytes]]:
    """Every route of the API, asked for each stream: its name, the answer's status and bytes.

    `named` are values of parameters that are known besides.
    """
    detail = client.get(f"/api/episodes/{episodes[0]}", headers=headers).json()
    streams = [stream["path"] for stream in detail["streams"]]
    for route, methods in client.get("/api/openapi.json").json()["paths"].items():
        if route in ("/api/login", "/api/logout"):
            continue
        for method, facts in methods.items():
            if not method.startswith(only):
                continue
            needed = [known for known in facts.get("parameters", ()) if known["required"]]
            asks_for_streams = any("stream" in known["name"] for known in needed)
            for stream in streams if asks_for_streams else streams[:1]:
                values = {
                    known["name"]: (
                        known["in"],
                        named.get(known["name"]) or value_of(known, episodes, stream),
                    )
                    for known in needed
                }
                path = route.format(**{name: value for name, (_, value) in values.items()})
                query = {name: value for name, (kind, value) in values.items() if kind == "query"}
                answer = client.request(
                    method, path, params=query, headers=headers,
                    json={} if method in ("post", "put", "patch") else None,
                )  # fmt: skip
                yield f"{method} {route}", answer.status_code, answer.content


@pytest.mark.slow  # Some 60 routes, those of streams once for every stream.
def test_no_route_tells_a_guest_of_people_places_devices_or_reasons(staffed_root: Path) -> None:
    with open_workspace(staffed_root) as workspace:
        with workspace.database.read() as connection:
            episodes = [row.id for row in every_episode(connection, order="recorded")]
        token = token_of(workspace, f"ada{PLANTED}", "admin")
        bearer = {"Authorization": f"Bearer {token}"}
        with open_client(workspace) as client:
            wish = {"episodes": episodes, "address": "/", "label": f"label{PLANTED}"}
            link = client.post("/api/shares", json=wish, headers=bearer).json()["path"]
            of_admin = list(walk_routes(client, episodes, bearer, only="get"))
            client.get(link, follow_redirects=False)
            of_guest = list(walk_routes(client, episodes, {}))
            words = {"q": f"operator{PLANTED}"}
            guessed = client.get(f"/api/episodes/{episodes[0]}/peers", params=words)
            named = client.get(f"/api/episodes/{episodes[0]}/peers", params={"q": episodes[1]})
    telling = {name for name, _, content in of_admin if PLANTED.encode() in content}
    answered = {name for name, status, _ in of_guest if status in (200, 206)}
    below = "get /api/episodes/{episode_id}"
    assert {below, f"{below}/peers", f"{below}/history", "get /api/comparison"} <= telling
    assert {below, f"{below}/peers", f"{below}/history", "get /api/comparison"} <= answered
    assert not [name for name, _, content in of_guest if PLANTED.encode() in content]
    unasked = {name for name, status, _ in of_guest if status == 422} - {
        name for name, status, _ in of_guest if status != 422
    }
    assert not [name for name in unasked if name.startswith(below)]
    assert guessed.json() == []
    assert [peer["id"] for peer in named.json()] == episodes[1:]
