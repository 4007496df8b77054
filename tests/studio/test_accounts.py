"""Access is given and ended from the page: accounts, roles, tokens, sessions, by admins alone."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from tests.studio.conftest import SmallWorkspace
from tests.studio.people import open_client, token_of

from corporeal.catalog.audit import events_of
from corporeal.catalog.workspace import Workspace
from corporeal.studio.settings import StudioSettings


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def account_of(client: TestClient, admin: dict[str, str], name: str) -> dict[str, Any]:
    listed = client.get("/api/accounts", headers=admin).json()["accounts"]
    return next(dict(each) for each in listed if each["name"] == name)


def test_the_first_account_is_made_on_the_page_and_comes_with_the_only_way_in(
    client: TestClient,
) -> None:
    assert client.get("/api/accounts").json()["accounts"] == []
    refused = client.post("/api/accounts", json={"name": "bo", "role": "viewer"})
    assert refused.status_code == 422
    made = client.post("/api/accounts", json={"name": "ada", "role": "admin"})
    assert made.status_code == 201
    assert client.get("/api/accounts").status_code == 401
    assert client.post("/api/login", json={"token": made.json()["token"]}).status_code == 200
    second = client.post("/api/accounts", json={"name": "bo", "role": "viewer"})
    assert second.json()["token"] is None


def test_whoever_is_disabled_on_the_page_is_out_with_cookies_links_and_sockets(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    admin = bearer(token_of(workspace, "ada", "admin"))
    token = token_of(workspace, "bo", "operator")
    settings = StudioSettings(recorders=("127.0.0.1:9",), recheck_s=0.05)
    with (
        open_client(workspace, settings) as client,
        open_client(workspace) as guest,
        open_client(workspace) as desk,
    ):
        client.post("/api/login", json={"token": token})
        wish = {"episodes": small_workspace.episodes[:1], "address": "/"}
        guest.get(client.post("/api/shares", json=wish).json()["path"], follow_redirects=False)
        shown = f"/api/episodes/{small_workspace.episodes[0]}"
        assert guest.get(shown).status_code == 200
        with client.websocket_connect("ws://127.0.0.1:8700/api/live") as socket:
            socket.receive_text()
            change = {"disabled": True, "why": "has left"}
            done = desk.patch("/api/accounts/bo", json=change, headers=admin)
            assert done.json()["disabled"] is True
            with pytest.raises(WebSocketDisconnect) as ended:
                _read_to_the_end(socket)
        assert ended.value.code == 4401
        assert client.get("/api/session").status_code == 401
        assert guest.get(shown).status_code == 401
        assert desk.get("/api/session", headers=bearer(token)).status_code == 401
        desk.patch("/api/accounts/bo", json={"disabled": False}, headers=admin)
        assert desk.get("/api/session", headers=bearer(token)).status_code == 200
        assert client.get("/api/session").status_code == 401  # Its session stays ended.
    with workspace.database.read() as connection:
        events = {event["what"]: event for event in events_of(connection, "account:bo")}
    assert events["account disabled"]["why"] == "has left"
    assert events["account disabled"]["who"] == "ada"


def _read_to_the_end(socket: Any) -> None:
    while True:
        socket.receive_text()


def test_tokens_and_sessions_are_listed_without_secrets_and_ended_one_by_one(
    workspace: Workspace,
) -> None:
    admin = bearer(token_of(workspace, "ada", "admin"))
    token_of(workspace, "bo", "viewer")
    with open_client(workspace) as client, open_client(workspace) as desk:
        wish = {"label": "note book/1", "days": 3}
        made = desk.post("/api/accounts/bo/tokens", json=wish, headers=admin)
        token = made.json()["token"]
        client.post("/api/login", json={"token": token})
        listed = desk.get("/api/accounts", headers=admin)
        assert token not in listed.text
        known = account_of(desk, admin, "bo")
        assert [each["label"] for each in known["tokens"]] == ["browser", "note book/1"]
        (session,) = known["sessions"]
        ended = desk.delete(
            "/api/accounts/bo/sessions", params={"session": session["id"]}, headers=admin
        )
        assert ended.status_code == 204
        assert client.get("/api/session").status_code == 401
        client.post("/api/login", json={"token": token})
        assert client.get("/api/session").status_code == 200
        desk.delete("/api/accounts/bo/tokens", params={"label": "note book/1"}, headers=admin)
        assert client.get("/api/session").status_code == 401
        assert [each["label"] for each in account_of(desk, admin, "bo")["tokens"]] == ["browser"]


def test_a_role_counts_from_the_next_request_on_and_the_last_admin_stays(
    workspace: Workspace,
) -> None:
    admin = bearer(token_of(workspace, "ada", "admin"))
    token = bearer(token_of(workspace, "bo", "viewer"))
    with open_client(workspace) as client:
        assert client.get("/api/accounts", headers=token).status_code == 403
        tried = client.patch("/api/accounts/bo", json={"role": "admin"}, headers=token)
        assert tried.status_code == 403
        client.patch("/api/accounts/bo", json={"role": "admin"}, headers=admin)
        assert client.get("/api/accounts", headers=token).status_code == 200
        client.patch("/api/accounts/bo", json={"role": "viewer"}, headers=admin)
        for change in ({"role": "viewer"}, {"disabled": True}):
            refused = client.patch("/api/accounts/ada", json=change, headers=admin)
            assert refused.status_code == 422
            assert "last admin" in refused.json()["error"]


def test_the_page_is_told_of_every_role_what_it_may_do(client: TestClient) -> None:
    roles = {each["name"]: each["may"] for each in client.get("/api/accounts").json()["roles"]}
    assert len(roles["viewer"]) == 1
    assert len(roles["admin"]) == max(map(len, roles.values()))
