"""What happened to the labels of an episode: who, when and why, from every table that knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select

from corporeal.catalog.audit import events_of
from corporeal.catalog.tables import LABEL_EDIT
from corporeal.labelling.labels.versions import label_history
from corporeal.labelling.tasks.label_task import tasks

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
    held = tasks(connection, episode=episode)
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
