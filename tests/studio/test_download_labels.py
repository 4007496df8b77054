"""Whoever takes an episode to Rerun or Foxglove finds its labels and findings there."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from mcap.reader import make_reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from sqlalchemy import insert
from tests.studio.conftest import SmallWorkspace
from tests.studio.labelled import ANN, FRAMES, LEAD, PHASES, frames, make_task, proposal
from tests.studio.people import open_client, token_of

from corporeal.catalog.tables import FINDING
from corporeal.catalog.workspace import Workspace
from corporeal.exchange import open_dataset
from corporeal.labelling.annotation import Annotation, Instruction, Segment
from corporeal.labelling.labels import labels_of
from corporeal.labelling.labels.versions import accept_labels, mark_stale
from corporeal.labelling.queues import assign
from corporeal.labelling.taxonomy import open_taxonomy
from corporeal.units import SECOND_NS

SAID = ("Reach for the box.", "Take hold of the box.")
TOUCHED = 60
"""The frame of the moment in the lane of contacts."""
FOUND = [(10, 19), (40, 40)]
"""The first and last frames of what a check found."""


@dataclass(frozen=True)
class Message:
    """A message of a log: when it is, since the episode's epoch, and what it says."""

    time_ns: int
    said: Any


def _labels(workspace: Workspace) -> Annotation:
    """Four phases that tile the episode, a moment of contact, two wordings, a failure."""
    _, line = frames(workspace)
    made = proposal(workspace, confirmed=True)
    moment = int(line.stamps[TOUCHED])
    touch = Segment(id="t0", lane="right_contact", label="bumps", start_ns=moment,
                    end_ns=moment, attributes={"force_n": 12.5})  # fmt: skip
    return made.model_copy(update={
        "segments": (*made.segments, touch),
        "instructions": tuple(Instruction(id=f"i{n}", text=text) for n, text in enumerate(SAID)),
        "outcome": "failure", "failure_mode": "missed_grasp",
    })  # fmt: skip


@pytest.fixture
def labelled(workspace: Workspace) -> str:
    """The first episode, labelled."""
    return _label(workspace)


def _label(workspace: Workspace) -> str:
    """Give the first episode labels that count, and a finding with its frames; its id."""
    episode, line = frames(workspace)
    with workspace.database.write() as connection:
        accept_labels(connection, episode, _labels(workspace), open_taxonomy("manipulation"),
                      task_id=None, by=LEAD)  # fmt: skip
        connection.execute(insert(FINDING).values(
            episode=episode, check="frozen_picture", severity="warning", stream=line.stream,
            message="The picture stands still.",
            frames=[[first, last + 1] for first, last in FOUND],
        ))  # fmt: skip
    return episode


def _edges(workspace: Workspace) -> list[int]:
    _, line = frames(workspace)
    return [*(int(line.stamps[each]) for each in FRAMES), int(line.stamps[-1])]


def _log(data: bytes) -> dict[str, list[Message]]:
    """Every topic of labels and findings, decoded by nothing but the definitions in the file."""
    found: dict[str, list[Message]] = {}
    reader = make_reader(io.BytesIO(data), validate_crcs=True)
    about = next(each.metadata for each in reader.iter_metadata() if each.name == "corporeal")
    offset_ns = int(json.loads(about["episode"])["offset_ns"])
    for schema, channel, message in reader.iter_messages():
        if channel.topic.startswith("/labels") or channel.topic == "/debug/findings":
            assert schema is not None
            store = get_typestore(Stores.EMPTY)
            store.register(get_types_from_msg(schema.data.decode(), schema.name))
            said = store.deserialize_cdr(message.data, schema.name)
            each = Message(message.log_time - offset_ns, said)
            found.setdefault(channel.topic, []).append(each)
    return found


def test_foxglove_gets_a_topic_of_states_for_every_lane(
    client: TestClient, workspace: Workspace, labelled: str, tmp_path: Path
) -> None:
    answer = client.get(f"/api/episodes/{labelled}/episode.mcap")
    assert answer.status_code == 200, answer.text
    topics = _log(answer.content)
    assert set(topics) == {"/labels", "/labels/phase", "/labels/right_contact", "/debug/findings"}
    edges = _edges(workspace)
    phases = topics["/labels/phase"]
    assert [each.said.label for each in phases] == [*PHASES, ""]
    assert [each.time_ns for each in phases] == edges
    assert [each.said.start_s for each in phases[:-1]] == [each / SECOND_NS for each in edges[:-1]]
    assert [each.said.end_s for each in phases[:-1]] == [each / SECOND_NS for each in edges[1:]]
    assert json.loads(phases[1].said.attributes) == {"hand": "right"}
    contact, after = topics["/labels/right_contact"]
    assert (contact.said.label, after.said.label) == ("bumps", "")
    assert contact.time_ns == edges[2] < after.time_ns
    (whole,) = topics["/labels"]
    assert tuple(whole.said.instructions) == SAID
    assert (whole.said.outcome, whole.said.failure_mode) == ("failure", "missed_grasp")
    saved = tmp_path / "saved.mcap"
    saved.write_bytes(answer.content)
    track = open_dataset(saved).open(0).labels
    assert track is not None
    assert [each.label for each in track.in_lane("phase")] == PHASES


