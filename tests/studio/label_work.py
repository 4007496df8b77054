"""People who label in tests: accounts, and work on a task that is done in one go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import Connection

from corporeal.catalog.accounts import add_account, new_token
from corporeal.catalog.permission import Actor, Role
from corporeal.catalog.workspace import Workspace
from corporeal.labelling.annotation import (
    Annotation,
    Drop,
    Edit,
    Instruction,
    Put,
    Segment,
    Set,
    Step,
)
from corporeal.labelling.frames import end_ns
from corporeal.labelling.review import submit
from corporeal.labelling.tasks import LabelTask, find_task, save_edits

ADMIN = Actor("root", "admin")
ROLES: Mapping[str, Role] = {
    "ada": "admin", "lee": "lead", "ann": "annotator", "ben": "annotator", "vic": "viewer",
}  # fmt: skip
TAXONOMY = "manipulation@2.1.0"
HERE = (30, 60)
"""Frames at which the arm begins and ends to reach, as the first person sees it."""


@dataclass(frozen=True)
class People:
    """Tokens of the people, and their names as actors."""

    tokens: Mapping[str, str]

    def head(self, name: str) -> dict[str, str]:
        """What a request of somebody carries."""
        return {"Authorization": f"Bearer {self.tokens[name]}"}

    def actor(self, name: str) -> Actor:
        """Somebody as the catalogue knows them."""
        return Actor(name, ROLES[name])


def make_people(workspace: Workspace) -> People:
    """An account and a token for everybody."""
    tokens = {}
    with workspace.database.write() as connection:
        for name, role in ROLES.items():
            add_account(connection, name, role, by=ADMIN)
            tokens[name] = new_token(connection, name, "test", by=ADMIN)
    return People(tokens)


def make_queue(client: TestClient, people: People, name: str = "monday", **more: Any) -> Any:
    """A queue of all episodes, made by the lead; waits until its tasks are there."""
    body = {"name": name, "taxonomy": TAXONOMY, "double_share": 1.0, "blind_share": 0.0, **more}
    made = client.post("/api/labels/queues", json=body, headers=people.head("lee"))
    assert made.status_code == 201, made.text
    return wait_until_made(client, people, name)


def wait_until_made(client: TestClient, people: People, name: str) -> Any:
    """The queue once the server has made all of its tasks."""
    until = monotonic() + 30
    while monotonic() < until:
        found = client.get("/api/labels/queues", headers=people.head("lee")).json()
        queue = next(each for each in found if each["name"] == name)
        if queue["making"] is None or not queue["making"]["is_running"]:
            assert queue["making"] is None or queue["making"]["error"] is None, queue
            return queue
        sleep(0.05)
    raise AssertionError("the queue was not made")


def label_all(
    connection: Connection,
    held: LabelTask,
    by: Actor,
    *,
    at: tuple[int, int] = HERE,
    like: Sequence[Segment] | None = None,
    outcome: str = "success",
) -> LabelTask:
    """Say that the arm rests, reaches and rests, and submit it; all inside a transaction.

    `like` are phases to be put in instead.
    """
    frames = find_task(connection, held.id).frames
    assert frames is not None
    stamps = frames.stamps.tolist()
    edges = [stamps[0], stamps[at[0]], stamps[at[1]], end_ns(frames.stamps)]
    steps: list[Step] = [Drop(drop=each.id) for each in held.annotation.segments]
    steps += [Drop(drop=each.id) for each in held.annotation.instructions]
    made = phases(edges) if like is None else like
    steps += [Put(put=each.model_copy(update={"confirmed": True})) for each in made]
    steps += [
        Put(put=Instruction(id="says", text="reach the target")),
        Set(set={"outcome": outcome, "failure_mode": "timeout" if outcome == "failure" else None,
                 "reference": frames.stream}),
    ]  # fmt: skip
    edit = Edit(id=f"all-{held.id[:8]}-{held.version}", action="accept", steps=tuple(steps))
    save_edits(connection, held.id, [edit], base_version=held.version, by=by)
    return submit(connection, held.id, by=by)


def phases(edges: list[int]) -> list[Segment]:
    """rest, reach, rest between four stamps."""
    said: tuple[tuple[str, dict[str, str]], ...] = (
        ("rest", {}),
        ("approach", {"hand": "right"}),
        ("rest", {}),
    )
    return [
        Segment(id=f"s{place}", lane="phase", label=label, start_ns=edges[place],
                end_ns=edges[place + 1], attributes=dict(attributes))
        for place, (label, attributes) in enumerate(said)
    ]  # fmt: skip


def boundaries(said: Annotation) -> list[int]:
    """Where the phases begin, but for the first."""
    return [each.start_ns for each in said.in_lane("phase")][1:]
