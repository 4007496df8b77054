"""Notes are pinned to moments of an episode, settled, counted in the list; guests see no names."""

from __future__ import annotations

from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace


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
