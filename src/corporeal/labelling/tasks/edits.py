"""Saves every keystroke: edits in order, each once, with the content after the last of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError, json_value
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.tables import LABEL_EDIT, LABEL_TASK
from corporeal.labelling.annotation import Annotation, Edit, apply_edit
from corporeal.labelling.tasks.label_task import (
    EDITABLE,
    LabelTask,
    TaskStateError,
    change_state,
    light_task,
    require_owner,
)

MOST_AT_ONCE = 500
MOST_EDITS = 200_000
"""Edits of one task; nobody types as many."""


@dataclass(frozen=True)
class Saved:
    """A task after edits were saved: how many there are now, and what they make."""

    version: int
    content: Annotation


@dataclass(frozen=True)
class SavedEdit:
    """An edit as it was saved, with its place in the order."""

    number: int
    who: str
    at: str
    edit: Edit


class StaleEditError(CatalogError):
    """Edits were made on top of a version that is not the newest; `since` are those in between."""

    def __init__(self, version: int, since: Sequence[Edit], who: Sequence[str]) -> None:
        self.version = version
        self.since = list(since)
        self.who = list(dict.fromkeys(who))
        super().__init__(
            f"base version, got one that {len(self.since)} edits by {', '.join(self.who)} follow; "
            f"expected {version}. Take them in and save again."
        )


def save_edits(
    connection: Connection,
    task_id: str,
    edits: Sequence[Edit],
    *,
    base_version: int,
    by: Actor,
) -> Saved:
    """Append edits to a task, inside a transaction: all of them or none.

    An edit whose id is saved already is skipped, so a whole batch can be sent again. Raises
    StaleEditError when edits that are not in the batch came after `base_version`, and
    AnnotationError for an edit that cannot be.
    """
    require(by, "annotate")
    task = light_task(connection, task_id)
    _check_sizes(task, edits, base_version)
    # Nothing that was said before is lost on somebody who sends it again, whatever came later.
    saved = select(LABEL_EDIT.c.edit).where(
        LABEL_EDIT.c.task == task_id, LABEL_EDIT.c.edit.in_([each.id for each in edits])
    )
    seen = set(connection.execute(saved).scalars())
    fresh = list({each.id: each for each in edits if each.id not in seen}.values())
    content = task.annotation
    if not fresh:
        return Saved(task.version, content)
    _check_open(task, by)
    _check_newest(connection, task, base_version, {each.id for each in edits})
    for each in fresh:
        content = apply_edit(content, each)
    version = _append(connection, task, fresh, content, by=by)
    return Saved(version, content)


def edits_of(
    connection: Connection, task_id: str, *, after: int = 0, limit: int = 10_000
) -> list[SavedEdit]:
    """The edits of a task behind a version, in order."""
    query = (
        select(LABEL_EDIT)
        .where(LABEL_EDIT.c.task == task_id, LABEL_EDIT.c.number > after)
        .order_by(LABEL_EDIT.c.number)
    )
    return [
        SavedEdit(row.number, row.who, row.at, Edit.model_validate(
            {"id": row.edit, "action": row.action, "steps": row.steps}
        ))
        for row in connection.execute(query.limit(limit))
    ]  # fmt: skip


def editors_of(connection: Connection, task_id: str) -> list[str]:
    """Everybody who edited a task, in the order of names."""
    query = select(LABEL_EDIT.c.who).where(LABEL_EDIT.c.task == task_id).distinct()
    return [str(who) for who in connection.execute(query.order_by(LABEL_EDIT.c.who)).scalars()]


def _append(
    connection: Connection, task: LabelTask, fresh: Sequence[Edit], content: Annotation, *,
    by: Actor,
) -> int:  # fmt: skip
    stamp, where = now(), f"task {task.id}"
    rows = [
        {"task": task.id, "number": number, "edit": each.id, "who": by.name, "at": stamp,
         "action": each.action,
         "steps": json_value([step.model_dump(mode="json") for step in each.steps], where)}
        for number, each in enumerate(fresh, task.version + 1)
    ]  # fmt: skip
    connection.execute(insert(LABEL_EDIT), rows)
    values = {"content": json_value(content.model_dump(mode="json"), where),
              "version": task.version + len(fresh)}  # fmt: skip
    if task.state != "working":
        owner = task.assigned_to or by.name
        change_state(connection, task, "working", by=by, assigned_to=owner, **values)
    else:
        changed = update(LABEL_TASK).where(LABEL_TASK.c.id == task.id)
        connection.execute(changed.values(changed_at=stamp, **values))
    return task.version + len(fresh)


def _check_sizes(task: LabelTask, edits: Sequence[Edit], base_version: int) -> None:
    if len(edits) > MOST_AT_ONCE:
        raise CatalogError(f"edits, got {len(edits)}; expected {MOST_AT_ONCE} at most at once.")
    if not 0 <= base_version <= task.version:
        raise CatalogError(
            f"base version, got {base_version}; expected 0 to {task.version}. Load the task again."
        )
    if task.version + len(edits) > MOST_EDITS:
        raise CatalogError(f"task {task.id} has {task.version} edits; expected {MOST_EDITS}.")


def _check_open(task: LabelTask, by: Actor) -> None:
    require_owner(task, by)
    if not task.is_editable:
        raise TaskStateError(
            f"task {task.id} is {task.state}; expected {' or '.join(EDITABLE)}. Ask a lead to give "
            "it back."
        )


def _check_newest(
    connection: Connection, task: LabelTask, base_version: int, given: set[str]
) -> None:
    """Edits that lie between are fine when they are this batch's own: its answer was lost."""
    if base_version == task.version:
        return
    between = edits_of(connection, task.id, after=base_version)
    foreign = [each for each in between if each.edit.id not in given]
    if foreign:
        raise StaleEditError(
            task.version, [each.edit for each in between], [each.who for each in foreign]
        )
