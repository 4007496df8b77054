"""Notes are pinned to moments of an episode, settled, counted in the list; guests see no names."""

from __future__ import annotations

from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace
from tests.studio.test_share import shared

from corporeal.catalog.workspace import Workspace


def test_a_note_is_pinned_listed_counted_and_settled(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    first = small_workspace.episodes[0]
    address = f"/api/episodes/{first}/notes"
    made = client.post(address, json={"text": "grip slips", "time_ns": 1_200_000_000})
    assert made.status_code == 201, made.text
    assert made.json()["time_ns"] == 1_200_000_000
    assert [note["text"] for note in client.get(address).json()] == ["grip slips"]
    rows = client.get("/api/episodes", params={"query": "#1"}).json()["rows"]
    assert rows[0]["comments"] == 1
    settled = client.post(f"{address}/{made.json()['number']}/resolve").json()
    assert settled["resolved"]
    assert client.get("/api/episodes", params={"query": "#1"}).json()["rows"][0]["comments"] == 0
    happened = client.get(f"/api/episodes/{first}/history").json()["changes"]
    assert [change["what"] for change in happened][-2:] == ["comment", "comment resolved"]
    assert client.post(address, json={"text": " "}).status_code >= 400


def test_a_guest_reads_pinned_notes_without_names_and_no_others(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    address = f"/api/episodes/{small_workspace.episodes[0]}/notes"
    with shared(workspace, small_workspace.episodes) as (client, path):
        staff = {"Authorization": f"Bearer {client.headers['X-Token']}"}
        for note in ({"text": "grip slips", "time_ns": 5}, {"text": "ask ben about the cable"}):
            assert client.post(address, json=note, headers=staff).status_code == 201
        client.get(path)
        (seen,) = client.get(address).json()
        assert (seen["text"], seen["who"], seen["at"]) == ("grip slips", "", "")
        assert client.post(address, json={"text": "hello"}).status_code == 403
