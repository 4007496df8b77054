"""Who may see and change what: on a laptop everyone, elsewhere whoever says who they are."""

from __future__ import annotations

import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from itsdangerous import TimestampSigner
from starlette.testclient import WebSocketTestSession
from starlette.websockets import WebSocketDisconnect
from tests.studio.conftest import SmallWorkspace
from tests.studio.people import ADMIN, open_client, token_of

from corporeal.catalog.accounts import revoke_token, set_disabled
from corporeal.catalog.audit import events_of
from corporeal.catalog.workspace import Workspace
from corporeal.errors import CorporealError
from corporeal.studio.access.login_session import DAYS, FILE, SessionKey, session_key
from corporeal.studio.access.login_throttle import SUBJECT, LoginThrottle
from corporeal.studio.guide_feed import GuideFeed
from corporeal.studio.server import serve
from corporeal.studio.settings import StudioSettings, is_loopback


def test_without_accounts_everyone_on_this_machine_is_its_admin(client: TestClient) -> None:
    said = client.get("/api/session").json()
    assert (said["role"], said["accounts"], said["episodes"]) == ("admin", False, None)


def test_with_accounts_nobody_sees_anything_before_they_log_in(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    token_of(workspace, "ada", "admin")
    with open_client(workspace) as client:
        for path in (
            "/api/session",
            "/api/episodes",
            f"/api/episodes/{small_workspace.episodes[0]}",
        ):
            answer = client.get(path)
            assert answer.status_code == 401, path
            assert answer.json()["error"].endswith("."), path


def test_a_token_in_the_request_says_who_asks(workspace: Workspace) -> None:
    token = token_of(workspace, "ada", "admin")
    with open_client(workspace) as client:
        headers = {"Authorization": f"Bearer {token}"}
        assert client.get("/api/session", headers=headers).json()["name"] == "ada"
        wrong = client.get("/api/session", headers={"Authorization": f"Bearer {token[:-1]}x"})
        assert wrong.status_code == 401
        assert token[:20] not in wrong.text


def test_the_cookie_of_a_log_in_holds_no_token_and_no_script_can_read_it(
    workspace: Workspace,
) -> None:
    token = token_of(workspace, "ada", "admin")
    with open_client(workspace) as client:
        answer = client.post("/api/login", json={"token": token})
        assert answer.json()["name"] == "ada"
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert token.lower() not in cookie
        assert client.get("/api/session").json()["name"] == "ada"


def test_a_session_survives_a_restart_of_the_server(workspace: Workspace) -> None:
    token = token_of(workspace, "ada", "admin")
    with open_client(workspace) as client:
        client.post("/api/login", json={"token": token})
        cookies = dict(client.cookies)
    with open_client(workspace) as client:
        client.cookies.update(cookies)
        assert client.get("/api/session").json()["name"] == "ada"


def test_a_session_ends_with_its_token_its_account_or_a_log_out(workspace: Workspace) -> None:
    token_of(workspace, "ada", "admin")
    tokens = {name: token_of(workspace, name, "viewer") for name in ("bob", "eve", "joe")}
    with open_client(workspace) as client:
        for name, token in tokens.items():
            client.cookies.clear()
            client.post("/api/login", json={"token": token})
            assert client.get("/api/session").status_code == 200
            with workspace.database.write() as connection:
                if name == "bob":
                    revoke_token(connection, "bob", "browser", by=ADMIN)
                elif name == "eve":
                    set_disabled(connection, "eve", True, by=ADMIN)
            if name == "joe":
                assert client.post("/api/logout").status_code == 204
            assert client.get("/api/session").status_code == 401, name


def test_a_changed_or_old_cookie_is_worth_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    key = SessionKey(b"k" * 32)
    digest = "a" * 64
    good = key.sign(digest)
    assert key.read(good) == digest
    assert key.read(good.replace("aaa", "aab", 1)) is None
    with monkeypatch.context() as patch:
        long_ago = int(time.time()) - DAYS * 86400 - 1
        patch.setattr(TimestampSigner, "get_timestamp", lambda _: long_ago)
        old = key.sign(digest)
        assert key.read(old) == digest
    assert key.read(old) is None
    assert SessionKey(b"x" * 32).read(good) is None
    for wrong in ("", ".", "..", "ä.1.2", good[:-1], f"{digest}.zz.{good[-64:]}"):
        assert key.read(wrong) is None, wrong


def test_the_key_of_a_workspace_is_made_once_and_read_by_its_owner_alone(tmp_path: Path) -> None:
    first = session_key(tmp_path)
    assert session_key(tmp_path) == first
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_folder_that_cannot_be_written_to_still_has_sessions(tmp_path: Path) -> None:
    key = session_key(tmp_path / "missing")
    assert key.read(key.sign("a" * 64)) == "a" * 64


def test_a_viewer_is_refused_what_takes_another_role(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    token_of(workspace, "ada", "admin")
    token = token_of(workspace, "bob", "viewer")
    wish = {"episodes": small_workspace.episodes[:1], "address": "/"}
    with open_client(workspace) as client:
        client.post("/api/login", json={"token": token})
        answer = client.post("/api/shares", json=wish)
        assert answer.status_code == 403
        assert "viewer" in answer.json()["error"]


def test_nothing_is_changed_on_a_read_only_studio_not_even_by_admins(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    wish = {"episodes": small_workspace.episodes[:1], "address": "/"}
    with open_client(workspace, StudioSettings(read_only=True)) as client:
        answer = client.post("/api/shares", json=wish)
        assert answer.status_code == 403
        assert "read-only" in answer.json()["error"]
        assert client.get("/api/session").json()["read_only"] is True


@pytest.mark.parametrize("read_only", [False, True])
def test_studio_does_not_open_a_workspace_without_accounts_to_others(
    workspace: Workspace, read_only: bool
) -> None:
    with pytest.raises(CorporealError, match="corporeal account add NAME --role admin"):
        serve(workspace, StudioSettings(host="0.0.0.0", port=0, read_only=read_only))


def test_a_studio_that_others_can_reach_has_no_admin_by_default(workspace: Workspace) -> None:
    with open_client(workspace, replace(StudioSettings(), host="0.0.0.0")) as client:
        assert client.get("/api/session").status_code == 401


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("192.168.1.4", False), ("localhost.evil.org", False)],
)  # fmt: skip
def test_which_addresses_are_this_machine_alone(host: str, here: bool) -> None:
    assert is_loopback(host) is here


def test_a_copy_of_the_cookie_is_worth_nothing_after_log_out(workspace: Workspace) -> None:
    token = token_of(workspace, "ada", "admin")
    with open_client(workspace) as client:
        client.post("/api/login", json={"token": token})
        copied = dict(client.cookies)
        assert client.post("/api/logout").status_code == 204
        client.cookies.update(copied)
        assert client.get("/api/session").status_code == 401
        client.cookies.clear()
        assert client.post("/api/login", json={"token": token}).status_code == 200


def _read_to_the_end(socket: WebSocketTestSession) -> None:
    while True:
        socket.receive_text()


@pytest.mark.parametrize("route", ["live", "guide"])
def test_an_open_socket_ends_with_the_account_behind_it(workspace: Workspace, route: str) -> None:
    token_of(workspace, "ada", "admin")
    token = token_of(workspace, "bob", "operator")
    settings = StudioSettings(recorders=("127.0.0.1:9",), recheck_s=0.05)
    feed = GuideFeed()
    feed.publish({"views": 0})
    with open_client(workspace, settings, guide=feed) as client:
        client.post("/api/login", json={"token": token})
        with client.websocket_connect(f"ws://127.0.0.1:8700/api/{route}") as socket:
            socket.receive_text()
            with workspace.database.write() as connection:
                set_disabled(connection, "bob", True, by=ADMIN)
            with pytest.raises(WebSocketDisconnect) as ended:
                _read_to_the_end(socket)
        assert ended.value.code == 4401
        assert not feed.is_watched


def test_wrong_tokens_are_slowed_and_counted_and_a_right_one_always_gets_in(
    workspace: Workspace,
) -> None:
    token = token_of(workspace, "ada", "admin")
    wrong = {"token": f"crp_{'x' * 43}"}
    with open_client(workspace) as client:
        statuses = [client.post("/api/login", json=wrong).status_code for _ in range(15)]
        assert statuses == [401] * 10 + [429] * 5
        headers = {"Authorization": f"Bearer {wrong['token']}"}
        slowed = client.get("/api/episodes", headers=headers)
        assert (slowed.status_code, slowed.headers["retry-after"]) == (429, "60")
        assert client.post("/api/login", json={"token": token}).status_code == 200
    with workspace.database.read() as connection:
        events = list(events_of(connection, SUBJECT))
    assert [event["details"]["failures"] for event in events] == [1, 15]


def test_failures_are_forgotten_after_a_minute_and_many_addresses_stay_bounded(
    workspace: Workspace,
) -> None:
    clock = [0.0]
    with LoginThrottle(workspace.database, clock=lambda: clock[0]) as throttle:
        assert [throttle.fail("a") for _ in range(11)] == [False] * 10 + [True]
        clock[0] = 61.0
        assert not throttle.fail("a")
        for number in range(5000):
            throttle.fail(f"10.0.{number // 250}.{number % 250}")
    with workspace.database.read() as connection:
        events = list(events_of(connection, SUBJECT))
    assert sum(event["details"]["failures"] for event in events) == 5012
    assert len(events) == 3
    assert all(len(event["details"]["most"]) <= 10 for event in events)
