"""What people say to each other about an episode, at a moment of it or in general."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError, check_text
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor, PermissionDeniedError, may, require
from corporeal.catalog.tables import LABEL_COMMENT
from corporeal.labelling.tasks.label_task import may_see, task

_LONGEST = 4000


@dataclass(frozen=True)
class LabelComment:
    """A remark; `time_ns` is a moment of the episode, None for all of it."""

    number: int
    episode: str
    task: str | None
    time_ns: int | None
    who: str
    at: str
    text: str
    resolved_at: str | None


def add_comment(
    connection: Connection,
    episode: str,
    text: str,
    *,
    by: Actor,
    task_id: str | None = None,
    time_ns: int | None = None,
) -> LabelComment:
    """Say something about an episode, inside a transaction."""
    require(by, "annotate")
    find_episode(connection, episode)
    said = check_text(text.strip(), "comment")
    if not 0 < len(said) <= _LONGEST:
        raise CatalogError(f"comment, got {len(said)} letters; expected 1 to {_LONGEST}.")
    if time_ns is not None and abs(time_ns) > 2**53:
        raise CatalogError(f"time of a comment, got {time_ns}; expected one in the episode.")
    if task_id is not None and task(connection, task_id).episode != episode:
        raise CatalogError(f"task, got {task_id[:80]!r}; expected one of this episode.")
    made = {"episode": episode, "task": task_id, "time_ns": time_ns, "who": by.name, "at": now(),
            "text": said, "resolved_at": None}  # fmt: skip
    number = connection.execute(
        insert(LABEL_COMMENT).values(**made).returning(LABEL_COMMENT.c.number)
    ).scalar_one()
    return _comment({"number": int(number), **made})


def comments_about(connection: Connection, episode: str, *, by: Actor) -> list[LabelComment]:
    """What was said about an episode, the oldest first.

    Remarks on one task of a pair are not shown to whoever may not see that task yet.
    """
    query = select(LABEL_COMMENT).where(LABEL_COMMENT.c.episode == episode)
    rows = connection.execute(query.order_by(LABEL_COMMENT.c.number)).mappings()
    found = [_comment(dict(row)) for row in rows]
    shown = {
        name: may_see(connection, task(connection, name), by)
        for name in {each.task for each in found if each.task is not None}
    }
    return [each for each in found if each.task is None or each.who == by.name or shown[each.task]]


def resolve_comment(connection: Connection, number: int, *, by: Actor) -> LabelComment:
    """Mark a remark as settled, inside a transaction: whoever made it, or a lead."""
    require(by, "annotate")
    query = select(LABEL_COMMENT).where(LABEL_COMMENT.c.number == number)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise CatalogError(f"comment, got {number}; expected the number of one that exists.")
    held = _comment(dict(row))
    if held.who != by.name and not may(by, "judge"):
        raise PermissionDeniedError(
            f"comment {number} is by {held.who}, got {by.name!r}; expected them or a lead."
        )
    if held.resolved_at is not None:
        return held
    stamp = now()
    changed = update(LABEL_COMMENT).where(LABEL_COMMENT.c.number == number)
    connection.execute(changed.values(resolved_at=stamp))
    subject, details = f"episode:{held.episode}", {"comment": number}
    record(connection, [Change(by.name, "comment resolved", subject, None, details)], at=stamp)
    return _comment({**dict(row), "resolved_at": stamp})


def _comment(row: dict[str, Any]) -> LabelComment:
    return LabelComment(**row)
