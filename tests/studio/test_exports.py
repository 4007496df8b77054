"""Episodes that somebody chose are exported in the background, and the audit log says so."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace
from tests.studio.waiting import comes_to

from corporeal.catalog.audit import events_of_kind
from corporeal.catalog.workspace import Workspace
from corporeal.studio import exports


def test_a_choice_is_exported_and_the_same_choice_is_the_same_export(
    client: TestClient, small_workspace: SmallWorkspace, workspace: Workspace
) -> None:
    wish = {"episodes": small_workspace.episodes[:2], "format": "mcap"}
    started = client.post("/api/exports", json=wish)
    assert started.status_code == 202, started.text
    name = started.json()["name"]
    address = f"/api/exports/{name}"
    comes_to(None, lambda: client.get(address).json()[0]["phase"], "ready")
    folder = small_workspace.root / client.get(address).json()[0]["folder"]
    assert len(list(folder.glob("*.mcap"))) == 2
    again = client.post(
        "/api/exports", json={"query": "number in (1, 2)", "expected": 2, "format": "mcap"}
    )
    assert again.json()["name"] == name
    assert again.json()["states"][0]["phase"] == "ready"
    with workspace.database.read() as connection:
        events = list(events_of_kind(connection, "episode"))
    exported = {event["subject"] for event in events if event["what"] == "export"}
    assert exported == {f"episode:{each}" for each in small_workspace.episodes[:2]}


def test_nothing_and_strange_names_are_refused(client: TestClient) -> None:
    assert client.post("/api/exports", json={"episodes": []}).status_code == 422
    assert client.post("/api/exports", json={"query": "number = 99"}).status_code == 422
    assert client.post("/api/exports", json={"episodes": ["nobody"]}).status_code == 404
    changed = client.post("/api/exports", json={"query": "", "expected": 40})
    assert "40 when it was asked" in changed.json()["error"]
    assert client.get("/api/exports/cache").json() == []


def test_only_so_many_exports_wait_for_their_turn(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MOST_WAITING", 0)
    refused = client.post("/api/exports", json={"query": "number = 1", "format": "zarr"})
    assert refused.status_code == 422
    assert "not done yet" in refused.json()["error"]
