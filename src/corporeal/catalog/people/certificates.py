"""Certificates: which tasks ask for one, who was given it, when it ends; phases of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from corporeal.catalog.audit import Change, now, record, stamp_of
from corporeal.catalog.database import CatalogError, check_text, json_value
from corporeal.catalog.episodes import DocumentRow, find_document, keep_document
from corporeal.catalog.people.certification import PHASES, Certification, TrainingPhase
from corporeal.catalog.people.operators import find_operator
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.tables import CERTIFICATE, CERTIFIED_TASK, OPERATOR, TRAINING
from corporeal.errors import UnknownNameError

_LONGEST_REASON = 500


@dataclass(frozen=True)
class CertifiedTask:
    """A task whose data counts only with a certificate, if it was recorded `since` or later."""

    task: str
    document: str
    since: str
    who: str
    at: str


@dataclass(frozen=True)
class TrainingStart:
    """A phase that somebody began: what is recorded from then on counts for it."""

    operator: str
    task: str
    phase: TrainingPhase
    document: str
    begun_at: str
    begun_by: str
    why: str | None


@dataclass(frozen=True)
class Certificate:
    """Who may collect data of a task; `why` where it was given against the evidence."""

    number: int
    operator: str
    task: str
    document: str
    valid_from: str
    valid_until: str
    given_at: str
    given_by: str
    why: str | None
    evidence: Mapping[str, Any]
    revoked_from: str | None = None
    revoked_at: str | None = None
    revoked_by: str | None = None
    revoked_why: str | None = None

    @property
    def ends(self) -> str:
        """When it ends, or ended: its last day, or when it was revoked from."""
        return min(self.valid_until, self.revoked_from or self.valid_until)

    def holds(self, stamp: str) -> bool:
        """Whether it covers a moment."""
        return self.valid_from <= stamp < self.ends


def certified_tasks(connection: Connection) -> dict[str, CertifiedTask]:
    """The tasks that ask for a certificate; none in a workspace that does not use them."""
    query = select(CERTIFIED_TASK).order_by(CERTIFIED_TASK.c.task)
    return {row.task: CertifiedTask(*row) for row in connection.execute(query)}


def require_certificates(
    connection: Connection, task: str, document: Certification, *, by: Actor,
    since: datetime | None = None,
) -> CertifiedTask:  # fmt: skip
    """From now on, or `since`, let data of a task count only with a certificate."""
    require(by, "judge")
    if not document.is_for(task):
        raise CatalogError(
            f"task, got {task[:80]!r}; expected one of {', '.join(document.tasks)}, for which "
            f"{document.reference} is."
        )
    rule = CertifiedTask(check_text(task, "task"), _keep(connection, document),
                         stamp_of(since or datetime.now(UTC)), by.name, now())  # fmt: skip
    connection.execute(delete(CERTIFIED_TASK).where(CERTIFIED_TASK.c.task == task))
    connection.execute(insert(CERTIFIED_TASK).values(**vars(rule)))
    details = {"document": document.reference, "since": rule.since}
    record(connection, [Change(by.name, "certificates asked for", f"task:{task}", None, details)])
    return rule


def stop_requiring(connection: Connection, task: str, *, why: str, by: Actor) -> None:
    """Let a task's data count without certificates again, inside a transaction."""
    require(by, "judge")
    rules = certified_tasks(connection)
    if task not in rules:
        raise UnknownNameError("task with certificates", task[:80], list(rules) or ["none"])
    reason = check_reason(why)
    connection.execute(delete(CERTIFIED_TASK).where(CERTIFIED_TASK.c.task == task))
    record(connection, [Change(by.name, "certificates not asked for", f"task:{task}", reason)])


def begin_phase(
    connection: Connection, operator: str, task: str, phase: TrainingPhase,
    document: Certification, *, by: Actor, why: str | None = None, now: datetime | None = None,
) -> TrainingStart:  # fmt: skip
    """Declare that a phase begins: evidence is counted from `now` on, not picked afterwards."""
    require(by, "judge")
    find_operator(connection, operator)
    if phase not in PHASES:
        raise UnknownNameError("phase", str(phase)[:80], PHASES)
    start = TrainingStart(operator, check_text(task, "task"), phase, _keep(connection, document),
                          stamp_of(now or datetime.now(UTC)), by.name,
                          None if why is None else check_reason(why))  # fmt: skip
    connection.execute(insert(TRAINING).values(**vars(start)))
    details = {"task": task, "phase": phase, "document": document.reference}
    change = Change(by.name, "training phase begun", f"operator:{operator}", start.why, details)
    record(connection, [change])
    return start


def phases_of(connection: Connection, operator: str, task: str) -> list[TrainingStart]:
    """Every phase that was begun, the oldest first; a phase may be begun again."""
    columns = (TRAINING.c[field.name] for field in fields(TrainingStart))
    query = select(*columns).where(TRAINING.c.operator == operator, TRAINING.c.task == task)
    return [TrainingStart(*row) for row in connection.execute(query.order_by(TRAINING.c.number))]


