"""Who works on what next: taking and assigning tasks, and the time spent on them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    exists,
    func,
    or_,
    select,
    true,
    update,
)

from corporeal.catalog.accounts import account
from corporeal.catalog.audit import now
from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import Actor, Role, may, require
from corporeal.catalog.query import PRESENT, episode_meets
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.queues.qualification import begin_attempt, is_qualified, qualified_for
from corporeal.labelling.tasks.creation import insert_tasks, new_row
from corporeal.labelling.tasks.label_task import (
    EDITABLE,
    LabelTask,
    TaskStateError,
    change_settings,
    change_state,
    find_task,
    from_row,
    require_owner,
)

TAKEN_FOR = timedelta(minutes=30)
"""How long a task is kept for somebody who has taken it and changed nothing."""
MOST_SECONDS = 3600.0
_SKIPPED = LABEL_TASK.c.settings["skipped"].as_string()
_OTHER = LABEL_TASK.alias("other")


def take_next(
    connection: Connection,
    queue: str,
    *,
    by: Actor,
    avoid: Collection[str] = (),
    taken_for: timedelta = TAKEN_FOR,
) -> LabelTask | None:
    """The next task of a queue for somebody, taken inside a transaction; None when none is left.

    What was given back to them comes first, then what they have begun; what they skipped comes
    last. Nobody gets both tasks of a pair, nor what they returned, nor the adjudication of what
    they annotated, nor (unless a lead) a task that asks for a qualification which they have not.
    A task taken and left unchanged frees itself.
    """
    require(by, "annotate")
    waiting = _waiting(queue).where(
        LABEL_TASK.c.id.not_in(list(avoid)), _is_allowed(connection, by)
    )
    mine = waiting.where(LABEL_TASK.c.assigned_to == by.name)
    task = _first(connection, mine.where(_SKIPPED.is_(None)))
    if task is None:
        free = waiting.where(_is_free(taken_for), _is_fit(by), ~was_returned_by(by.name))
        task = _first(connection, free)
    if task is None:
        task = _first(connection, mine.order_by(None).order_by(_SKIPPED))
    if task is None:
        made = begin_attempt(connection, queue, by=by)
        task = made[0] if made else None
    return None if task is None else take(connection, task.id, by=by, taken_for=taken_for)


def take(
    connection: Connection, task_id: str, *, by: Actor, taken_for: timedelta = TAKEN_FOR
) -> LabelTask:
    """Take one task, inside a transaction; raises unless it is free or theirs."""
    require(by, "annotate")
    task = find_task(connection, task_id)
    if task.assigned_to == by.name and task.state == "working":
        changed = update(LABEL_TASK).where(LABEL_TASK.c.id == task.id)
        connection.execute(changed.values(changed_at=now()))
        return find_task(connection, task_id)
    _check_fit(connection, task, by.name, by.role)
    if task.assigned_to not in (None, by.name) and not (
        task.state == "working" and task.version == 0 and task.changed_at < _before(taken_for)
    ):
        raise TaskStateError(f"task {task.id} is with {task.assigned_to}; expected a free one.")
    return change_state(connection, task, "working", by=by, assigned_to=by.name)


def skip_task(connection: Connection, task_id: str, *, by: Actor) -> LabelTask:
    """Put a task of somebody's behind all the others for them, inside a transaction."""
    task = _own(connection, task_id, by)
    change_settings(connection, task.id, skipped=now())
    return change_state(connection, task, task.state, by=by, why="skipped")


def return_task(connection: Connection, task_id: str, *, by: Actor, why: str = "") -> LabelTask:
    """Give a task back for others to do, inside a transaction; it begins anew for them.

    What was done in it stays in the log, as that of a task that was dropped.
    """
    task = _own(connection, task_id, by)
    if task.state == "returned" or task.kind != "annotate":
        raise TaskStateError(
            f"task {task.id} was given to {by.name} to be finished; expected one taken from a "
            "queue. Ask a lead to give it to somebody else."
        )
    names = [*str(task.settings.get("returned_by", "|")).strip("|").split("|"), by.name]
    returned = {"returned_by": f"|{'|'.join(filter(None, names))}|", "skipped": None}
    reason = f"returned by the annotator: {why}" if why else "returned by the annotator"
    if not task.version:
        change_settings(connection, task.id, **returned)
        return change_state(connection, task, "open", by=by, why=reason, assigned_to=None)
    change_state(connection, task, "dropped", by=by, why=reason)
    plan = {
        name: getattr(task, name)
        for name in (
            "episode",
            "kind",
            "queue",
            "taxonomy",
            "pair",
            "priority",
            "start",
            "created_by",
        )
    }
    settings = {**task.settings, **task.hidden, **returned}
    return insert_tasks(connection, [new_row({**plan, "settings": settings})], by)[0]


def was_returned_by(name: str) -> ColumnElement[bool]:
    """Whether somebody has had a task and returned it."""
    names = LABEL_TASK.c.settings["returned_by"].as_string()
    return func.coalesce(names, "").contains(f"|{name}|", autoescape=True)


def _own(connection: Connection, task_id: str, by: Actor) -> LabelTask:
    """A task that somebody has and can still change."""
    task = find_task(connection, task_id, seen_by=by)
    require_owner(task, by)
    if not task.is_editable:
        raise TaskStateError(f"task {task.id} is {task.state}; expected one that is not over.")
    return task


