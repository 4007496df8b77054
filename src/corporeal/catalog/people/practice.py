"""The practice partition: episodes of people without a certificate, which no release takes.

An episode belongs there by what was so when it was recorded: a certificate given later, or one
that has ended since, changes nothing about it. Only what is said of the past does, such as a
certificate revoked from an earlier day; then the episodes concerned are placed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, insert, or_, select

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import parts_of
from corporeal.catalog.people.certificates import (
    Certificate,
    CertifiedTask,
    certified_tasks,
    list_certificates,
)
from corporeal.catalog.tables import EPISODE, PRACTICE
from corporeal.units import SECOND_NS
from corporeal.words import counted, some_of

PracticeReason = Literal[
    "no task", "no operator", "no certificate", "certificate expired", "certificate revoked"
]
"""Why an episode is practice: the words that a query asks for, as in practice = 'no operator'."""
_FIELDS = (EPISODE.c.id, EPISODE.c.task, EPISODE.c.operator, EPISODE.c.recorded_ns,
           EPISODE.c.ingested_at, EPISODE.c.file)  # fmt: skip


def place_episodes(connection: Connection, ids: Sequence[str], *, who: str) -> dict[str, str]:
    """Put new episodes where they belong, inside a transaction; why those in practice are there."""
    rules = certified_tasks(connection)
    if not rules or not ids:
        return {}
    return _place(connection, _rows(connection, ids), rules, who=who, why=None)


def replace_episodes(
    connection: Connection, *, who: str, why: str, task: str, operator: str | None = None
) -> dict[str, str]:
    """Place the episodes of a task anew, after something was said of the past; as above."""
    concerned = or_(EPISODE.c.task == task, EPISODE.c.task.is_(None))
    query = select(*_FIELDS).where(concerned, EPISODE.c.state != "erased")
    if operator is not None:
        query = query.where(EPISODE.c.operator == operator)
    rows = connection.execute(query).all()
    return _place(connection, rows, certified_tasks(connection), who=who, why=why)


def practice_of(connection: Connection, ids: Iterable[str]) -> dict[str, PracticeReason]:
    """Which of these episodes are practice, and why."""
    reasons: dict[str, PracticeReason] = {}
    for part in parts_of(list(ids)):
        query = select(PRACTICE.c.episode, PRACTICE.c.why).where(PRACTICE.c.episode.in_(part))
        reasons |= {row.episode: row.why for row in connection.execute(query)}
    return reasons


def refuse_practice(connection: Connection, ids: Iterable[str], *, what: str) -> None:
    """Raise CatalogError where something is to take episodes of the practice partition along."""
    reasons = practice_of(connection, ids)
    if not reasons:
        return
    kinds = sorted(set(reasons.values()))
    raise CatalogError(
        f"{what}, got {counted(len(reasons), 'episode')} of the practice partition "
        f"({some_of(kinds)}), {min(reasons)} among them; expected none. Find them with: corporeal "
        "ls 'practice is known', and make a new version of the release without them."
    )


def reason_for(
    task: str | None, operator: str | None, stamp: str,
    rules: Mapping[str, CertifiedTask], certificates: Iterable[Certificate],
) -> PracticeReason | None:  # fmt: skip
    """Why an episode recorded at a moment is practice; None where its data counts."""
    if task is None:
        # Or leaving the task out would be the way round every certificate.
        return "no task" if rules and stamp >= min(each.since for each in rules.values()) else None
    rule = rules.get(task)
    if rule is None or stamp < rule.since:
        return None
    if operator is None:
        return "no operator"
    own = [each for each in certificates if each.operator == operator and each.task == task]
    if any(each.holds(stamp) for each in own):
        return None
    begun = [each for each in own if each.valid_from <= stamp]
    if not begun:
        return "no certificate"
    last = max(begun, key=lambda each: each.ends)
    return "certificate revoked" if last.ends != last.valid_until else "certificate expired"


def _place(
    connection: Connection, rows: Sequence[Any],
    rules: Mapping[str, CertifiedTask], *, who: str, why: str | None,
) -> dict[str, str]:  # fmt: skip
    """Every change is an event of its episode; what stays where it is leaves none."""
    certificates = {task: list_certificates(connection, task=task) for task in rules}
    before = practice_of(connection, [row.id for row in rows])
    after: dict[str, PracticeReason] = {}
    for row in rows:
        known = certificates.get(row.task, [])
        reason = reason_for(row.task, row.operator, _recorded(row), rules, known)
        if reason is not None:
            after[row.id] = reason
    changed = [row.id for row in rows if before.get(row.id) != after.get(row.id)]
    stamp = now()
    for part in parts_of(changed):
        connection.execute(delete(PRACTICE).where(PRACTICE.c.episode.in_(part)))
        fresh = [{"episode": name, "why": after[name], "at": stamp}
                 for name in part if name in after]  # fmt: skip
        if fresh:
            connection.execute(insert(PRACTICE), fresh)
    record(connection, [
        Change(who, "practice" if name in after else "no practice", f"episode:{name}", why,
               {"before": before.get(name), "after": after.get(name)})
        for name in changed
    ], at=stamp)  # fmt: skip
    return dict(after)


def _rows(connection: Connection, ids: Sequence[str]) -> list[Any]:
    rows: list[Any] = []
    for part in parts_of(list(ids)):
        rows += connection.execute(select(*_FIELDS).where(EPISODE.c.id.in_(part))).all()
    return rows


def _recorded(row: Row[Any]) -> str:
    """When an episode was recorded, else when it came in, as certificates have it."""
    if row.recorded_ns is None:
        return str(row.ingested_at)
    try:
        moment = datetime.fromtimestamp(row.recorded_ns / SECOND_NS, UTC)
    except (OverflowError, OSError, ValueError):
        return str(row.ingested_at)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