def trained_tasks(connection: Connection, operator: str) -> list[str]:
    """The tasks that somebody trained for or has certificates of."""
    names: set[str] = set()
    for table in (TRAINING, CERTIFICATE):
        query = select(table.c.task).where(table.c.operator == operator).distinct()
        names.update(connection.execute(query).scalars())
    return sorted(names)


def list_certificates(
    connection: Connection, *, operator: str | None = None, task: str | None = None
) -> list[Certificate]:
    """Certificates, also those that have ended, the newest last."""
    query = select(CERTIFICATE).order_by(CERTIFICATE.c.number)
    if operator is not None:
        query = query.where(CERTIFICATE.c.operator == operator)
    if task is not None:
        query = query.where(CERTIFICATE.c.task == task)
    return [Certificate(*row) for row in connection.execute(query)]


def give_certificate(
    connection: Connection, operator: str, task: str, document: Certification, *, by: Actor,
    evidence: Mapping[str, Any], valid_from: datetime | None = None, why: str | None = None,
) -> Certificate:  # fmt: skip
    """Write a certificate down, inside a transaction; whoever calls it has held the evidence.

    `why` says why it is given although the evidence does not suffice.
    """
    require(by, "judge")
    if find_operator(connection, operator).left_at is not None:
        raise CatalogError(f"operator {operator!r} has left; expected one who collects.")
    begin = valid_from or datetime.now(UTC)
    values = {
        "operator": operator, "task": check_text(task, "task"),
        "document": _keep(connection, document), "valid_from": stamp_of(begin),
        "valid_until": stamp_of(begin + timedelta(days=document.valid_days)), "given_at": now(),
        "given_by": by.name, "why": None if why is None else check_reason(why),
        "evidence": json_value(dict(evidence), "evidence"),
    }  # fmt: skip
    number = connection.execute(insert(CERTIFICATE).values(**values)).inserted_primary_key
    details = {name: values[name] for name in ("task", "valid_from", "valid_until")}
    details |= {"document": document.reference, "passed": why is None}
    record(connection, [
        Change(by.name, "certificate given", f"operator:{operator}", why, details)
    ])  # fmt: skip
    assert number is not None
    query = select(CERTIFICATE).where(CERTIFICATE.c.number == number[0])
    return Certificate(*connection.execute(query).one())


def revoke_certificates(
    connection: Connection, operator: str, task: str, *, by: Actor, why: str,
    since: datetime | None = None,
) -> int:  # fmt: skip
    """End the certificates of a task, from now on or from an earlier moment; how many there were.

    With an earlier moment, data recorded since then goes back to the practice partition.
    """
    require(by, "judge")
    reason = check_reason(why)
    begin = stamp_of(since or datetime.now(UTC))
    own = (CERTIFICATE.c.operator == operator, CERTIFICATE.c.task == task,
           CERTIFICATE.c.revoked_at.is_(None), CERTIFICATE.c.valid_until > begin)  # fmt: skip
    ended = connection.execute(
        update(CERTIFICATE).where(*own).values(
            revoked_from=begin, revoked_at=now(), revoked_by=by.name, revoked_why=reason
        )
    ).rowcount  # fmt: skip
    if not ended:
        raise CatalogError(
            f"certificate of {operator[:80]!r} for {task[:80]!r}, got none that holds; expected "
            "one. List them with: corporeal operator show."
        )
    details = {"task": task, "since": begin}
    record(connection, [
        Change(by.name, "certificate revoked", f"operator:{operator}", reason, details)
    ])  # fmt: skip
    return ended


def find_certification(connection: Connection, digest: str) -> Certification:
    """The document by its hash, as it was kept."""
    row = find_document(connection, digest)
    if row is None:
        raise CatalogError(f"certification {digest[:19]} is not in the catalogue. Name it again.")
    return Certification.parse(row.text, source=f"{row.name}@{row.version}", suffix=".json")


def check_reason(why: str) -> str:
    """A reason in words; raises CatalogError for none, or for a novel."""
    reason = why.strip()
    if not reason or len(reason) > _LONGEST_REASON:
        raise CatalogError(f"reason, got {len(reason)} letters; expected 1 to {_LONGEST_REASON}.")
    return check_text(reason, "reason")


def operators_certified(connection: Connection, task: str, at: str) -> list[str]:
    """Who may collect data of a task at a moment, by name, without those who have left."""
    query = (
        select(CERTIFICATE)
        .join(OPERATOR, OPERATOR.c.name == CERTIFICATE.c.operator)
        .where(CERTIFICATE.c.task == task, OPERATOR.c.left_at.is_(None))
    )
    rows = (Certificate(*row) for row in connection.execute(query))
    return sorted({each.operator for each in rows if each.holds(at)})


def _keep(connection: Connection, document: Certification) -> str:
    """The document, kept under its hash."""
    kept = DocumentRow(document.hash, document.kind, document.name, document.version,
                       document.canonical())  # fmt: skip
    keep_document(connection, kept)
    return kept.hash
