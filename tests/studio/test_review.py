"""The review over the web: every decision counts once, and everything odd gets a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace

from corporeal.catalog.accounts import add_account, new_token
from corporeal.catalog.episodes import move_episodes
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace

KEY = "0123456789abcdef"


@pytest.fixture
def review(client: TestClient, small_workspace: SmallWorkspace, workspace: Workspace) -> str:
    """A review of all three episodes, all of them accepted."""
    with workspace.database.write() as connection:
        for name in small_workspace.episodes:
            for state in ("checked", "accepted"):
                move_episodes(connection, [name], state, who="tester", why=None)
    made = client.post("/api/reviews", json={"name": "all", "share": 1})
    assert made.status_code == 201, made.text
    return "all"


def _next(client: TestClient, name: str = "all", **headers: str) -> dict[str, Any]:
    answer = client.post(f"/api/reviews/{name}/next", json={"avoid": []}, headers=headers)
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def _decide(client: TestClient, episode: str, **body: Any) -> Any:
    body = {"decision": "accept", "key": KEY, "version": 0, **body}
    return client.post(f"/api/reviews/all/items/{episode}/decision", json=body)


def test_a_preview_says_what_a_sample_proves(client: TestClient) -> None:
    said = client.get("/api/reviews/preview", params={"query": "task = reach and state is known",
                                                      "share": 0.5}).json()  # fmt: skip
    assert (said["lot"], said["sample"]) == (3, 2)
    assert said["words"].startswith("look at 2 of 3; if none is bad")


def test_the_queue_is_worked_off_and_the_lot_judged(client: TestClient, review: str) -> None:
    for number in range(3):
        turn = _next(client)
        assert turn["item"] is not None
        assert turn["review"]["decided"] == number
        assert (turn["after"] is None) == (number == 2)
        said = _decide(client, turn["item"]["episode"], key=f"{KEY}{number}", seconds=3).json()
        assert said["state"] == "accepted"
    turn = _next(client)
    assert turn["item"] is None
    assert len(turn["recent"]) == 3
    assert turn["review"]["lot"]["state"] == "accepted"
    closed = client.post("/api/reviews/all/close").json()
    assert closed["closed_at"]
    assert client.get("/api/reviews").json()[0]["name"] == "all"


def test_a_retry_is_no_second_decision_and_a_stale_one_is_told(
    client: TestClient, review: str
) -> None:
    episode = _next(client)["item"]["episode"]
    body = {"decision": "reject", "reason": "camera", "text": "dark"}
    first = _decide(client, episode, **body).json()
    again = _decide(client, episode, **body).json()
    assert (first["again"], again["again"]) == (False, True)
    assert first["state"] == "quarantined"
    stale = _decide(client, episode, key="another-key")
    assert stale.status_code == 409
    assert "reject because of camera: dark" in stale.json()["error"]
    about = client.get(f"/api/episodes/{episode}/reviews").json()
    assert about[0]["why"] == "camera: dark"
    back = client.post(f"/api/reviews/all/items/{episode}/undo", json={"key": "undo-key-1"}).json()
    assert back["state"] == "accepted"
    assert _next(client)["item"]["episode"] == episode


def test_a_skipped_episode_leaves_the_front(client: TestClient, review: str) -> None:
    episode = _next(client)["item"]["episode"]
    assert client.post(f"/api/reviews/all/items/{episode}/skip").status_code == 204
    assert _next(client)["item"]["episode"] != episode


def test_roles_decide_who_may_review(client: TestClient, review: str, workspace: Workspace) -> None:
    admin = Actor("root", "admin")
    with workspace.database.write() as connection:
        tokens = {}
        for name, role in (("ada", "admin"), ("ann", "annotator"), ("vic", "viewer")):
            add_account(connection, name, role, by=admin)
            tokens[name] = new_token(connection, name, "test", by=admin)
    heads = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    refused = client.post("/api/reviews/all/next", json={"avoid": []}, headers=heads["vic"])
    assert refused.status_code == 403
    one = _next(client, Authorization=heads["ann"]["Authorization"])
    two = _next(client, Authorization=heads["ada"]["Authorization"])
    assert one["item"]["episode"] != two["item"]["episode"]
    assert two["others"] == 1
    for path in ("/api/reviews", "/api/reviews/all/close"):
        sent = client.post(path, json={"name": "mine"}, headers=heads["ann"])
        assert sent.status_code == 403, path


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/reviews", {"name": "../x"}, 422),
        ("/api/reviews", {"name": "x", "share": 0}, 422),
        ("/api/reviews", {"name": "x", "query": "colour = red"}, 422),
        ("/api/reviews", {"name": "x", "limit": "nan"}, 422),
        ("/api/reviews/nothing/next", {"avoid": []}, 404),
        ("/api/reviews/all/next", {"avoid": ["x"] * 51}, 422),
        ("/api/reviews/all/items/nothing/decision",
         {"decision": "accept", "key": KEY, "version": 0}, 404),
        ("/api/reviews/all/items/nothing/decision", {"decision": "burn"}, 422),
        ("/api/reviews/all/items/nothing/undo", {"key": "x"}, 422),
        ("/api/reviews/all/items/%2e%2e%2f/skip", None, 404),
    ],
)  # fmt: skip
def test_malformed_requests_get_a_sentence(
    client: TestClient, review: str, path: str, body: Any, status: int
) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"].endswith(".")
