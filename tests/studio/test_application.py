"""The application answers with facts or with one sentence, and serves the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import numpy as np
import pytest
from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace
from tests.studio.people import make_page, open_client

from corporeal.catalog.workspace import Workspace
from corporeal.studio.binary import MEDIA
from corporeal.studio.settings import StudioSettings


@pytest.fixture
def page_client(workspace: Workspace, tmp_path: Path) -> Iterator[TestClient]:
    """A Studio with a page of its own, so that none has to be built."""
    with open_client(workspace, page=make_page(tmp_path / "page")) as client:
        yield client


def test_the_page_learns_who_looks_and_what_they_may_do(client: TestClient) -> None:
    said = client.get("/api/session").json()
    assert said["role"] == "admin"
    assert "judge" in said["may"]


def test_an_episode_tells_its_streams_and_its_events(
    client: TestClient, small_workspace: SmallWorkspace
) -> None:
    said = client.get(f"/api/episodes/{small_workspace.episodes[0]}").json()
    kinds = {stream["kind"] for stream in said["streams"]}
    assert {"array", "video", "depth", "text"} <= kinds
    lane = next(lane for lane in said["lanes"] if lane["name"] == "outcome")
    assert [item["label"] for item in lane["items"]] == ["start", "grasp", "end"]
    assert lane["items"][1]["start_ns"] == 2_000_000_000


def test_what_does_not_exist_is_told_in_a_sentence(client: TestClient) -> None:
    for path in ("/api/episodes/nothing", "/api/no/such/thing", "/api", "/api/session/"):
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert answer.json()["error"].endswith(".")


def test_a_method_that_does_nothing_is_told_with_those_that_do(page_client: TestClient) -> None:
    for method, path in (("DELETE", "/api/session"), ("GET", "/api/login"), ("POST", "/live")):
        answer = page_client.request(method, path)
        assert answer.status_code == 405, path
        assert answer.headers["allow"]
        assert answer.json()["error"].endswith(".")


def test_every_path_of_the_page_is_the_page(page_client: TestClient) -> None:
    for path in ("/", "/live", "/episodes/abc?t=5", "/no/page/at/all"):
        answer = page_client.get(path)
        assert answer.text.startswith("<!doctype html>"), path
        assert answer.headers["cache-control"] == "no-cache"


def test_parts_of_the_page_are_kept_by_browsers_and_old_ones_are_told_as_such(
    page_client: TestClient,
) -> None:
    part = page_client.get("/assets/main-abc.js")
    assert "immutable" in part.headers["cache-control"]
    assert "javascript" in part.headers["content-type"]
    old = page_client.get("/assets/main-old.js")
    assert old.status_code == 404
    assert "Reload the page" in old.json()["error"]
    assert "no-store" in old.headers["cache-control"]


def test_a_page_that_was_not_built_is_told_with_what_to_do(
    workspace: Workspace, tmp_path: Path
) -> None:
    with open_client(workspace, page=tmp_path / "none") as client:
        answer = client.get("/")
        assert answer.status_code == 503
        assert "make" in answer.json()["error"]
        assert client.get("/assets/main.js").status_code == 404
        make_page(tmp_path / "none")
        assert client.get("/").status_code == 200


def test_text_is_compressed_and_everything_else_is_not(
    page_client: TestClient, small_workspace: SmallWorkspace
) -> None:
    path = f"/api/episodes/{small_workspace.episodes[0]}"
    for place in (path, "/assets/main-abc.js"):
        answer = page_client.get(place, headers={"Accept-Encoding": "gzip"})
        assert answer.headers["content-encoding"] == "gzip", place
        assert "Accept-Encoding" in answer.headers["vary"]
        plain = page_client.get(place, headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.content == answer.content
    small = page_client.get("/api/nothing", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in small.headers
    arrays = page_client.get(f"{path}/stamps", params={"stream": "observations/joint_position"})
    assert arrays.headers["content-type"].startswith(MEDIA)
    assert "content-encoding" not in arrays.headers


def test_an_answer_without_a_body_stays_without_one(address: str) -> None:
    headers = {"X-Studio": "1", "Accept-Encoding": "gzip"}
    answer = httpx2.post(f"{address}/api/logout", headers=headers)
    assert answer.status_code == 204
    assert answer.content == b""
    assert "content-encoding" not in answer.headers


def test_every_error_is_declared(client: TestClient) -> None:
    more_than_a_sentence = {("/api/label-tasks/{task_id}/edits", "409"): "StaleEdits"}
    said = client.get("/api/openapi.json").json()
    for path, methods in said["paths"].items():
        for method, facts in methods.items():
            for status, answer in facts["responses"].items():
                if int(status) < 400:
                    continue
                schema = answer["content"]["application/json"]["schema"]
                name = more_than_a_sentence.get((path, status), "ErrorAnswer")
                assert schema == {"$ref": f"#/components/schemas/{name}"}, (method, path, status)
    assert "HTTPValidationError" not in said["components"]["schemas"]


def test_an_episode_that_was_erased_is_told_as_such(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    from corporeal.catalog.episodes import move_episodes

    mine = small_workspace.episodes[0]
    with workspace.database.write() as connection:
        move_episodes(connection, [mine], "erased", who="tester", why="asked for")
    answer = client.get(f"/api/episodes/{mine}")
    assert answer.status_code == 410
    assert "was erased" in answer.json()["error"]


def test_only_so_many_episodes_stay_open(
    workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    with open_client(workspace, StudioSettings(open_episodes=1)) as client:
        for _ in range(2):
            for name in small_workspace.episodes:
                assert client.get(f"/api/episodes/{name}").status_code == 200


def test_packed_arrays_begin_where_the_page_looks_for_them() -> None:
    from corporeal.studio.binary import pack

    raw = pack({"a": np.arange(3, dtype=np.uint8), "b": np.array([1.5, 2.5])}, unit="m")
    length = int.from_bytes(raw[:4], "little")
    assert (4 + length) % 8 == 0
    assert list(raw[4 + length : 4 + length + 3]) == [0, 1, 2]
    assert np.frombuffer(raw, "<f8", 2, 4 + length + 8).tolist() == [1.5, 2.5]
