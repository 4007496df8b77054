"""One label task: its row, who may see and change it, and which state may follow which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, update

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import find_episode, parts_of
from corporeal.catalog.permission import Actor, PermissionDeniedError, may, require
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.frames import Frames, assumed_stamps, frames_from_json

TaskState = Literal["open", "working", "submitted", "returned", "done", "dropped"]
TaskKind = Literal["annotate", "qualify", "adjudicate", "correct"]
TASK_STATES: tuple[TaskState, ...] = get_args(TaskState)
TASK_KINDS: tuple[TaskKind, ...] = get_args(TaskKind)
NEXT: Mapping[TaskState, tuple[TaskState, ...]] = {
    "open": ("working", "dropped"),
    # Back to open when whoever took it has gone away, or gives it back.
    "working": ("open", "submitted", "dropped"),
    "submitted": ("returned", "done", "dropped"),
    "returned": ("working", "submitted", "dropped"),
    "done": (),
    "dropped": (),
}
EDITABLE: tuple[TaskState, ...] = ("open", "working", "returned")
HIDDEN = ("frames", "proposal", "gold")
"""Settings that are not shown: large, or what a person who works without a proposal may not see."""


_UNSEEN = (
    "This task is one of a pair that you take part in: you see the other one when both are "
    "submitted."
)
_NOT_THEIRS = (
    "This task is somebody else's, and two people who label one episode do not see each other's "
    "work. Take a task of your own from the queue."
)


class UnknownTaskError(CatalogError):
    """No task has this id."""


class TaskStateError(CatalogError):
    """A task is not in a state in which this can be done."""


@dataclass(frozen=True)
class LabelTask:
    """One person's work on the labels of one episode; `content` is `start` after all edits."""

    id: str
    episode: str
    kind: TaskKind
    queue: str
    taxonomy: str
    state: TaskState
    assigned_to: str | None
    pair: str | None
    priority: int
    start: Mapping[str, Any]
    content: Mapping[str, Any]
    version: int
    seconds: float
    settings: Mapping[str, Any]
    created_by: str
    created_at: str
    changed_at: str
    hidden: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Settings that are not shown, of `HIDDEN`."""

    @property
    def annotation(self) -> Annotation:
        """What is said in it now."""
        return Annotation.model_validate(self.content)

    @property
    def begun_with(self) -> Annotation:
        """What was there before the first edit."""
        return Annotation.model_validate(self.start)

    @property
    def is_blind(self) -> bool:
        """Whether it was begun without a proposal though there was one."""
        return bool(self.settings.get("blind"))

    @property
    def is_proposed(self) -> bool:
        """Whether it was begun with a proposal in sight."""
        return bool(self.settings.get("proposed")) and not self.is_blind

    @property
    def is_editable(self) -> bool:
        """Whether its state allows edits."""
        return self.state in EDITABLE

    @property
    def frames(self) -> Frames | None:
        """The frames that its boundaries lie on, where they were noted."""
        return frames_from_json(self.hidden.get("frames"))


def from_row(row: Mapping[Any, Any]) -> LabelTask:
    """The task of a row; settings that people are not shown stand apart."""
    values = {each.name: row[each.name] for each in fields(LabelTask) if each.name != "hidden"}
    settings = values["settings"]
    values["settings"] = {name: settings[name] for name in settings if name not in HIDDEN}
    return LabelTask(**values, hidden={name: settings[name] for name in HIDDEN if name in settings})


def find_task(connection: Connection, task_id: str, *, seen_by: Actor | None = None) -> LabelTask:
    """The task with this id; raises UnknownTaskError when there is none.

    With `seen_by`, PermissionDeniedError for somebody who may not see what is said in it.
    """
    query = select(LABEL_TASK).where(LABEL_TASK.c.id == task_id)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise UnknownTaskError(
            f"task {task_id[:80]!r} is not in the catalogue. List them with: corporeal annotate "
            "queue."
        )
    task = from_row(row)
    if seen_by is not None and not may_see(connection, task, seen_by):
        raise PermissionDeniedError(_UNSEEN if may(seen_by, "judge") else _NOT_THEIRS)
    return task


def light_task(connection: Connection, task_id: str) -> LabelTask:
    """The same without where it began and its settings, which are large, for every keystroke."""
    kept = [each for each in LABEL_TASK.c if each.name not in ("start", "settings")]
    row = connection.execute(select(*kept).where(LABEL_TASK.c.id == task_id)).mappings().first()
    if row is None:
        return find_task(connection, task_id)
    return from_row({**row, "start": {}, "settings": {}})


def find_tasks(
    connection: Connection,
    *,
    queue: str | None = None,
    state: TaskState | None = None,
    assigned_to: str | None = None,
    episode: str | None = None,
    kind: TaskKind | None = None,
    pair: str | None = None,
    limit: int = 10_000,
) -> list[LabelTask]:
    """Tasks, the most urgent first, then the oldest."""
    query = select(LABEL_TASK)
    for name, wanted in (("queue", queue), ("state", state), ("assigned_to", assigned_to),
                         ("episode", episode), ("kind", kind), ("pair", pair)):  # fmt: skip
        if wanted is not None:
            query = query.where(LABEL_TASK.c[name] == wanted)
    order = (LABEL_TASK.c.priority.desc(), LABEL_TASK.c.created_at, LABEL_TASK.c.id)
    rows = connection.execute(query.order_by(*order).limit(limit)).mappings()
    return [from_row(row) for row in rows]


def task_summaries(connection: Connection, task_ids: Sequence[str]) -> list[dict[str, Any]]:
    """What some tasks are and who made them, without what is said in them."""
    names = ("id", "kind", "queue", "state", "version", "seconds", "created_by", "created_at")
    query = select(*(LABEL_TASK.c[name] for name in names)).where(LABEL_TASK.c.id.in_(task_ids))
    return [dict(row) for row in connection.execute(query).mappings()]


def stamps_of(connection: Connection, task: LabelTask) -> NDArray[np.int64]:
    """The stamps to count a task's frames by: those noted, else thirty a second."""
    frames = task.frames
    if frames is not None and len(frames.stamps):
        return frames.stamps
    return assumed_stamps(find_episode(connection, task.episode).duration_s)


