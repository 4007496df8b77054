"""Tasks and comments as lists, without the labels themselves: those are large."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select

from corporeal.catalog.audit import events_of
from corporeal.catalog.permission import Actor, may
from corporeal.catalog.query import read_fields
from corporeal.catalog.tables import LABEL_COMMENT, LABEL_TASK
from corporeal.labelling.tasks.label_task import TaskKind, TaskState
from corporeal.labelling.taxonomy import kept_taxonomy

MOST = 1000
BLIND = LABEL_TASK.c.settings["blind"].as_boolean()
IS_WORK = LABEL_TASK.c.created_at.is_not(None) & (
    func.coalesce(LABEL_TASK.c.settings["is_gold"].as_boolean(), False).is_(False)
)
"""The gold itself is nobody's work."""
_PROPOSED = LABEL_TASK.c.settings["proposed"].as_boolean()
_COLUMNS = ("id", "episode", "kind", "queue", "state", "assigned_to", "seconds", "changed_at")


@dataclass(frozen=True)
class ListedTask:
    """A task in a list; what an annotator must not know is null."""

    id: str
    episode: str
    episode_task: str | None
    instruction: str | None
    kind: TaskKind
    queue: str
    taxonomy: str
    state: TaskState
    assigned_to: str | None
    pair: str | None
    is_double: bool | None
    has_proposal: bool | None
    seconds: float
    edits: int
    changed_at: str
    why: str | None
    comments: int


@dataclass(frozen=True)
class OpenComment:
    """A comment that nobody has answered yet."""

    number: int
    episode: str
    task: str | None
    time_ns: int | None
    who: str
    at: str
    text: str


def list_tasks(
    connection: Connection,
    *,
    by: Actor,
    queue: str | None = None,
    assigned_to: str | None = None,
    states: Collection[TaskState] = (),
    limit: int = MOST,
) -> list[ListedTask]:
    """Tasks that people label in, those that changed last first, of some `states` or of all.

    Whoever may not judge is not told which are double.
    """
    query = _light().where(LABEL_TASK.c.kind != "adjudicate")
    if queue is not None:
        query = query.where(LABEL_TASK.c.queue == queue)
    if assigned_to is not None:
        query = query.where(LABEL_TASK.c.assigned_to == assigned_to)
    if states:
        query = query.where(LABEL_TASK.c.state.in_(states))
    return _listed(connection, query.limit(limit), by)


def listed_task(connection: Connection, task_id: str, *, by: Actor) -> ListedTask:
    """One task as lists show it."""
    return _listed(connection, _light().where(LABEL_TASK.c.id == task_id), by)[0]


def open_comments(connection: Connection) -> list[OpenComment]:
    """Comments that nobody has answered, the newest first."""
    columns = ("number", "episode", "task", "time_ns", "who", "at", "text")
    rows = connection.execute(
        select(*(LABEL_COMMENT.c[name] for name in columns))
        .where(LABEL_COMMENT.c.resolved_at.is_(None))
        .order_by(LABEL_COMMENT.c.number.desc())
        .limit(MOST)
    ).mappings()
    return [OpenComment(**row) for row in rows]


def _light() -> Select[Any]:
    columns = (LABEL_TASK.c[name] for name in (*_COLUMNS, "taxonomy", "pair", "version"))
    return (
        select(*columns, BLIND.label("blind"), _PROPOSED.label("proposed"))
        .where(IS_WORK)
        .order_by(LABEL_TASK.c.changed_at.desc())
    )


def _listed(connection: Connection, query: Select[Any], by: Actor) -> list[ListedTask]:
    rows = connection.execute(query).mappings().all()
    reasons = return_reasons(connection, [row["id"] for row in rows if row["state"] == "returned"])
    comments = _count_comments(connection, [str(row["id"]) for row in rows])
    taxonomies = {name: kept_taxonomy(connection, name).reference
                  for name in {row["taxonomy"] for row in rows}}  # fmt: skip
    ids = list({row["episode"] for row in rows})
    episodes = {name: (task, instruction) for name, task, instruction
                in read_fields(connection, "id", "task", "instruction", ids=ids)}  # fmt: skip
    is_lead = may(by, "judge")
    return [
        ListedTask(
            **{name: row[name] for name in _COLUMNS},
            episode_task=episodes[row["episode"]][0],
            instruction=episodes[row["episode"]][1],
            taxonomy=taxonomies[row["taxonomy"]],
            edits=row["version"],
            pair=row["pair"] if is_lead else None,
            is_double=row["pair"] is not None if is_lead else None,
            has_proposal=bool(row["proposed"]) and not row["blind"] if is_lead else None,
            why=reasons.get(row["id"]),
            comments=comments.get(row["id"], 0),
        )
        for row in rows
    ]


def _count_comments(connection: Connection, ids: list[str]) -> dict[str, int]:
    query = (
        select(LABEL_COMMENT.c.task, func.count())
        .where(LABEL_COMMENT.c.task.in_(ids), LABEL_COMMENT.c.resolved_at.is_(None))
        .group_by(LABEL_COMMENT.c.task)
    )
    return {str(name): int(number) for name, number in connection.execute(query)}


def return_reasons(connection: Connection, task_ids: Sequence[str]) -> dict[str, str]:
    """What a lead said when giving tasks back, of those that were not handed in again since."""
    reasons: dict[str, str] = {}
    for event in events_of(connection, *(f"task:{each}" for each in task_ids)):
        task_id, to = str(event["subject"]).removeprefix("task:"), event["details"].get("to")
        if to == "returned" and event["why"] is not None:
            reasons[task_id] = str(event["why"])
        elif to in ("returned", "submitted"):
            reasons.pop(task_id, None)
    return reasons
