"""Annotators show on gold labels that they understand a taxonomy before they work with it."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.tables import QUALIFICATION
from corporeal.labelling.agreement.comparison import (
    Agreement,
    AgreementSummary,
    compare,
    summarise,
)
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.tasks.creation import insert_tasks, new_row
from corporeal.labelling.tasks.label_task import LabelTask, change_state, find_tasks, stamps_of
from corporeal.labelling.taxonomy import Taxonomy, kept_taxonomy

PER_ATTEMPT = 3
"""Gold episodes that one attempt takes, where there are so many."""


@dataclass(frozen=True)
class Qualification:
    """One measurement of an annotator against gold labels; `figures` are those of a Summary."""

    number: int
    account: str
    taxonomy: str
    passed: bool
    at: str
    figures: Mapping[str, Any]


def is_qualified(connection: Connection, name: str, taxonomy: str) -> bool:
    """Whether an account has passed for the taxonomy with this hash."""
    return any(each.passed for each in qualifications(connection, account=name, taxonomy=taxonomy))


def qualified_for(connection: Connection, name: str) -> set[str]:
    """The hashes of the taxonomies for which an account has passed."""
    return {each.taxonomy for each in qualifications(connection, account=name) if each.passed}


def carry_qualifications(connection: Connection, before: str, after: str, *, by: Actor) -> int:
    """Let who passed for one taxonomy count for another that means the same; how many did."""
    there = {each.account for each in qualifications(connection, taxonomy=after)}
    passed = {each.account for each in qualifications(connection, taxonomy=before) if each.passed}
    fresh, stamp = sorted(passed - there), now()
    for name in fresh:
        figures = {"carried_from": before}
        connection.execute(
            insert(QUALIFICATION).values(
                account=name, taxonomy=after, passed=True, at=stamp, figures=figures
            )
        )
    details = {"taxonomy": after, "passed": True, "carried_from": before}
    record(connection, [Change(by.name, "qualification", f"account:{name}", None, details)
                        for name in fresh])  # fmt: skip
    return len(fresh)


def qualifications(
    connection: Connection, *, account: str | None = None, taxonomy: str | None = None
) -> list[Qualification]:
    """Every measurement, the newest first."""
    query = select(QUALIFICATION).order_by(QUALIFICATION.c.number.desc())
    if account is not None:
        query = query.where(QUALIFICATION.c.account == account)
    if taxonomy is not None:
        query = query.where(QUALIFICATION.c.taxonomy == taxonomy)
    return [Qualification(**row) for row in connection.execute(query).mappings()]


def gold_tasks(connection: Connection, queue: str) -> list[LabelTask]:
    """The gold of a queue; none when it is a queue of ordinary work."""
    done = find_tasks(connection, queue=queue, kind="qualify", state="done")
    return [each for each in done if each.settings.get("is_gold")]


def begin_attempt(
    connection: Connection, queue: str, *, by: Actor, size: int = PER_ATTEMPT
) -> list[LabelTask]:
    """Tasks for somebody who wants to qualify, inside a transaction; none when they need none.

    They begin without proposals, on gold episodes that this person has not seen yet. Who has seen
    all of them has to wait for more, since gold that was seen measures memory.
    """
    require(by, "annotate")
    gold = gold_tasks(connection, queue)
    if not gold or is_qualified(connection, by.name, gold[0].taxonomy):
        return []
    mine = find_tasks(connection, queue=queue, kind="qualify", assigned_to=by.name)
    if any(each.state != "done" for each in mine):
        return []
    seen = {each.episode for each in mine}
    # Another order for everybody, so that neighbours cannot copy from each other.
    fresh = sorted(
        (each for each in gold if each.episode not in seen),
        key=lambda each: hashlib.sha256(f"{by.name}/{each.episode}".encode()).hexdigest(),
    )
    attempt = uuid.uuid4().hex
    rows = [_row(each, attempt, by) for each in fresh[:size]]
    return insert_tasks(connection, rows, by)


def measure(connection: Connection, task: LabelTask, *, by: Actor) -> Qualification | None:
    """Compare an attempt with the gold once its last task is submitted, inside a transaction."""
    name = task.assigned_to or by.name
    mine = [
        each
        for each in find_tasks(connection, queue=task.queue, kind="qualify", assigned_to=name)
        if each.settings.get("attempt") == task.settings.get("attempt")
    ]
    if any(each.state != "submitted" for each in mine):
        return None
    taxonomy = kept_taxonomy(connection, task.taxonomy)
    agreements = [_against_gold(connection, each, taxonomy) for each in mine]
    summary = summarise(agreements, tolerance_frames=taxonomy.tolerance_frames)
    made = _record(connection, task, mine, summary, by)
    why = "qualified" if made.passed else f"not qualified: {', '.join(summary.failed)}"
    for each in mine:
        change_state(connection, each, "done", by=by, why=why)
    return made


def _against_gold(connection: Connection, task: LabelTask, taxonomy: Taxonomy) -> Agreement:
    gold = Annotation.model_validate(task.hidden["gold"]["content"])
    return compare(gold, task.annotation, taxonomy, stamps_of(connection, task))


def _record(
    connection: Connection,
    task: LabelTask,
    mine: Sequence[LabelTask],
    summary: AgreementSummary,
    by: Actor,
) -> Qualification:
    figures = summary.to_json() | {"tasks": [each.id for each in mine]}
    name, stamp = task.assigned_to or by.name, now()
    made = connection.execute(
        insert(QUALIFICATION)
        .values(account=name, taxonomy=task.taxonomy, passed=summary.is_good, at=stamp,
                figures=figures)
        .returning(QUALIFICATION.c.number)
    )  # fmt: skip
    number = int(made.scalar_one())
    details = {"taxonomy": task.taxonomy, "passed": summary.is_good,
               "failed": list(summary.failed)}  # fmt: skip
    record(connection, [Change(by.name, "qualification", f"account:{name}", None, details)])
    return Qualification(number, name, task.taxonomy, summary.is_good, stamp, figures)


def _row(gold: LabelTask, attempt: str, by: Actor) -> dict[str, Any]:
    settings = {**gold.settings, **gold.hidden, "attempt": attempt}
    settings.pop("is_gold", None)
    return new_row({
        "episode": gold.episode, "kind": "qualify", "queue": gold.queue, "taxonomy": gold.taxonomy,
        "assigned_to": by.name, "start": dict(gold.start), "settings": settings,
        "created_by": by.name,
    })  # fmt: skip
