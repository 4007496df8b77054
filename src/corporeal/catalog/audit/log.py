"""The audit log: who changed what, when and why, in a chain that shows any later change to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Text, cast, insert, select, update

from corporeal.catalog.database import CatalogError, check_text, json_value, note_write
from corporeal.catalog.tables import EVENT, HEAD

GENESIS = "0" * 64
_BLOCK = 5000
_HASHED = ("number", "at", "who", "what", "subject", "why", "details", "previous")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


@dataclass(frozen=True)
class Change:
    """One thing that was done: `what` to `subject` (kind:id) by `who`, and `why` if they said."""

    who: str
    what: str
    subject: str
    why: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Break:
    """A place where the log is not as it was written."""

    number: int
    reason: str


@dataclass(frozen=True)
class Head:
    """The end of the log. Noted down elsewhere, it shows a log that was written anew."""

    number: int
    hash: str


def record(connection: Connection, changes: Sequence[Change], *, at: str | None = None) -> int:
    """Append changes to the log inside a transaction; the number of the last event.

    The single row of HEAD is taken first, so that writers append one after the other.
    """
    if not changes:
        return 0
    number, previous = _take_head(connection)
    stamp = at or now()
    rows = []
    for change in changes:
        number += 1
        row = _row(change, number, stamp, previous)
        previous = row["hash"] = chain_hash(row)
        rows.append(row)
    for first in range(0, len(rows), _BLOCK):
        connection.execute(insert(EVENT), rows[first : first + _BLOCK])
    connection.execute(update(HEAD).where(HEAD.c.id == 1).values(number=number, hash=previous))
    note_write(connection, number - len(rows), number)
    return number


def verify(connection: Connection, *, noted: Mapping[Head, str] | None = None) -> Iterator[Break]:
    """Walk the whole log; every place that was changed, removed or added later.

    Whoever may write to the database can write the whole log anew. Against that stand the heads
    that were `noted` in other places, each with the words for where: the log must contain them.
    """
    expected, previous = 0, GENESIS
    missing = {head: where for head, where in (noted or {}).items() if head.number}
    for row in _rows(connection):
        expected += 1
        number = int(row["number"])
        if number != expected:
            yield Break(expected, f"event {expected} is missing; event {number} comes next")
            expected = number
        elif row["previous"] != previous:
            yield Break(number, f"event {number} does not follow the one before it")
        if not _is_intact(row):
            yield Break(number, f"event {number} was changed after it was written")
        previous = row["hash"]
        missing.pop(Head(number, previous), None)
    end = _read_head(connection)
    if end != Head(expected, previous):
        told = "nothing" if end is None else f"event {end.number}"
        yield Break(expected, f"the log ends with event {expected}, but its head says {told}")
    for head, where in sorted(missing.items(), key=lambda item: item[0].number):
        is_there = head.number <= expected
        told = "is not the one that was" if is_there else "is missing: it was"
        yield Break(head.number, f"event {head.number} {told} noted in {where}")


def head(connection: Connection) -> Head:
    """The end of the log as it is now."""
    found = _read_head(connection)
    if found is None:
        raise _no_log()
    return found


def _no_log() -> CatalogError:
    return CatalogError(
        "the catalogue has no audit log; expected one. Make the workspace with: corporeal init."
    )


def chain_hash(row: Mapping[str, Any]) -> str:
    """SHA-256 over an event and the hash of the one before."""
    said = _encode([row[name] for name in _HASHED])
    return hashlib.sha256(said.encode()).hexdigest()


def now() -> str:
    """The time as every table has it: ISO 8601 in UTC, to the microsecond."""
    return stamp_of(datetime.now(UTC))


def stamp_of(moment: datetime) -> str:
    """A moment as every table has it; raises CatalogError for one without a time zone."""
    if moment.tzinfo is None:
        raise CatalogError(
            f"time, got {moment}; expected one with its time zone. Say datetime.now(UTC)."
        )
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def events_of(connection: Connection, *subjects: str) -> Iterable[Mapping[str, Any]]:
    """What happened to some things, the oldest first."""
    return _events(connection, EVENT.c.subject.in_(subjects))


def events_of_kind(connection: Connection, kind: str) -> Iterable[Mapping[str, Any]]:
    """What happened to all things of a kind (subjects are kind:id), the oldest first."""
    return _events(connection, *_of_kind(kind))


def latest_events(
    connection: Connection, subject: str, what: Sequence[str], *, most: int = 1
) -> list[Mapping[str, Any]]:
    """The last events of some sorts, the newest first; a subject that ends in `:` is a kind."""
    about = _of_kind(subject[:-1]) if subject.endswith(":") else (EVENT.c.subject == subject,)
    return _events(connection, *about, EVENT.c.what.in_(what), newest=most)


def take_turn(connection: Connection) -> None:
    """Wait, inside a transaction, until nobody else appends to the log, which must be there."""
    query = select(HEAD.c.id).where(HEAD.c.id == 1).with_for_update()
    if connection.execute(query).first() is None:
        raise _no_log()


def _of_kind(kind: str) -> tuple[ColumnElement[bool], ...]:
    # Written as a range, for which both databases use the index of subjects.
    return EVENT.c.subject >= f"{kind}:", EVENT.c.subject < f"{kind};"


def _events(
    connection: Connection, *about: ColumnElement[bool], newest: int | None = None
) -> list[Mapping[str, Any]]:
    order = EVENT.c.number if newest is None else EVENT.c.number.desc()
    query = select(EVENT).where(*about).order_by(order).limit(newest)
    return [dict(row) for row in connection.execute(query).mappings()]


def _row(change: Change, number: int, stamp: str, previous: str) -> dict[str, Any]:
    where = f"event {change.what}"
    for text in (change.who, change.what, change.subject, change.why):
        check_text(text or "", where)
    return {
        "number": number,
        "at": stamp,
        "who": change.who,
        "what": change.what,
        "subject": change.subject,
        "why": change.why,
        # As it will be read again, or the hash would not match what was written.
        "details": json_value(change.details, where),
        "previous": previous,
    }


def _rows(connection: Connection) -> Iterator[dict[str, Any]]:
    """All events; `details` is text, because somebody may have made it something else than JSON."""
    columns = [each for each in EVENT.c if each.name != "details"]
    details = cast(EVENT.c.details, Text).label("details")
    query = select(*columns, details).order_by(EVENT.c.number)
    for row in connection.execute(query.execution_options(yield_per=_BLOCK)).mappings():
        yield dict(row)


def _is_intact(row: Mapping[str, Any]) -> bool:
    try:
        expected = chain_hash({**row, "details": json.loads(row["details"])})
    except (TypeError, ValueError, RecursionError):  # No JSON, or bytes where text was.
        return False
    return bool(expected == row["hash"])


def _read_head(connection: Connection) -> Head | None:
    found = connection.execute(select(HEAD.c.number, HEAD.c.hash).where(HEAD.c.id == 1)).first()
    return None if found is None else Head(int(found.number), str(found.hash))


def _take_head(connection: Connection) -> tuple[int, str]:
    take_turn(connection)
    end = head(connection)
    return end.number, end.hash
