"""Whatever is asked of Studio, it answers with facts or with one sentence, and stays up."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy, booleans
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    response_schema_conformance,
    status_code_conformance,
)
from tests.studio.conftest import SmallWorkspace
from tests.studio.people import make_page, open_client

from corporeal.catalog.accounts import system_user
from corporeal.catalog.workspace import Workspace
from corporeal.studio.access.guard import POLICY
from corporeal.studio.settings import StudioSettings

_EXAMPLES, _LONGEST = 5, 2000
_CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance]


def is_sentence(text: str) -> bool:
    """Whether an answer holds a sentence, and nothing that only a programmer reads."""
    said = json.loads(text)
    return set(said) == {"error"} and said["error"].endswith((".", "?")) and "Traceback" not in text


@pytest.fixture
def page_client(workspace: Workspace, tmp_path: Path) -> Iterator[TestClient]:
    """A Studio with a page of its own, so that none has to be built."""
    with open_client(workspace, page=make_page(tmp_path / "page")) as client:
        yield client


@pytest.mark.parametrize(
    "path",
    ["/assets/../index.html", "/assets/..%2f..%2fcorporeal.toml", "/assets/%2e%2e/index.html",
     "/assets//etc/passwd", "/assets/%00", "/assets/main-old.js", "/assets/" + "a" * 5000,
     "/assets/..%5c..%5ccorporeal.toml", "/assets/", "/api/../etc/passwd", "/api/episodes/..%2f..",
     "/api/episodes/%00", "/api/episodes/" + "a" * 5000, "/api/episodes/%ff%fe"],
)  # fmt: skip
def test_no_path_leads_out(page_client: TestClient, path: str) -> None:
    answer = page_client.get(path)
    if answer.status_code == 200:  # The client itself resolves dots: then it asks for the page.
        assert answer.text.startswith("<!doctype html>")
        return
    assert answer.status_code == 404
    assert is_sentence(answer.text), answer.text


@pytest.mark.parametrize(
    "line",
    ["GET /assets/../../corporeal.toml", "GET /assets/%2e%2e/%2e%2e/corporeal.toml",
     "GET //evil.org", "GET /../../etc/passwd", "DELETE /", "FOO /api/session",
     "GET /api/episodes/\\..\\x", "POST /api/episodes"],
)  # fmt: skip
def test_raw_requests_are_answered_in_order(address: str, line: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        raw.sendall(f"{line} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b"")).decode(errors="replace")
    status = int(answer.split(" ")[1])
    assert status < 500 or status == 503, answer[:200]  # 503: where no page was built.
    assert "[catalog]" not in answer
    assert "root:" not in answer


@pytest.mark.parametrize(
    "host", ["evil.org", "evil.org:8700", "127.0.0.1.evil.org", "localhost.evil.org", "", "[::1",
             "localhost@evil.org", "a" * 300]
)  # fmt: skip
def test_a_page_that_borrows_our_address_by_dns_learns_nothing(
    client: TestClient, host: str
) -> None:
    answer = client.get("/api/session", headers={"Host": host})
    assert answer.status_code == 421
    assert system_user() not in answer.text.replace(host, "")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:9", "localhost", "[::1]:8700", "192.168.7.7", "lab-pc"]
)
def test_studio_is_opened_by_numbers_and_by_names_it_was_told(
    workspace: Workspace, host: str
) -> None:
    with open_client(workspace, StudioSettings(names=("lab-pc",))) as client:
        assert client.get("/api/session", headers={"Host": host}).status_code == 200


def test_other_sites_change_nothing(client: TestClient, small_workspace: SmallWorkspace) -> None:
    wish = {"episodes": small_workspace.episodes[:1], "address": "/"}
    for headers in (
        {"Origin": "https://evil.org"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"X-Studio": ""},
    ):
        answer = client.post("/api/shares", json=wish, headers=headers)
        assert answer.status_code == 403, headers
        assert is_sentence(answer.text)
    assert client.get("/api/shares").json() == []
    good = {"Origin": "http://127.0.0.1:8700", "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/shares", json=wish, headers=good).status_code == 201


def test_other_sites_read_nothing_and_links_from_them_work(client: TestClient) -> None:
    embedded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert client.get("/api/session", headers=embedded).status_code == 403
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/api/session", headers=followed).status_code == 200
    answer = client.get("/api/session", headers={"Origin": "https://evil.org"})
    assert "access-control-allow-origin" not in answer.headers


def test_a_body_that_is_too_large_is_not_read(client: TestClient) -> None:
    large = b"x" * (2 << 20) + b"x"
    answer = client.post("/api/login", content=large)
    assert answer.status_code == 413
    assert is_sentence(answer.text)

    def pieces() -> Iterator[bytes]:
        for _ in range(40):
            yield b"[" * (64 << 10)

    answer = client.post("/api/login", content=pieces())
    assert answer.status_code == 413
    assert is_sentence(answer.text)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"token": 1}', b'{"token": "' + b"a" * 300 + b'"}', b"\xff\xfe",
     b'{"token": "\\ud800"}', b"[" * 100_000, b'{"token": NaN}'],
)  # fmt: skip
def test_a_malformed_body_is_told_in_a_sentence(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/login", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 401, 422), answer.text
    assert is_sentence(answer.text), answer.text


def test_every_answer_tells_browsers_what_they_may_do(page_client: TestClient) -> None:
    for path in ("/", "/live", "/api/session", "/api/nothing", "/assets/main-abc.js", "/assets/no"):
        headers = page_client.get(path).headers
        assert headers["content-security-policy"] == POLICY, path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
    assert "unsafe-inline" not in POLICY
    assert "http" not in POLICY


def test_a_file_deleted_under_an_open_page_is_told_with_what_to_do(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    mine, other = small_workspace.episodes[:2]
    path = f"/api/episodes/{mine}"
    digest = client.get(path).json()["row"]["hash"]
    workspace.store.erase(digest)
    for _ in range(2):
        answer = client.get(path)
        assert answer.status_code == 410
        assert "Put the file in again" in answer.json()["error"]
    assert client.get(f"/api/episodes/{other}").status_code == 200


def test_a_damaged_file_is_told_and_is_read_again_once_it_is_mended(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    mine = small_workspace.episodes[0]
    with workspace.database.read() as connection:
        from corporeal.catalog.episodes import find_episode

        digest = find_episode(connection, mine).hash.removeprefix("sha256:")
    file = small_workspace.root / "objects" / digest[:2] / digest[2:4] / digest
    whole = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(b"no episode" * 100)
    answer = client.get(f"/api/episodes/{mine}")
    assert answer.status_code == 410
    assert is_sentence(answer.text)
    file.write_bytes(whole)
    assert client.get(f"/api/episodes/{mine}").status_code == 200


def test_a_catalogue_that_is_away_is_told_as_such_and_comes_back(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    file = small_workspace.root / "catalog.db"
    away = file.with_name("elsewhere.db")
    file.rename(away)
    answer = client.get("/api/session")
    assert answer.status_code == 503
    assert is_sentence(answer.text)
    away.rename(file)
    assert client.get("/api/session").status_code == 200


def test_what_nobody_foresaw_is_logged_and_not_shown(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret /home/ada")

    monkeypatch.setattr("corporeal.studio.routes.session._session", broken)
    with caplog.at_level(logging.ERROR):
        answer = client.get("/api/session")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert is_sentence(answer.text)
    assert answer.headers["content-security-policy"] == POLICY
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_generated_requests_never_break_it_and_answers_are_as_declared(
    address: str, small_workspace: SmallWorkspace, mode: GenerationMode
) -> None:
    schema = schemathesis.openapi.from_url(f"{address}/api/openapi.json", timeout=60)
    failures = {}
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        try:
            ask_often(operation.as_strategy(generation_mode=mode), small_workspace.episodes[0])
        except Unsatisfiable:  # A request without arguments cannot be wrong.
            continue
        except (Failure, FailureGroup) as error:
            failures[operation.label] = str(error)
    assert not failures, "\n\n".join(failures.values())


def ask_often(cases: SearchStrategy[Any], episode: str) -> None:
    """Send what is generated; half of what asks for an episode asks for one that is there."""

    @given(case=cases, is_there=booleans())
    @settings(
        max_examples=_EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: Any, is_there: bool) -> None:
        if is_there and "episode_id" in case.path_parameters:
            case.path_parameters["episode_id"] = episode
        # A line that is longer than a server takes is refused before it reaches us.
        assume(len(str(case.query)) + len(str(case.path_parameters)) < _LONGEST)
        answer = case.call(headers={"X-Studio": "1"}, timeout=30)
        case.validate_response(answer, checks=_CHECKS)
        if answer.status_code >= 400:
            assert is_sentence(answer.text), answer.text

    ask()
