"""A small taxonomy, people, and annotations as they would make them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sqlalchemy import Connection
from tests.catalog.entries import entry

from corporeal.catalog.episodes import add_episodes, move_episodes
from corporeal.catalog.permission import Actor
from corporeal.labelling.annotation import Annotation, Edit, Instruction, Put, Segment, Set
from corporeal.labelling.frames import Frames
from corporeal.labelling.review import submit
from corporeal.labelling.tasks import LabelTask, TaskOptions, create_tasks, find_task, save_edits
from corporeal.labelling.taxonomy import Taxonomy

LEAD, OTHER_LEAD = Actor("lea", "lead"), Actor("lou", "lead")
ANN, BEN, CY = (Actor(name, "annotator") for name in ("ann", "ben", "cy"))
STAMPS = np.round(np.arange(300) * (1e9 / 30)).astype(np.int64)
FRAMES = Frames("observations/head", STAMPS)

TEXT = """
document: taxonomy
name: grasping
version: {version}
lanes:
  - name: phase
    kind: phase
    title: Phases
    tiles: true
    labels:
      - {{name: reach, definition: The hand goes there.}}
      - name: grasp
        definition: The fingers close.
        starts: {{event: contact_begins, text: {rule}}}
        attributes: [hand]
      - {{name: retreat, definition: The hand goes back.}}
  - name: contact
    kind: contact
    title: Touches
    labels:
      - {{name: holds, definition: The fingers bear it.}}
failure_modes:
  - {{name: drop, definition: It fell.}}
requirements:
  - {{task: "*", lanes: [phase]}}
"""


def taxonomy(version: str = "1.0.0", rule: str = "First frame of contact.") -> Taxonomy:
    """A taxonomy of three phases and one contact."""
    return Taxonomy.parse(TEXT.format(version=version, rule=rule))


def said(grasp: int = 100, retreat: int = 200, *, hand: str = "left", outcome: str = "success",
         confirmed: bool = True, holds: tuple[int, int] | None = None) -> Annotation:  # fmt: skip
    """A complete annotation with its boundaries at these frames."""
    edges = [int(STAMPS[0]), int(STAMPS[grasp]), int(STAMPS[retreat]), int(STAMPS[-1])]
    phases = [
        Segment(
            id=f"p{place}", lane="phase", label=label, start_ns=edges[place],
            end_ns=edges[place + 1], attributes={"hand": hand} if label == "grasp" else {},
            source="person" if confirmed else "proposal", confirmed=confirmed,
            confidence=None if confirmed else 0.97,
        )
        for place, label in enumerate(("reach", "grasp", "retreat"))
    ]  # fmt: skip
    held = [] if holds is None else [
        Segment(id="c0", lane="contact", label="holds", start_ns=int(STAMPS[holds[0]]),
                end_ns=int(STAMPS[holds[1]]))
    ]  # fmt: skip
    return Annotation.model_validate({
        "reference": FRAMES.stream, "segments": [*phases, *held],
        "instructions": [Instruction(id="i0", text="pick it up")], "outcome": outcome,
        "failure_mode": "drop" if outcome == "failure" else None,
    })  # fmt: skip


def episodes(connection: Connection, count: int) -> list[str]:
    """Accepted episodes."""
    made = [entry(number) for number in range(count)]
    add_episodes(connection, made, who="tester")
    names = [each.id for each in made]
    move_episodes(connection, names, "accepted", who="tester", why=None)
    return names


def asked(connection: Connection, names: list[str], **options: Any) -> list[LabelTask]:
    """Tasks for these episodes, with frames, and by default one person each."""
    given: dict[str, Any] = {"queue": "work", "double_share": 0.0, "blind_share": 0.0, **options}
    by, starts = given.pop("by", LEAD), given.pop("starts", None)
    frames = given.pop("frames", dict.fromkeys(names, FRAMES))
    made = TaskOptions(**given)
    return create_tasks(connection, names, taxonomy(), made, by=by, starts=starts, frames=frames)


def write(connection: Connection, task_id: str, wanted: Annotation, by: Actor) -> LabelTask:
    """Say all of an annotation in one edit."""
    held = find_task(connection, task_id)
    put = [Put(put=each) for each in (*wanted.segments, *wanted.instructions)]
    fields = {"outcome": wanted.outcome, "failure_mode": wanted.failure_mode}
    edit = Edit(
        id=f"all-{held.version}", action="type", steps=(*put, Set.model_validate({"set": fields}))
    )
    save_edits(connection, task_id, [edit], base_version=held.version, by=by)
    return find_task(connection, task_id)


def finish(connection: Connection, task_id: str, wanted: Annotation, by: Actor) -> LabelTask:
    """Say all of an annotation and hand it in."""
    write(connection, task_id, wanted, by)
    return submit(connection, task_id, by=by)
