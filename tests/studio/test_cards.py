"""Cards beside the work: examples of the workspace's own, and none that says what to say."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient
from tests.studio.labelled import ANN, BOB, FRAMES, LEAD, frames, make_pair, make_task, proposal
from tests.studio.people import open_client, token_of

from corporeal.catalog.workspace import Workspace
from corporeal.labelling.labels.versions import accept_labels
from corporeal.labelling.taxonomy import open_taxonomy


def _label(workspace: Workspace, number: int, *, confirmed: bool = True) -> str:
    """Labels in force on an episode."""
    episode, _ = frames(workspace, number)
    said = proposal(workspace, number, confirmed=confirmed)
    with workspace.database.write() as connection:
        taxonomy = open_taxonomy("manipulation")
        accept_labels(connection, episode, said, taxonomy, task_id=None, by=LEAD)
    return episode


def _cards(client: TestClient, task: str) -> dict[tuple[str | None, str], list[dict[str, Any]]]:
    answer = client.get(f"/api/label-tasks/{task}/cards")
    assert answer.status_code == 200, answer.text
    return {(each["lane"] or each["attribute"], each["name"]): each["examples"]
            for each in answer.json()}  # fmt: skip


def test_a_label_has_pictures_of_another_episode_at_the_frames_where_it_begins_and_ends(
    client: TestClient, workspace: Workspace
) -> None:
    shown = _label(workspace, 1)
    cards = _cards(client, make_task(workspace, number=0))
    (example,) = cards["phase", "approach"]
    assert example["episode"] == shown
    named = {each["caption"]: each["frame"] for each in example["pictures"]}
    assert named == {"before": FRAMES[1] - 1, "first": FRAMES[1], "middle": 39, "last": 59}
    assert example["clip"][0] == FRAMES[1]
    assert example["clip"][-1] == FRAMES[2] - 1
    assert len(example["clip"]) == 12
    # The value that was said of it has the same pictures, and they can be fetched.
    assert cards["hand", "right"][0]["episode"] == shown
    asked = {"stream": example["stream"], "frame": named["first"], "width": 120}
    picture = client.get(f"/api/episodes/{shown}/picture", params=asked)
    assert picture.headers["content-type"] == "image/jpeg"


def test_nobody_is_shown_an_episode_that_is_being_labelled(
    client: TestClient, workspace: Workspace
) -> None:
    task, _ = [make_task(workspace, number=number) for number in (0, 1)]
    # The episode of the task itself, one that waits for somebody else, and one that is free.
    *_, free = [_label(workspace, number) for number in (0, 1, 2)]
    assert {each["episode"] for own in _cards(client, task).values() for each in own} == {free}


def test_a_new_version_of_the_labels_is_seen_at_once_and_proposals_are_none(
    client: TestClient, workspace: Workspace
) -> None:
    task = make_task(workspace, number=0)
    _label(workspace, 1, confirmed=False)
    assert _cards(client, task) == {}
    _label(workspace, 1)
    assert ("phase", "retract") in _cards(client, task)


def test_cards_are_for_those_who_may_annotate_and_see_the_task(workspace: Workspace) -> None:
    tokens = {who: token_of(workspace, who, role)
              for who, role in (("ada", "admin"), (ANN.name, "annotator"),
                                (BOB.name, "annotator"), ("vic", "viewer"))}  # fmt: skip
    of_ann, _ = make_pair(workspace)
    with open_client(workspace) as client:
        status = {
            who: client.get(
                f"/api/label-tasks/{of_ann}/cards", headers={"Authorization": f"Bearer {token}"}
            ).status_code
            for who, token in tokens.items()
        }
    assert status == {"ada": 200, ANN.name: 200, BOB.name: 403, "vic": 403}
