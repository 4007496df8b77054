"""What people say about the labels of an episode, and what happened to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from corporeal.catalog.audit import Change, events_of, latest_events, now, record
from corporeal.catalog.database import CatalogError, check_text
from corporeal.catalog.episodes import find_episode, parts_of
from corporeal.catalog.permission import Actor, PermissionDeniedError, may, require
from corporeal.catalog.tables import LABEL_COMMENT, LABEL_EDIT
from corporeal.labelling.labels.versions import label_history
from corporeal.labelling.tasks.label_task import find_task, find_tasks, may_see

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
    if task_id is not None and find_task(connection, task_id).episode != episode:
        raise CatalogError(f"task, got {task_id[:80]!r}; expected one of this episode.")
    made: dict[str, Any] = {
        "episode": episode, "task": task_id, "time_ns": time_ns, "who": by.name, "at": now(),
        "text": said, "resolved_at": None,
    }  # fmt: skip
    number = connection.execute(
        insert(LABEL_COMMENT).values(**made).returning(LABEL_COMMENT.c.number)
    ).scalar_one()
    details = {"comment": int(number), "time_ns": time_ns, "task": task_id}
    record(connection, [Change(by.name, "comment", f"episode:{episode}", None, details)])
    return LabelComment(number=int(number), **made)


def note_episodes(
    connection: Connection, episodes: Sequence[str], text: str, *, by: Actor, mark: str
) -> None:
    """Put the same note on episodes with a mark, inside a transaction; it is undone with it."""
    numbers = [add_comment(connection, name, text, by=by).number for name in episodes]
    change = Change(by.name, "mark notes", f"mark:{mark}", details={"comments": numbers})
    record(connection, [change])


def take_back_notes(connection: Connection, mark: str, *, by: Actor) -> int:
    """Remove the notes that came with a mark, inside a transaction; the log keeps them."""
    events = latest_events(connection, f"mark:{mark}", ("mark notes", "notes undone"))
    if not events or events[0]["what"] == "notes undone":
        return 0
    numbers = events[0]["details"]["comments"]
    for part in parts_of(numbers):
        connection.execute(delete(LABEL_COMMENT).where(LABEL_COMMENT.c.number.in_(part)))
    change = Change(by.name, "notes undone", f"mark:{mark}", details={"comments": numbers})
    record(connection, [change])
    return len(numbers)


def comments_about(connection: Connection, episode: str, *, by: Actor) -> list[LabelComment]:
    """What was said about an episode, the oldest first.

    Remarks on one task of a pair are not shown to whoever may not see that task yet.
    """
    query = select(LABEL_COMMENT).where(LABEL_COMMENT.c.episode == episode)
    rows = connection.execute(query.order_by(LABEL_COMMENT.c.number)).mappings()
    comments = [LabelComment(**row) for row in rows]
    shown = {
        name: may_see(connection, find_task(connection, name), by)
        for name in {each.task for each in comments if each.task is not None}
    }
    return [
        each for each in comments if each.task is None or each.who == by.name or shown[each.task]
    ]


def count_comments(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    """How many remarks on these episodes nobody has settled, by id; none on single tasks."""
    counts: dict[str, int] = {}
    for part in parts_of(ids):
        query = select(LABEL_COMMENT.c.episode, func.count()).where(
            LABEL_COMMENT.c.episode.in_(part),
            LABEL_COMMENT.c.resolved_at.is_(None),
            LABEL_COMMENT.c.task.is_(None),
        )
        rows = connection.execute(query.group_by(LABEL_COMMENT.c.episode))
        counts |= {name: int(count) for name, count in rows}
    return counts


def resolve_comment(connection: Connection, number: int, *, by: Actor) -> LabelComment:
    """Mark a remark as settled, inside a transaction: whoever made it, or a lead."""
    require(by, "annotate")
    query = select(LABEL_COMMENT).where(LABEL_COMMENT.c.number == number)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise CatalogError(f"comment, got {number}; expected the number of one that exists.")
    comment = LabelComment(**row)
    if comment.who != by.name and not may(by, "judge"):
        raise PermissionDeniedError(
            f"comment {number} is by {comment.who}, got {by.name!r}; expected them or a lead."
        )
    if comment.resolved_at is not None:
        return comment
    stamp = now()
    changed = update(LABEL_COMMENT).where(LABEL_COMMENT.c.number == number)
    connection.execute(changed.values(resolved_at=stamp))
    subject, details = f"episode:{comment.episode}", {"comment": number}
    record(connection, [Change(by.name, "comment resolved", subject, None, details)], at=stamp)
    return replace(comment, resolved_at=stamp)


_LABELLED = ("labelled", "labels stale", "comment resolved")


@dataclass(frozen=True)
class Happening:
    """One thing that was done to labels: `what` in words, `why` if somebody said."""

    at: str
    who: str
    what: str
    why: str | None = None
    task: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def history_of(connection: Connection, episode: str) -> list[Happening]:
    """All that happened to the labels of an episode, the oldest first.

    Edits of one person in one task are one line, with how many there were and of which kinds.
    """
    held = find_tasks(connection, episode=episode)
    found = [
        *_versions(connection, episode),
        *(line for each in held for line in _changes(connection, each.id)),
        *(line for each in held for line in _edits(connection, each.id)),
    ]
    return sorted(found, key=lambda each: each.at)


def _versions(connection: Connection, episode: str) -> Iterator[Happening]:
    taxonomy = {each.number: each.taxonomy for each in label_history(connection, episode)}
    for event in events_of(connection, f"episode:{episode}"):
        if event["what"] not in _LABELLED:
            continue
        details = dict(event["details"])
        number = details.get("number")
        what = {
            "labelled": f"labels {number} in force",
            "labels stale": f"labels {number} do not hold any more",
            "comment resolved": "comment resolved",
        }[event["what"]]
        if number in taxonomy:
            details["taxonomy"] = taxonomy[number]
        yield Happening(event["at"], event["who"], what, event["why"], details.get("task"), details)


def _changes(connection: Connection, task_id: str) -> Iterator[Happening]:
    for event in events_of(connection, f"task:{task_id}"):
        details = dict(event["details"])
        before = details.get("from")
        what = f"task {before} to {details['to']}" if before else f"task made, {details['to']}"
        yield Happening(event["at"], event["who"], what, event["why"], task_id, details)


def _edits(connection: Connection, task_id: str) -> Iterator[Happening]:
    count = func.count()
    query = (
        select(LABEL_EDIT.c.who, LABEL_EDIT.c.action, count.label("edits"),
               func.max(LABEL_EDIT.c.at).label("at"))
        .where(LABEL_EDIT.c.task == task_id)
        .group_by(LABEL_EDIT.c.who, LABEL_EDIT.c.action)
        .order_by(LABEL_EDIT.c.who, LABEL_EDIT.c.action)
    )  # fmt: skip
    people: dict[str, dict[str, int]] = {}
    last: dict[str, str] = {}
    for row in connection.execute(query):
        people.setdefault(row.who, {})[row.action] = int(row.edits)
        last[row.who] = max(last.get(row.who, ""), row.at)
    for who, actions in people.items():
        total = sum(actions.values())
        what = f"{total} edit{'s' * (total > 1)}"
        yield Happening(last[who], who, what, None, task_id, {"actions": actions})