def frames_about(connection: Connection, episodes: Sequence[str]) -> dict[str, Frames]:
    """The frames of episodes as any earlier task of them noted them; files never change."""
    known: dict[str, Frames] = {}
    noted = LABEL_TASK.c.settings["frames"].label("frames")
    for part in parts_of(episodes):
        query = select(LABEL_TASK.c.episode, noted).where(LABEL_TASK.c.episode.in_(part))
        for row in connection.execute(query):
            if row.episode not in known and (frames := frames_from_json(row.frames)) is not None:
                known[row.episode] = frames
    return known


def change_state(
    connection: Connection,
    task: LabelTask,
    state: TaskState,
    *,
    by: Actor,
    why: str | None = None,
    **values: Any,
) -> LabelTask:
    """Move a task to another state, inside a transaction, with whatever else of its row changes."""
    if state != task.state and state not in NEXT[task.state]:
        allowed = ", ".join(NEXT[task.state]) or "nothing"
        raise TaskStateError(
            f"task {task.id}: state, got {state} after {task.state}; expected {allowed}."
        )
    changed = connection.execute(
        update(LABEL_TASK)
        .where(LABEL_TASK.c.id == task.id, LABEL_TASK.c.state == task.state)
        .values(state=state, changed_at=now(), **values)
    )
    if changed.rowcount != 1:
        raise TaskStateError(f"task {task.id} was changed by somebody else. Load it again.")
    details = {"episode": task.episode, "from": task.state, "to": state}
    if "assigned_to" in values:
        details["assigned_to"] = values["assigned_to"]
    record(connection, [Change(by.name, "label task", f"task:{task.id}", why, details)])
    return find_task(connection, task.id)


def change_settings(connection: Connection, task_id: str, **values: Any) -> None:
    """Set some settings of a task and leave the others, inside a transaction."""
    query = select(LABEL_TASK.c.settings).where(LABEL_TASK.c.id == task_id)
    task = dict(connection.execute(query).scalar_one())
    changed = update(LABEL_TASK).where(LABEL_TASK.c.id == task_id)
    connection.execute(changed.values(settings=task | values))


def require_owner(task: LabelTask, by: Actor) -> None:
    """Raise PermissionDeniedError unless it is theirs, nobody's, or they are a lead."""
    require(by, "annotate")
    if task.assigned_to in (None, by.name) or may(by, "judge"):
        return
    raise PermissionDeniedError(
        f"task {task.id} belongs to {task.assigned_to}, got {by.name!r}; expected them or a lead."
    )


def may_see(connection: Connection, task: LabelTask, by: Actor) -> bool:
    """Whether somebody may see what is said in a task.

    Two people of a pair see nothing of each other until both have submitted, and nobody who
    could still become one of the two sees anything either.
    """
    if task.assigned_to == by.name:
        return True
    if task.pair is None:
        return may(by, "judge") or task.assigned_to is None or task.state in ("submitted", "done")
    both = find_tasks(connection, pair=task.pair)
    if all(each.state in ("submitted", "done", "dropped") for each in both):
        return True
    return may(by, "judge") and all(each.assigned_to != by.name for each in both)
