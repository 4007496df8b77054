"""One label task: its row, who may see and change it, and which state may follow which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from sqlalchemy import Connection, select, update

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import Actor, PermissionDeniedError, may, require
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.frames import Frames, frames_from_json

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
_BLOCK = 500
HIDDEN = ("frames", "proposal", "gold")
"""Settings that are not shown: large, or what a person who works without a proposal may not see."""


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


def from_row(row: Mapping[str, Any]) -> LabelTask:
    """The task of a row; hidden settings are left out."""
    values = {each.name: row[each.name] for each in fields(LabelTask)}
    shown = {name: value for name, value in row["settings"].items() if name not in HIDDEN}
    return LabelTask(**values | {"settings": shown})


def task(connection: Connection, task_id: str) -> LabelTask:
    """The task with this id; raises UnknownTaskError when there is none."""
    query = select(LABEL_TASK).where(LABEL_TASK.c.id == task_id)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise UnknownTaskError(
            f"task {task_id[:80]!r} is not in the catalogue. List them with: corporeal annotate "
            "queue."
        )
    return from_row(dict(row))


def light_task(connection: Connection, task_id: str) -> LabelTask:
    """The same without where it began and its settings, which are large, for every keystroke."""
    kept = [each for each in LABEL_TASK.c if each.name not in ("start", "settings")]
    row = connection.execute(select(*kept).where(LABEL_TASK.c.id == task_id)).mappings().first()
    if row is None:
        return task(connection, task_id)
    return from_row({**row, "start": {}, "settings": {}})


def tasks(
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
    return [from_row(dict(row)) for row in rows]


def task_summaries(connection: Connection, task_ids: Sequence[str]) -> list[dict[str, Any]]:
    """What some tasks are and who made them, without what is said in them."""
    names = ("id", "kind", "queue", "state", "version", "seconds", "created_by", "created_at")
    query = select(*(LABEL_TASK.c[name] for name in names)).where(LABEL_TASK.c.id.in_(task_ids))
    return [dict(row) for row in connection.execute(query).mappings()]


def hidden(connection: Connection, task_id: str) -> dict[str, Any]:
    """The settings of a task that people are not shown."""
    query = select(LABEL_TASK.c.settings).where(LABEL_TASK.c.id == task_id)
    held = connection.execute(query).scalar() or {}
    return {name: held[name] for name in HIDDEN if name in held}


def frames_of(connection: Connection, task_id: str) -> Frames | None:
    """The frames that a task's boundaries lie on, where they were noted."""
    return frames_from_json(hidden(connection, task_id).get("frames"))


def frames_about(connection: Connection, episodes: Sequence[str]) -> dict[str, Frames]:
    """The frames of episodes as any earlier task of them noted them; files never change."""
    found: dict[str, Frames] = {}
    noted = LABEL_TASK.c.settings["frames"].label("frames")
    for first in range(0, len(episodes), _BLOCK):
        part = LABEL_TASK.c.episode.in_(episodes[first : first + _BLOCK])
        for row in connection.execute(select(LABEL_TASK.c.episode, noted).where(part)):
            if row.episode not in found and (frames := frames_from_json(row.frames)) is not None:
                found[row.episode] = frames
    return found


def change_state(
    connection: Connection,
    held: LabelTask,
    state: TaskState,
    *,
    by: Actor,
    why: str | None = None,
    **values: Any,
) -> LabelTask:
    """Move a task to another state, inside a transaction, with whatever else of its row changes."""
    if state != held.state and state not in NEXT[held.state]:
        allowed = ", ".join(NEXT[held.state]) or "nothing"
        raise TaskStateError(
            f"task {held.id}: state, got {state} after {held.state}; expected {allowed}."
        )
    changed = connection.execute(
        update(LABEL_TASK)
        .where(LABEL_TASK.c.id == held.id, LABEL_TASK.c.state == held.state)
        .values(state=state, changed_at=now(), **values)
    )
    if changed.rowcount != 1:
        raise TaskStateError(f"task {held.id} was changed by somebody else. Load it again.")
    details = {"episode": held.episode, "from": held.state, "to": state}
    if "assigned_to" in values:
        details["assigned_to"] = values["assigned_to"]
    record(connection, [Change(by.name, "label task", f"task:{held.id}", why, details)])
    return task(connection, held.id)


def change_settings(connection: Connection, task_id: str, **values: Any) -> None:
    """Set some settings of a task and leave the others, inside a transaction."""
    query = select(LABEL_TASK.c.settings).where(LABEL_TASK.c.id == task_id)
    held = dict(connection.execute(query).scalar_one())
    changed = update(LABEL_TASK).where(LABEL_TASK.c.id == task_id)
    connection.execute(changed.values(settings=held | values))


def require_owner(held: LabelTask, by: Actor) -> None:
    """Raise PermissionDeniedError unless it is theirs, nobody's, or they are a lead."""
    require(by, "annotate")
    if held.assigned_to in (None, by.name) or may(by, "judge"):
        return
    raise PermissionDeniedError(
        f"task {held.id} belongs to {held.assigned_to}, got {by.name!r}; expected them or a lead."
    )


def may_see(connection: Connection, held: LabelTask, by: Actor) -> bool:
    """Whether somebody may see what is said in a task.

    Two people of a pair see nothing of each other until both have submitted, and nobody who
    could still become one of the two sees anything either.
    """
    if held.assigned_to == by.name:
        return True
    if held.pair is None:
        return may(by, "judge") or held.assigned_to is None or held.state in ("submitted", "done")
    both = tasks(connection, pair=held.pair)
    if all(each.state in ("submitted", "done", "dropped") for each in both):
        return True
    return may(by, "judge") and all(each.assigned_to != by.name for each in both)
