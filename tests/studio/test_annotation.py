"""The workbench's server: a task, its edits, its frames, and who may see them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from tests.studio.labelled import ANN, BOB, LEAD, PHASES, frames, make_pair, make_task, proposal
from tests.studio.people import open_client, token_of
from tests.studio.small_workspace import burnt_number

from corporeal.catalog.workspace import Workspace
from corporeal.labelling.annotation import (
    Annotation,
    AnnotationError,
    Edit,
    apply_edit,
    invert_edit,
)
from corporeal.labelling.review import give_back
from corporeal.labelling.tasks import save_edits
from corporeal.studio.settings import StudioSettings

_CASES = Path(__file__).parents[2] / "web/src/pages/annotate/edit_cases.json"
_GIVEN = json.loads(_CASES.read_text())
HEAD = "observations/head_left"


@pytest.mark.parametrize("case", _GIVEN["cases"], ids=lambda case: case["name"].replace(" ", "_"))
def test_edits_mean_the_same_here_and_in_the_page(case: dict[str, Any]) -> None:
    before = Annotation.model_validate({**_GIVEN["blank"], **case.get("before", {})})
    edit = Edit(id="e", action="type", steps=case["steps"])
    if case.get("refused"):
        with pytest.raises(AnnotationError):
            apply_edit(before, edit)
        return
    after = apply_edit(before, edit)
    expected = {**before.model_dump(mode="json"), **case["after"]}
    assert after.model_dump(mode="json") == expected
    assert apply_edit(after, invert_edit(before, edit, edit_id="u")) == before


def _say(edit_id: str, text: str) -> dict[str, Any]:
    put = {"id": "i1", "text": text, "language": "en", "source": "person"}
    return {"id": edit_id, "action": "type", "steps": [{"put": put}]}


def test_a_task_comes_with_its_taxonomy_its_frames_and_its_edits(
    client: TestClient, workspace: Workspace
) -> None:
    task = make_task(workspace, proposal(workspace))
    sent = {"base_version": 0, "edits": [_say("e1", "one")]}
    assert client.post(f"/api/label-tasks/{task}/edits", json=sent).json()["version"] == 1
    found = client.get(f"/api/label-tasks/{task}").json()
    assert found["reference"] == HEAD
    assert found["has_proposals"]
    assert found["closed"] is None
    assert next(lane["name"] for lane in found["taxonomy"]["lanes"]) == "phase"
    assert [each["label"] for each in found["start"]["segments"]] == PHASES
    assert found["content"]["instructions"][0]["text"] == "one"
    assert [(each["id"], each["action"]) for each in found["edits"]] == [("e1", "type")]
    assert found["end_ns"] > found["content"]["segments"][-1]["start_ns"]
    assert "frames" not in found["settings"]
    assert "proposal" not in found["settings"]


def test_an_edit_that_is_sent_twice_is_saved_once(client: TestClient, workspace: Workspace) -> None:
    task = make_task(workspace)
    sent = {"base_version": 0, "edits": [_say("e1", "one"), _say("e2", "two")]}
    first = client.post(f"/api/label-tasks/{task}/edits", json=sent)
    again = client.post(f"/api/label-tasks/{task}/edits", json=sent)
    assert first.json() == again.json()
    assert again.json()["version"] == 2


def test_another_persons_edits_are_told_with_their_name(
    client: TestClient, workspace: Workspace
) -> None:
    task = make_task(workspace)
    with workspace.database.write() as connection:
        edit = Edit.model_validate(_say("theirs", "theirs"))
        save_edits(connection, task, [edit], base_version=0, by=LEAD)
    sent = {"base_version": 0, "edits": [_say("mine", "mine")]}
    answer = client.post(f"/api/label-tasks/{task}/edits", json=sent)
    assert answer.status_code == 409
    told = answer.json()
    assert told["who"] == [LEAD.name]
    assert told["version"] == 1
    assert [each["id"] for each in told["since"]] == ["theirs"]
    assert LEAD.name in told["error"]


@pytest.mark.parametrize(
    "body",
    [
        {"base_version": 0, "edits": []},
        {"base_version": -1, "edits": [_say("e", "x")]},
        {"base_version": 7, "edits": [_say("e", "x")]},
        {"base_version": 0, "edits": [_say("not an id!", "x")]},
        {"base_version": 0, "edits": [_say(f"e{n}", "x") for n in range(501)]},
        {"base_version": 0, "edits": [{"id": "e", "action": "type", "steps": []}]},
        {"base_version": 0, "edits": [{**_say("e", "x"), "steps": [{"set": {"segments": []}}]}]},
    ],
)  # fmt: skip
def test_malformed_edits_are_refused_with_a_sentence(
    client: TestClient, workspace: Workspace, body: dict[str, Any]
) -> None:
    task = make_task(workspace)
    answer = client.post(f"/api/label-tasks/{task}/edits", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"].endswith(".")
    assert client.get(f"/api/label-tasks/{task}").json()["version"] == 0


def test_a_task_that_lacks_something_is_not_handed_in(
    client: TestClient, workspace: Workspace
) -> None:
    task = make_task(workspace, proposal(workspace))
    missing = client.get(f"/api/label-tasks/{task}/missing").json()["missing"]
    assert any("nobody has confirmed it" in each for each in missing)
    answer = client.post(f"/api/label-tasks/{task}/submit").json()
    assert answer == {"submitted": False, "missing": missing}
    assert client.get(f"/api/label-tasks/{task}").json()["state"] != "submitted"


def test_a_whole_task_is_handed_in_and_closed(client: TestClient, workspace: Workspace) -> None:
    begun = proposal(workspace, confirmed=True)
    task = make_task(workspace, begun.model_copy(update={"outcome": "success"}))
    client.post(
        f"/api/label-tasks/{task}/edits", json={"base_version": 0, "edits": [_say("e", "x")]}
    )
    assert client.post(f"/api/label-tasks/{task}/submit").json()["submitted"] is True
    found = client.get(f"/api/label-tasks/{task}").json()
    assert found["state"] == "submitted"
    assert "submitted" in found["closed"]
    late = {"base_version": 1, "edits": [_say("late", "late")]}
    refused = client.post(f"/api/label-tasks/{task}/edits", json=late)
    assert refused.status_code == 409
    assert "since" not in refused.json()


def test_a_task_that_was_given_back_says_why(client: TestClient, workspace: Workspace) -> None:
    begun = proposal(workspace, confirmed=True).model_copy(update={"outcome": "success"})
    task = make_task(workspace, begun)
    sent = {"base_version": 0, "edits": [_say("e", "x")]}
    client.post(f"/api/label-tasks/{task}/edits", json=sent)
    client.post(f"/api/label-tasks/{task}/submit")
    with workspace.database.write() as connection:
        give_back(connection, task, "The reach begins later.", by=LEAD)
    found = client.get(f"/api/label-tasks/{task}").json()
    assert found["returned"] == "The reach begins later."
    assert found["closed"] is None


def test_two_people_of_a_pair_do_not_see_each_other(workspace: Workspace) -> None:
    token_of(workspace, "root", "admin")
    tokens = {name: token_of(workspace, name, "annotator") for name in (ANN.name, BOB.name)}
    mine, other = make_pair(workspace)
    with open_client(workspace) as client:
        as_ann = {"Authorization": f"Bearer {tokens[ANN.name]}"}
        as_bob = {"Authorization": f"Bearer {tokens[BOB.name]}"}
        sent = {"base_version": 0, "edits": [_say("e1", "secret")]}
        assert client.post(f"/api/label-tasks/{mine}/edits", json=sent, headers=as_ann).is_success
        for path in ("", "/missing", "/comments"):
            refused = client.get(f"/api/label-tasks/{mine}{path}", headers=as_bob)
            assert refused.status_code == 403
            assert "secret" not in refused.text
        told = client.get(f"/api/label-tasks/{mine}", headers=as_ann).json()
        assert told["is_double"] is None
        assert "place" not in told["settings"]
        as_root = {"Authorization": f"Bearer {token_of(workspace, 'lou', 'lead')}"}
        assert client.get(f"/api/label-tasks/{mine}", headers=as_root).json()["is_double"] is True
        client.post(f"/api/label-tasks/{mine}/comments", json={"text": "hm"}, headers=as_ann)
        sent = {"base_version": 0, "edits": [_say("e2", "own")]}
        assert client.post(f"/api/label-tasks/{other}/edits", json=sent, headers=as_bob).is_success
        assert client.get(f"/api/label-tasks/{other}/comments", headers=as_bob).json() == []
        viewer = {"Authorization": f"Bearer {token_of(workspace, 'vera', 'viewer')}"}
        assert client.get(f"/api/label-tasks/{mine}", headers=viewer).status_code == 403
        episode, _ = frames(workspace)
        seen = client.get(f"/api/episodes/{episode}/events", headers=viewer)
        assert seen.status_code == 200, "what signals show is no secret; what people say is"


def test_a_task_is_skipped_or_returned_with_a_word_for_the_lead(workspace: Workspace) -> None:
    token_of(workspace, "root", "admin")
    tokens = {name: token_of(workspace, name, "annotator") for name in (ANN.name, BOB.name)}
    as_ann, as_bob = ({"Authorization": f"Bearer {each}"} for each in tokens.values())
    task = make_task(workspace)
    other = make_task(workspace, number=1)
    with open_client(workspace) as client:

        def take(head: dict[str, str]) -> str | None:
            found = client.post("/api/labels/queues/test/take", headers=head).json()
            return found and str(found["id"])

        assert take(as_ann) == task
        assert client.post(f"/api/label-tasks/{task}/skip", headers=as_ann).status_code == 204
        assert take(as_ann) == other
        assert client.post(f"/api/label-tasks/{other}/skip", headers=as_bob).status_code == 403
        back = client.post(f"/api/label-tasks/{other}/return", json={"why": "I see no hand"},
                           headers=as_ann)  # fmt: skip
        assert back.status_code == 204
        assert take(as_ann) == task
        assert take(as_bob) == other
        as_lead = {"Authorization": f"Bearer {token_of(workspace, 'lou', 'lead')}"}
        said = client.get("/api/labels/comments", headers=as_lead).json()
        assert [each["text"] for each in said] == ["Returned: I see no hand"]


def test_comments_stand_at_a_moment_until_they_are_dealt_with(
    client: TestClient, workspace: Workspace
) -> None:
    task = make_task(workspace)
    made = client.post(f"/api/label-tasks/{task}/comments", json={"text": " hm ", "time_ns": 5})
    assert made.status_code == 201
    number = made.json()["number"]
    assert client.get(f"/api/label-tasks/{task}/comments").json()[0]["text"] == "hm"
    done = client.post(f"/api/label-tasks/{task}/comments/{number}/resolve").json()
    assert done["resolved"] is True
    assert done["time_ns"] == 5
    assert client.post(f"/api/label-tasks/{task}/comments/99/resolve").status_code == 422
    empty = client.post(f"/api/label-tasks/{task}/comments", json={"text": ""})
    assert empty.status_code == 422


def test_time_at_work_adds_up_and_is_bounded(client: TestClient, workspace: Workspace) -> None:
    task = make_task(workspace)
    for seconds in (12.5, 7.5):
        assert client.post(f"/api/label-tasks/{task}/seconds", json={"seconds": seconds}).is_success
    assert client.get(f"/api/label-tasks/{task}").json()["seconds"] == 20.0
    for wrong in (-1, 1e9, "long"):
        answer = client.post(f"/api/label-tasks/{task}/seconds", json={"seconds": wrong})
        assert answer.status_code == 422


def test_a_studio_that_only_shows_changes_nothing(workspace: Workspace) -> None:
    task = make_task(workspace)
    with open_client(workspace, StudioSettings(read_only=True)) as client:
        sent = {"base_version": 0, "edits": [_say("e", "x")]}
        assert client.post(f"/api/label-tasks/{task}/edits", json=sent).status_code == 403
        assert client.get(f"/api/label-tasks/{task}").json()["version"] == 0


@pytest.mark.parametrize("task", ["nothing", "..%2f..%2fetc", "x" * 90])
def test_a_task_that_is_not_there_is_said_so(client: TestClient, task: str) -> None:
    answer = client.get(f"/api/label-tasks/{task}")
    assert answer.status_code in (404, 422)
    assert "Traceback" not in answer.text


def test_a_filmstrip_holds_exactly_the_pictures_asked_for(
    client: TestClient, workspace: Workspace
) -> None:
    episode = _episodes(client)[0]
    wanted: dict[str, str | int] = {"stream": HEAD, "frame": 17, "count": 5, "width": 160}
    answer = client.get(f"/api/episodes/{episode}/filmstrip", params=wanted)
    strip = np.asarray(Image.open(io.BytesIO(answer.content)))
    numbers = [burnt_number(part) for part in np.split(strip, 5, axis=1)]
    assert numbers == [17, 18, 19, 20, 21]


def test_a_filmstrip_past_the_end_is_black_and_one_behind_it_is_refused(
    client: TestClient,
) -> None:
    episode = _episodes(client)[0]
    facts = client.get(f"/api/episodes/{episode}").json()
    count = next(each["samples"] for each in facts["streams"] if each["path"] == HEAD)
    address = f"/api/episodes/{episode}/filmstrip"
    answer = client.get(address, params={"stream": HEAD, "frame": count - 1, "count": 3})
    strip = np.asarray(Image.open(io.BytesIO(answer.content)))
    parts = np.split(strip, 3, axis=1)
    assert burnt_number(parts[0]) == count - 1
    assert parts[1].max() < 20
    assert client.get(address, params={"stream": HEAD, "frame": count}).status_code == 404
    for wrong in ({"count": 49}, {"count": 0}, {"width": 4000}, {"stream": "debug/outcome"}):
        asked: dict[str, str | int] = {"stream": HEAD, "frame": 0}
        asked.update(wrong)
        assert client.get(address, params=asked).status_code in (404, 422)


def test_events_are_listed_in_order_of_time(client: TestClient) -> None:
    answer = client.get(f"/api/episodes/{_episodes(client)[0]}/events")
    assert answer.status_code == 200
    times = [each["time_ns"] for each in answer.json()]
    assert times == sorted(times)


def _episodes(client: TestClient) -> list[str]:
    rows = client.get("/api/episodes").json()
    return [str(each["id"]) for each in rows.get("rows", rows.get("episodes", []))]