def assign(connection: Connection, task_id: str, name: str | None, *, by: Actor) -> LabelTask:
    """Give a task to somebody, or with None to whoever comes next, inside a transaction."""
    require(by, "judge")
    task = find_task(connection, task_id)
    if not task.is_editable:
        raise TaskStateError(f"task {task.id} is {task.state}; expected one that is not over.")
    if name is not None:
        given = account(connection, name)
        if given.disabled:
            raise CatalogError(f"account {name!r} is disabled; expected one in use.")
        _check_fit(connection, task, name, given.role)
    elif task.version:
        raise TaskStateError(
            f"task {task.id} has {task.version} edits by {task.assigned_to}; expected a person to "
            "go on with it. Name one."
        )
    state = "open" if task.state == "working" and task.version == 0 else task.state
    return change_state(connection, task, state, by=by, assigned_to=name)


def add_seconds(connection: Connection, task_id: str, seconds: float, *, by: Actor) -> float:
    """Add time that somebody worked on a task, inside a transaction; all of it so far."""
    task = find_task(connection, task_id)
    require_owner(task, by)
    if not 0 <= seconds <= MOST_SECONDS:
        raise CatalogError(f"seconds, got {seconds}; expected 0 to {MOST_SECONDS:g} at once.")
    changed = update(LABEL_TASK).where(LABEL_TASK.c.id == task_id)
    connection.execute(changed.values(seconds=LABEL_TASK.c.seconds + seconds))
    return task.seconds + seconds


def _waiting(queue: str) -> Select[Any]:
    """Tasks of a queue that somebody can work on, in the order in which they should."""
    order = case((LABEL_TASK.c.state == "returned", 0), (LABEL_TASK.c.state == "working", 1),
                 else_=2)  # fmt: skip
    return (
        select(LABEL_TASK)
        .where(LABEL_TASK.c.queue == queue, episode_meets(LABEL_TASK.c.episode, PRESENT),
               LABEL_TASK.c.state.in_(EDITABLE))
        .order_by(order, LABEL_TASK.c.priority.desc(), LABEL_TASK.c.created_at, LABEL_TASK.c.id)
    )  # fmt: skip


def _is_free(taken_for: timedelta) -> ColumnElement[bool]:
    """Nobody's, or taken by somebody who has gone away and left nothing."""
    return or_(
        and_(LABEL_TASK.c.state == "open", LABEL_TASK.c.assigned_to.is_(None)),
        and_(
            LABEL_TASK.c.state == "working",
            LABEL_TASK.c.version == 0,
            LABEL_TASK.c.kind != "qualify",
            LABEL_TASK.c.changed_at < _before(taken_for),
        ),
    )


def _is_fit(by: Actor) -> ColumnElement[bool]:
    """Whether somebody may do it who could do it: not the other one of a pair again."""
    mine = and_(_OTHER.c.assigned_to == by.name, _OTHER.c.id != LABEL_TASK.c.id)
    paired = exists().where(mine, _OTHER.c.pair == LABEL_TASK.c.pair)
    said = exists().where(mine, _OTHER.c.episode == LABEL_TASK.c.episode,
                          _OTHER.c.taxonomy == LABEL_TASK.c.taxonomy,
                          _OTHER.c.kind == "annotate")  # fmt: skip
    judged = LABEL_TASK.c.kind == "adjudicate"
    fit = and_(~paired, or_(~judged, ~said))
    return fit if may(by, "judge") else and_(fit, ~judged)


def _is_allowed(connection: Connection, by: Actor) -> ColumnElement[bool]:
    """Whether a task asks for no qualification which somebody lacks."""
    if may(by, "judge"):
        return true()
    asked = LABEL_TASK.c.settings["needs_qualification"].as_boolean()
    passed = qualified_for(connection, by.name)
    return or_(asked.is_(None), asked.is_(False), LABEL_TASK.c.taxonomy.in_(passed))


def _first(connection: Connection, query: Select[Any]) -> LabelTask | None:
    row = connection.execute(query.limit(1)).mappings().first()
    return None if row is None else from_row(dict(row))


def _check_fit(connection: Connection, task: LabelTask, name: str, role: Role) -> None:
    """Raise CatalogError when a person may not do a task, whoever gives it to them."""
    who = Actor(name, role)
    require(who, "judge" if task.kind == "adjudicate" else "annotate")
    query = select(LABEL_TASK.c.id).where(LABEL_TASK.c.id == task.id, _is_fit(who))
    if connection.execute(query).first() is None:
        raise CatalogError(
            f"task {task.id}, got {name!r}, who has annotated this episode; expected another "
            "person."
        )
    asked = task.settings.get("needs_qualification") and not may(who, "judge")
    if asked and not is_qualified(connection, name, task.taxonomy):
        raise CatalogError(
            f"task {task.id}, got {name!r}, who has not qualified for this taxonomy; expected "
            "somebody who has."
        )


def _before(span: timedelta) -> str:
    then = (datetime.now(UTC) - span).isoformat(timespec="microseconds")
    return then.replace("+00:00", "Z")
