"""Saved views belong to people; a shared one is seen by all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi.testclient import TestClient

from corporeal.catalog.permission import Actor, Role
from corporeal.catalog.workspace import Workspace
from corporeal.studio.authentication import Visitor, visitor
from corporeal.studio.context import open_studio
from corporeal.studio.routes.views import MOST_VIEWS
from corporeal.studio.server import create_application
from corporeal.studio.settings import StudioSettings


@contextmanager
def _as(
    workspace: Workspace, name: str, role: Role, *, guest: bool = False, read_only: bool = False
) -> Iterator[TestClient]:
    """The application as somebody sees it."""
    with open_studio(workspace, StudioSettings(read_only=read_only)) as studio:
        app = create_application(studio)
        app.dependency_overrides[visitor] = lambda: Visitor(Actor(name, role, guest))
        with TestClient(
            app, "http://127.0.0.1:8700", raise_server_exceptions=False, headers={"X-Studio": "1"}
        ) as made:
            yield made


def _save(client: TestClient, name: str, **more: Any) -> Any:
    return client.post("/api/views", json={"name": name, **more})


def test_a_view_is_saved_listed_replaced_and_deleted(client: TestClient) -> None:
    saved = _save(client, "Falls", query="failure = fall", look={"layout": "grid"}).json()
    assert saved["mine"]
    _save(client, "Falls", query="failure = fall and score < 0.5")
    (view,) = client.get("/api/views").json()
    assert view["number"] == saved["number"]
    assert view["query"] == "failure = fall and score < 0.5"
    assert view["look"] == {
        "page": "episodes", "order": "-recorded", "layout": "table", "columns": None,
        "panels": None,
    }  # fmt: skip
    assert client.delete(f"/api/views/{view['number']}").status_code == 204
    assert client.get("/api/views").json() == []
    assert client.delete(f"/api/views/{view['number']}").status_code == 404


def test_layouts_of_an_episodes_page_are_views_of_another_page(client: TestClient) -> None:
    look = {"page": "episode", "panels": '"plots"'}
    assert _save(client, "Falls", query="failure = fall").status_code == 200
    taken = _save(client, "Falls", look=look)
    assert taken.status_code == 422
    assert "which a view of another page of yours has" in taken.json()["error"]
    assert _save(client, "Curves", look=look, shared=True).status_code == 200
    assert [view["name"] for view in client.get("/api/views").json()] == ["Falls"]
    (layout,) = client.get("/api/views?page=episode").json()
    assert (layout["name"], layout["shared"], layout["look"]["panels"]) == (
        "Curves", True, '"plots"',
    )  # fmt: skip


def test_others_see_what_is_shared_and_cannot_delete_it(workspace: Workspace) -> None:
    with _as(workspace, "ann", "operator") as ann:
        _save(ann, "mine")
        shared = _save(ann, "ours", shared=True).json()
    with _as(workspace, "bob", "lead") as bob:
        (seen,) = bob.get("/api/views").json()
        assert (seen["name"], seen["owner"], seen["mine"]) == ("ours", "ann", False)
        refused = bob.delete(f"/api/views/{shared['number']}")
        assert refused.status_code == 403
        assert "'ann'" in refused.json()["error"]
        # The same name is another view for somebody else.
        assert _save(bob, "ours").json()["number"] != shared["number"]
    with _as(workspace, "root", "admin") as admin:
        assert admin.delete(f"/api/views/{shared['number']}").status_code == 204


def test_a_viewer_saves_views_but_does_not_share_them(workspace: Workspace) -> None:
    with _as(workspace, "vic", "viewer") as viewer:
        assert _save(viewer, "own").status_code == 200
        refused = _save(viewer, "own", shared=True)
        assert refused.status_code == 403
        assert "operator" in refused.json()["error"]


def test_a_guest_and_a_studio_that_only_shows_save_nothing(workspace: Workspace) -> None:
    with _as(workspace, "nobody", "viewer", guest=True) as guest:
        assert _save(guest, "a").status_code == 403
    with _as(workspace, "ann", "admin", read_only=True) as ann:
        assert _save(ann, "a").status_code == 403
        assert ann.delete("/api/views/1").status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        {}, {"name": ""}, {"name": "  "}, {"name": "a" * 81}, {"name": "a\0b"}, {"name": "a\nb"},
        {"name": "a", "query": "taks = 1"}, {"name": "a", "query": "x" * 30_000},
        {"name": "a", "look": {"order": "nothing"}}, {"name": "a", "look": {"layout": "cloud"}},
        {"name": "a", "look": {"columns": ["x"] * 100}}, {"name": 3}, [], "text",
    ],
)  # fmt: skip
def test_a_view_that_makes_no_sense_is_refused(client: TestClient, body: Any) -> None:
    answer = client.post("/api/views", json=body)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["error"]
    assert client.get("/api/views").json() == []


def test_one_person_cannot_fill_the_catalogue_with_views(client: TestClient) -> None:
    for number in range(MOST_VIEWS):
        assert _save(client, f"view {number}").status_code == 200
    assert _save(client, "one more").status_code == 422
    assert _save(client, "view 3", query="failure = fall").status_code == 200


@pytest.mark.parametrize("number", ["-1", "99999999999999999999", "x", "1;drop"])
def test_a_number_that_is_none_is_refused(client: TestClient, number: str) -> None:
    assert client.delete(f"/api/views/{number}").status_code in (404, 422)