def test_rerun_gets_states_and_words_for_every_lane(
    client: TestClient, workspace: Workspace, labelled: str, tmp_path: Path
) -> None:
    chunk = pytest.importorskip("rerun.chunk")
    saved = tmp_path / "saved.rrd"
    saved.write_bytes(client.get(f"/api/episodes/{labelled}/episode.rrd").content)
    pytest.importorskip("corporeal.exchange.conformance.rrd").verify(saved)
    columns: dict[str, tuple[list[int], list[Any]]] = {}
    about = ""
    for each in chunk.RrdReader(saved).stream():
        batch = each.to_record_batch()
        for name in batch.schema.names:
            if name in ("StateChange:state", "TextLog:text"):
                times, said = columns.setdefault(each.entity_path, ([], []))
                times += batch.column("time").cast("int64").to_pylist()
                said += [value[0] if value else None for value in batch.column(name).to_pylist()]
            elif name == "TextDocument:text":
                about = batch.column(name)[0].as_py()[0]
    edges = _edges(workspace)
    assert columns["/labels/phase"] == (edges, [*PHASES, None])
    times, said = columns["/labels/right_contact"]
    assert (times[0], said) == (edges[2], ["bumps", None])
    times, said = columns["/events/labels/phase"]
    assert times == edges[:-1]
    assert said[1] == f"phase: approach (right) until {edges[2] / SECOND_NS:.2f} s"
    assert about.startswith(f"# {SAID[0]}\n")
    for line in ("**Outcome:** failure", "**Failure:** missed_grasp", f"**Also said:** {SAID[1]}"):
        assert line in about
    assert any("frozen_picture" in text for text in columns["/events/findings"][1])


def test_findings_come_with_the_time_that_they_last(
    client: TestClient, workspace: Workspace, labelled: str
) -> None:
    topics = _log(client.get(f"/api/episodes/{labelled}/episode.mcap").content)
    _, line = frames(workspace)
    found = [json.loads(each.said.data) for each in topics["/debug/findings"]]
    frozen = [each for each in found if each["event"] == "frozen_picture"]
    wanted = [(int(line.stamps[first]), int(line.stamps[last])) for first, last in FOUND]
    assert [(each["start_s"], each["end_s"]) for each in frozen] == [
        (start / SECOND_NS, end / SECOND_NS) for start, end in wanted
    ]
    starts = {each.time_ns for each in topics["/debug/findings"]}
    assert {start for start, _ in wanted} <= starts
    assert {each["severity"] for each in frozen} == {"warning"}


def test_labels_that_came_later_are_in_the_next_download(
    client: TestClient, workspace: Workspace, small_workspace: SmallWorkspace
) -> None:
    url = f"/api/episodes/{small_workspace.episodes[0]}/episode.mcap"
    before = client.get(url)
    assert "/labels/phase" not in _log(before.content)
    episode, _ = frames(workspace)
    taxonomy = open_taxonomy("manipulation")
    with workspace.database.write() as connection:
        accept_labels(connection, episode, _labels(workspace), taxonomy, task_id=None, by=LEAD)
    waiting = client.get(f"/api/episodes/{episode}/conversion", params={"to": "mcap"}).json()
    assert waiting["state"] == "missing", "the file without labels does not count any more"
    after = client.get(url)
    assert "/labels/phase" in _log(after.content)
    assert after.headers["etag"] != before.headers["etag"]
    assert client.get(url).headers["etag"] == after.headers["etag"]
    with workspace.database.write() as connection:
        held = labels_of(connection, episode)
        assert held is not None
        mark_stale(connection, held, "The taxonomy has changed.", by=LEAD)
    assert client.get(url).headers["etag"] == before.headers["etag"], "stale labels do not count"


def test_whoever_is_still_to_label_an_episode_does_not_get_its_labels(
    workspace: Workspace,
) -> None:
    tokens = {name: token_of(workspace, name, role)
              for name, role in (("ada", "admin"), ("lena", "lead"), ("ann", "annotator"),
                                 ("bob", "annotator"), ("vic", "viewer"))}  # fmt: skip
    task = make_task(workspace)
    with workspace.database.write() as connection:
        assign(connection, task, ANN.name, by=LEAD)
    url = f"/api/episodes/{_label(workspace)}/episode.mcap"
    with open_client(workspace) as client:
        refused = client.get(url, headers={"Authorization": f"Bearer {tokens['bob']}"})
        assert refused.status_code == 403, "annotators take nothing with them by default"
    generous = replace(workspace, grants={"annotator": frozenset({"export"})})
    with open_client(generous) as client:

        def topics(name: str) -> set[str]:
            answer = client.get(url, headers={"Authorization": f"Bearer {tokens[name]}"})
            assert answer.status_code == 200, answer.text
            assert (b"missed_grasp" in answer.content) == (name != "ann")
            return set(_log(answer.content))

        assert "/labels/phase" in topics("bob"), "made first, so that a file with labels is kept"
        assert topics("ann") == {"/debug/findings"}
        assert "/labels/phase" in topics("lena")
        refused = client.get(url, headers={"Authorization": f"Bearer {tokens['vic']}"})
        assert refused.status_code == 403


def test_a_link_gives_no_download_with_labels(workspace: Workspace, labelled: str) -> None:
    token = token_of(workspace, "ada", "admin")
    with open_client(workspace) as client:
        wish = {"episodes": [labelled], "address": f"/episodes/{labelled}"}
        made = client.post("/api/shares", json=wish, headers={"Authorization": f"Bearer {token}"})
        client.get(made.json()["path"], follow_redirects=False)
        assert client.get(f"/api/episodes/{labelled}").status_code == 200
        for name in ("episode.mcap", "episode.rrd"):
            assert client.get(f"/api/episodes/{labelled}/{name}").status_code == 403
