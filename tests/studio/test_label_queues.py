"""Queues over the web: made in the background, worked off by role, blind where they must be."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.studio.conftest import SmallWorkspace
from tests.studio.label_work import (
    TAXONOMY,
    People,
    label_all,
    make_people,
    make_queue,
    wait_until_made,
)
from tests.studio.people import open_client

from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace
from corporeal.labelling.queues import QueueRequest, builder_for, record_request
from corporeal.labelling.tasks import find_task, find_tasks
from corporeal.studio.settings import StudioSettings


@pytest.fixture
def people(workspace: Workspace) -> People:
    return make_people(workspace)


def _take(client: TestClient, people: People, name: str, queue: str = "monday") -> dict[str, Any]:
    answer = client.post(f"/api/labels/queues/{queue}/take", headers=people.head(name))
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def _work(workspace: Workspace, people: People, name: str, task_id: str, **how: Any) -> None:
    with workspace.database.write() as connection:
        label_all(connection, find_task(connection, task_id), people.actor(name), **how)


def test_a_preview_says_what_a_queue_will_hold(client: TestClient, people: People) -> None:
    asked: dict[str, str | float] = {"taxonomy": TAXONOMY, "double_share": 0.4, "blind_share": 0.5}
    said = client.get("/api/labels/preview", params=asked, headers=people.head("lee")).json()
    assert (said["episodes"], said["doubles"], said["tasks"], said["blind"]) == (3, 2, 5, 3)
    assert said["words"].startswith("3 episodes make 5 tasks: 2 are labelled twice")
    none = client.get("/api/labels/preview", params={**asked, "query": "score > 1"},
                      headers=people.head("lee")).json()  # fmt: skip
    assert none["tasks"] == 0
    assert none["words"].startswith("No episode is left to label")


def test_a_queue_is_made_with_proposals_and_frames(
    client: TestClient, people: People, workspace: Workspace
) -> None:
    queue = make_queue(client, people, double_share=0.1)
    assert (queue["episodes"], queue["pairs"], queue["total"]) == (3, 1, 4)
    assert queue["query"] == ""
    with workspace.database.read() as connection:
        made = find_tasks(connection, queue="monday")
        assert all(each.begun_with.reference for each in made)
    assert len({each.episode for each in made}) == 3
    again = client.post("/api/labels/queues", headers=people.head("lee"),
                        json={"name": "monday", "taxonomy": TAXONOMY})  # fmt: skip
    assert again.status_code == 422


def test_a_queue_whose_server_died_is_made_to_its_end_by_the_next(
    workspace: Workspace, people: People, small_workspace: SmallWorkspace
) -> None:
    request = QueueRequest("late", "", TAXONOMY, 0.1, 0.1, False, True, "annotate", "lee")
    with workspace.database.write() as connection:
        record_request(connection, request, by=Actor("lee", "lead"))
    with open_client(workspace) as client:
        client.get("/api/labels/queues", headers=people.head("lee"))
    assert builder_for(workspace.database).progress().get("late") is not None
    with open_client(workspace) as client:
        queue = wait_until_made(client, people, "late")
    assert queue["episodes"] == len(small_workspace.episodes)


def test_nobody_gets_both_of_a_pair_nor_hears_of_it(client: TestClient, people: People) -> None:
    make_queue(client, people)
    taken = [_take(client, people, "ann")]
    assert taken[0]["is_double"] is None
    assert taken[0]["pair"] is None
    mine = client.get("/api/labels/mine", headers=people.head("ann")).json()
    assert [each["id"] for each in mine["tasks"]] == [taken[0]["id"]]
    # Three episodes twice are six tasks; the twin of what is taken is not offered.
    assert mine["offers"][0]["open"] == 1 + 4
    assert mine["figures"] is None


def test_the_other_ones_version_stays_hidden_until_both_are_submitted(
    client: TestClient, people: People, workspace: Workspace
) -> None:
    make_queue(client, people, query="operator = op1")
    first = _take(client, people, "ann")
    _work(workspace, people, "ann", first["id"])
    second = _take(client, people, "ben")
    assert second["episode"] == first["episode"]
    seen = client.get(f"/api/label-tasks/{first['id']}", headers=people.head("ben"))
    assert seen.status_code == 403
    assert "start_ns" not in seen.text
    for path in (f"/api/labels/tasks/{first['id']}", "/api/labels/tasks", "/api/labels/pairs",
                 "/api/labels/people", "/api/labels/queues", "/api/labels/comments"):  # fmt: skip
        assert client.get(path, headers=people.head("ben")).status_code == 403, path
    facts = client.get(f"/api/episodes/{first['episode']}", headers=people.head("ben")).json()
    assert "Phases" not in [lane["name"] for lane in facts["lanes"]]
    pairs = client.get("/api/dashboards/annotator_bias", headers=people.head("ben")).json()
    assert pairs["payload"] is None


def test_a_lead_who_labels_one_of_a_pair_does_not_see_the_other(
    client: TestClient, people: People, workspace: Workspace
) -> None:
    make_queue(client, people, query="operator = op1")
    first = _take(client, people, "ann")
    _work(workspace, people, "ann", first["id"])
    own = _take(client, people, "lee")
    assert own["episode"] == first["episode"]
    refused = client.get(f"/api/labels/tasks/{first['id']}", headers=people.head("lee"))
    assert refused.status_code == 403
    allowed = client.get(f"/api/labels/tasks/{first['id']}", headers=people.head("ada"))
    assert allowed.status_code == 200


def test_labels_in_force_are_hidden_from_whoever_is_asked_for_them_again(
    client: TestClient, people: People, workspace: Workspace
) -> None:
    make_queue(client, people, query="operator = op1")
    for name in ("ann", "ben"):
        _work(workspace, people, name, _take(client, people, name)["id"])
    make_queue(client, people, "test", kind="qualify")
    asked = _take(client, people, "ann", "test")

    def lanes(name: str) -> list[str]:
        facts = client.get(f"/api/episodes/{asked['episode']}", headers=people.head(name)).json()
        return [lane["name"] for lane in facts["lanes"]]

    assert "Phases" not in lanes("ann")
    assert lanes("vic")[0] == "Phases"
    assert lanes("lee")[0] == "Phases"


def test_a_test_is_passed_and_opens_the_queue_that_asks_for_it(
    client: TestClient, people: People, workspace: Workspace
) -> None:
    make_queue(client, people, query="operator = op1")
    for name in ("ann", "ben"):
        _work(workspace, people, name, _take(client, people, name)["id"])
    make_queue(client, people, "test", kind="qualify")
    make_queue(client, people, "real", query="operator = op0", needs_qualification=True)
    assert _take(client, people, "ben", "real") is None
    offers = client.get("/api/labels/mine", headers=people.head("ben")).json()["offers"]
    told = {each["queue"]: each for each in offers}
    assert told["real"]["why_not"] == "Take the test for this taxonomy first."
    assert told["test"]["may_take"]
    _work(workspace, people, "ben", _take(client, people, "ben", "test")["id"], at=(10, 80))
    mine = client.get("/api/labels/mine", headers=people.head("ben")).json()
    assert mine["qualifications"][0]["passed"] is False
    assert "frames of boundaries" in mine["qualifications"][0]["words"]
    _work(workspace, people, "ann", _take(client, people, "ann", "test")["id"])
    mine = client.get("/api/labels/mine", headers=people.head("ann")).json()
    assert mine["qualifications"][0]["passed"] is True
    assert _take(client, people, "ann", "real")["queue"] == "real"


def test_a_lead_looks_gives_back_and_accepts(
    client: TestClient, people: People, workspace: Workspace
) -> None:
    queue = make_queue(client, people, double_share=0.1)
    assert queue["pairs"] == 1
    lead = people.head("lee")
    held = _take(client, people, "ann")
    _work(workspace, people, "ann", held["id"])
    while client.get("/api/labels/tasks", params={"state": "submitted"},
                     headers=lead).json()[0]["is_double"]:  # fmt: skip
        held = _take(client, people, "ann")
        _work(workspace, people, "ann", held["id"])
    shown = client.get(f"/api/labels/tasks/{held['id']}", headers=lead).json()
    assert [each["label"] for each in shown["lanes"][0]["items"]] == ["rest", "approach", "rest"]
    assert shown["complaints"] == []
    why = "reach begins two frames later"
    back = client.post(f"/api/labels/tasks/{held['id']}/return", json={"why": why}, headers=lead)
    assert back.json()["state"] == "returned"
    mine = client.get("/api/labels/mine", headers=people.head("ann")).json()
    assert next(each["why"] for each in mine["tasks"] if each["state"] == "returned") == why
    assert _take(client, people, "ann")["id"] == held["id"], "what came back comes first"
    _work(workspace, people, "ann", held["id"], at=(32, 60))
    done = client.post(f"/api/labels/tasks/{held['id']}/accept", headers=lead)
    assert done.json()["state"] == "done"
    facts = client.get(f"/api/episodes/{held['episode']}", headers=people.head("vic")).json()
    assert facts["lanes"][0]["name"] == "Phases"
    assert facts["lanes"][0]["items"][1]["label"] == "approach"


def test_a_task_is_given_to_somebody(client: TestClient, people: People) -> None:
    make_queue(client, people, query="operator = op1")
    held = _take(client, people, "ann")
    lead = people.head("lee")
    to_ben = client.post(f"/api/labels/tasks/{held['id']}/assign", json={"to": "ben"}, headers=lead)
    assert to_ben.json()["assigned_to"] == "ben"
    nobody = client.post(f"/api/labels/tasks/{held['id']}/assign", json={"to": "zoe"}, headers=lead)
    assert nobody.status_code == 422
    assert "zoe" in nobody.json()["error"]


def test_comments_wait_for_a_lead(client: TestClient, people: People, workspace: Workspace) -> None:
    make_queue(client, people, query="operator = op1")
    held = _take(client, people, "ann")
    asked = client.post(f"/api/label-tasks/{held['id']}/comments",
                        json={"text": "Is a touch of two frames contact?", "time_ns": 5},
                        headers=people.head("ann"))  # fmt: skip
    assert asked.status_code == 201, asked.text
    lead = people.head("lee")
    found = client.get("/api/labels/comments", headers=lead).json()
    assert [each["text"] for each in found] == ["Is a touch of two frames contact?"]
    number = found[0]["number"]
    assert client.post(f"/api/labels/comments/{number}/resolve", headers=lead).status_code == 204
    assert client.get("/api/labels/comments", headers=lead).json() == []


MALFORMED: tuple[tuple[str, str, Any, int], ...] = (
    ("POST", "/api/labels/queues", {"name": "../x", "taxonomy": TAXONOMY}, 422),
    ("POST", "/api/labels/queues", {"name": "x", "taxonomy": "nothing@9.9.9"}, 404),
    ("POST", "/api/labels/queues", {"name": "x", "taxonomy": TAXONOMY, "double_share": 0.05}, 422),
    ("POST", "/api/labels/queues", {"name": "x", "taxonomy": TAXONOMY, "query": "a = b"}, 422),
    ("POST", "/api/labels/queues", {"name": "x", "taxonomy": TAXONOMY, "query": "task = no"}, 422),
    ("POST", "/api/labels/tasks/nothing/accept", None, 404),
    ("POST", "/api/labels/tasks/nothing/return", {"why": "x"}, 404),
    ("POST", "/api/labels/tasks/nothing/return", {"why": ""}, 422),
    ("POST", "/api/labels/comments/77/resolve", None, 422),
    ("GET", "/api/labels/tasks/%2e%2e", None, 404),
    ("GET", "/api/labels/tasks?state=burning", None, 422),
    ("GET", "/api/labels/pairs/nothing", None, 404),
    ("POST", "/api/labels/pairs/nothing/cards/d1", {"choice": "burn", "key": "12345678"}, 422),
    ("POST", "/api/labels/pairs/nothing/accept", None, 404),
)


def test_malformed_requests_get_a_sentence(client: TestClient, people: People) -> None:
    for method, path, body, status in MALFORMED:
        answer = client.request(method, path, json=body, headers=people.head("lee"))
        assert answer.status_code == status, (path, body, answer.text)
        assert answer.json()["error"].endswith("."), path


def test_a_studio_that_only_shows_takes_no_task(workspace: Workspace, people: People) -> None:
    with open_client(workspace, StudioSettings(read_only=True)) as client:
        answer = client.post("/api/labels/queues/x/take", headers=people.head("ann"))
    assert answer.status_code == 403
    assert "read-only" in answer.json()["error"]
