"""Releases are tried, made, listed, read, compared and verified through the API."""

from __future__ import annotations

from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace
from tests.studio.waiting import comes_to


def test_a_release_is_previewed_made_read_verified_and_the_next_one_compared(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    assert client.post(
        "/api/marks", json={"episodes": small_workspace.episodes, "verdict": "accepted"}
    ).status_code == 201  # fmt: skip
    wish = {"name": "reaches", "query": "number in (1, 2)", "splits": {"train": 1.0}}
    preview = client.post("/api/releases/preview", json=wish)
    assert preview.status_code == 200, preview.text
    assert (preview.json()["episodes"], preview.json()["version"]) == (2, "1.0.0")
    assert client.get("/api/releases").json() == []
    made = client.post("/api/releases", json=wish)
    assert made.status_code == 201, made.text
    listed = client.get("/api/releases").json()
    assert [(each["reference"], each["episodes"], each["verified"]) for each in listed] == [
        ("reaches@1.0.0", 2, None)
    ]
    page = client.get("/api/releases/reaches@1.0.0").json()
    assert "reaches" in page["card"]
    assert page["release"]["splits"] == {"train": 2}
    verified = client.post("/api/releases/reaches@1.0.0/verification").json()
    assert verified["good"], verified
    assert client.get("/api/releases").json()[0]["verified"]["good"]
    assert client.post("/api/releases", json={**wish, "query": ""}).status_code == 201
    words = client.get(
        "/api/releases/reaches@1.1.0/difference", params={"since": "reaches@1.0.0"}
    ).json()["lines"]
    assert any("1 episode" in line for line in words), words
    assert client.get("/api/releases/reaches@9.0.0").status_code >= 400
    again = client.post("/api/releases", json={**wish, "query": ""})
    assert "nothing changed since" in again.json()["error"]
    episode = client.get(f"/api/episodes/{small_workspace.episodes[0]}").json()
    assert set(episode["releases"]) == {"reaches@1.0.0", "reaches@1.1.0"}


def test_a_release_is_exported_in_the_background_and_found_again(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    first = small_workspace.episodes[0]
    client.post("/api/marks", json={"episodes": [first], "verdict": "accepted"})
    wish = {"name": "one", "query": "#1", "splits": {"train": 1.0}}
    assert client.post("/api/releases", json=wish).status_code == 201
    address = "/api/releases/one@1.0.0/exports"
    assert client.get(address).json() == []
    started = client.post(address, json={"format": "mcap"})
    assert started.status_code == 202, started.text
    assert [each["format"] for each in started.json()] == ["mcap"]
    comes_to(None, lambda: client.get(address).json()[0]["phase"], "ready")
    folder = small_workspace.root / client.get(address).json()[0]["folder"]
    assert (folder / "README.md").is_file()
    assert client.post(address, json={"format": "mcap"}).json()[0]["phase"] == "ready"
    assert client.post(address, json={"format": "stone"}).status_code == 422
