"""Queues, tasks and comments as lists, without the labels themselves: those are large."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from corporeal.catalog.permission import Actor, may
from corporeal.catalog.tables import DOCUMENT, EPISODE, EVENT, LABEL_COMMENT, LABEL_TASK
from corporeal.labelling.taxonomy.taxonomy_store import kept_taxonomy
from corporeal.studio.labelling.facts import ListedTask, OpenComment, QueueFacts, making_facts
from corporeal.studio.labelling.making import Maker
from corporeal.studio.labelling.order import Order, orders

MOST = 1000
_BLIND = LABEL_TASK.c.settings["blind"].as_boolean()
_PROPOSED = LABEL_TASK.c.settings["proposed"].as_boolean()
_NEEDS = LABEL_TASK.c.settings["needs_qualification"].as_boolean()
# The gold itself is nobody's work.
_IS_WORK = LABEL_TASK.c.created_at.is_not(None) & (
    func.coalesce(LABEL_TASK.c.settings["is_gold"].as_boolean(), False).is_(False)
)
_COLUMNS = ("id", "episode", "kind", "queue", "state", "assigned_to", "pair", "seconds",
            "version", "changed_at")  # fmt: skip


def task_facts(
    connection: Connection, *where: ColumnElement[bool], by: Actor, limit: int = MOST
) -> list[ListedTask]:
    """Tasks, those that changed last first; who may not judge is not told which are double."""
    found = connection.execute(
        _light().where(*where, _IS_WORK).order_by(LABEL_TASK.c.changed_at.desc()).limit(limit)
    ).mappings().all()  # fmt: skip
    rows = [dict(row) for row in found]
    ids = [str(row["id"]) for row in rows]
    whys, comments = _whys(connection, rows), _open_comments(connection, ids)
    is_lead = may(by, "judge")
    return [
        ListedTask(
            **{name: row[name] for name in _COLUMNS if name not in ("version", "pair")},
            episode_task=row["task"],
            instruction=row["instruction"],
            taxonomy=f"{row['document']}@{row['document_version']}",
            edits=row["version"],
            pair=row["pair"] if is_lead else None,
            is_double=row["pair"] is not None if is_lead else None,
            has_proposal=bool(row["proposed"]) and not row["blind"] if is_lead else None,
            why=whys.get(str(row["id"])),
            comments=comments.get(str(row["id"]), 0),
        )
        for row in rows
    ]


def one_task(connection: Connection, task_id: str, *, by: Actor) -> ListedTask:
    """One task as lists show it."""
    return task_facts(connection, LABEL_TASK.c.id == task_id, by=by)[0]


def queue_facts(connection: Connection, making: Maker) -> list[QueueFacts]:
    """Every queue with how far it is, the newest first; orders without a task yet among them."""
    counts: dict[str, dict[str, int]] = {}
    grouped = (LABEL_TASK.c.queue, LABEL_TASK.c.state)
    query = select(*grouped, func.count()).where(_IS_WORK, LABEL_TASK.c.kind != "adjudicate")
    for name, state, number in connection.execute(query.group_by(*grouped)):
        counts.setdefault(name, {})[state] = number
    held = {row["queue"]: dict(row) for row in connection.execute(_sums()).mappings()}
    people: dict[str, list[str]] = {}
    pairs = (LABEL_TASK.c.queue, LABEL_TASK.c.assigned_to)
    named = select(*pairs).where(LABEL_TASK.c.assigned_to.is_not(None)).distinct().order_by(*pairs)
    for name, who in connection.execute(named):
        people.setdefault(name, []).append(who)
    ordered = orders(connection)
    made = [
        _queue(connection, name, held.get(name), ordered.get(name), counts.get(name, {}),
               people.get(name, []), making)
        for name in dict.fromkeys([*ordered, *held])
    ]  # fmt: skip
    return sorted(made, key=lambda each: each.created_at, reverse=True)


def open_comments(connection: Connection) -> list[OpenComment]:
    """Comments that nobody has answered, the newest first."""
    columns = ("number", "episode", "task", "time_ns", "who", "at", "text")
    rows = connection.execute(
        select(*(LABEL_COMMENT.c[name] for name in columns))
        .where(LABEL_COMMENT.c.resolved_at.is_(None))
        .order_by(LABEL_COMMENT.c.number.desc())
        .limit(MOST)
    ).mappings()
    return [OpenComment.model_validate(dict(row)) for row in rows]


def _light() -> Select[Any]:
    return (
        select(
            *(LABEL_TASK.c[name] for name in _COLUMNS),
            EPISODE.c.task, EPISODE.c.instruction,
            DOCUMENT.c.name.label("document"), DOCUMENT.c.version.label("document_version"),
            _BLIND.label("blind"), _PROPOSED.label("proposed"),
        )
        .join(EPISODE, EPISODE.c.id == LABEL_TASK.c.episode)
        .join(DOCUMENT, DOCUMENT.c.hash == LABEL_TASK.c.taxonomy)
    )  # fmt: skip


def _sums() -> Select[Any]:
    return (
        select(
            LABEL_TASK.c.queue,
            func.min(LABEL_TASK.c.kind).label("kind"),
            func.max(LABEL_TASK.c.taxonomy).label("taxonomy"),
            func.count(LABEL_TASK.c.episode.distinct()).label("episodes"),
            func.count(LABEL_TASK.c.pair.distinct()).label("pairs"),
            func.count(LABEL_TASK.c.id).filter(_BLIND.is_(True)).label("blind"),
            func.count(LABEL_TASK.c.id).filter(_NEEDS.is_(True)).label("needs"),
            func.sum(LABEL_TASK.c.seconds).label("seconds"),
            func.min(LABEL_TASK.c.created_by).label("created_by"),
            func.min(LABEL_TASK.c.created_at).label("created_at"),
        )
        .where(LABEL_TASK.c.kind != "adjudicate")
        .group_by(LABEL_TASK.c.queue)
    )


def _queue(
    connection: Connection,
    name: str,
    row: Mapping[str, Any] | None,
    order: Order | None,
    counts: dict[str, int],
    people: list[str],
    making: Maker,
) -> QueueFacts:
    digest = str(row["taxonomy"]) if row else ""
    reference = kept_taxonomy(connection, digest).reference if row else ""
    return QueueFacts(
        name=name,
        kind=order.kind if order else str(row["kind"]) if row else "annotate",
        taxonomy=order.taxonomy if order else reference,
        taxonomy_hash=digest,
        counts=counts,
        total=sum(counts.values()),
        episodes=int(row["episodes"]) if row else 0,
        pairs=int(row["pairs"]) if row else 0,
        without_proposal=int(row["blind"]) if row else 0,
        seconds=float(row["seconds"] or 0) if row else 0.0,
        people=people,
        needs_qualification=bool(row and row["needs"]) or bool(order and order.needs_qualification),
        query=order.query if order else None,
        created_by=order.by if order else str(row["created_by"]) if row else "",
        created_at=order.at if order else str(row["created_at"]) if row else "",
        making=making_facts(making.progress(name)),
    )


def _whys(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Why tasks were given back, as the log has it."""
    subjects = [f"task:{row['id']}" for row in rows if row["state"] == "returned"]
    query = (
        select(EVENT.c.subject, EVENT.c.why, EVENT.c.details)
        .where(EVENT.c.subject.in_(subjects), EVENT.c.why.is_not(None))
        .order_by(EVENT.c.number)
    )
    return {
        str(subject).removeprefix("task:"): str(why)
        for subject, why, details in connection.execute(query)
        if details.get("to") == "returned"
    }


def _open_comments(connection: Connection, ids: list[str]) -> dict[str, int]:
    query = (
        select(LABEL_COMMENT.c.task, func.count())
        .where(LABEL_COMMENT.c.task.in_(ids), LABEL_COMMENT.c.resolved_at.is_(None))
        .group_by(LABEL_COMMENT.c.task)
    )
    return {str(name): int(number) for name, number in connection.execute(query)}
