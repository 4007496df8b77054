"""What stands for the audit log outside of it: heads noted in the store, and the rows it explains.

Whoever can write the database can write a whole log that holds together. They cannot take back
what was noted elsewhere, and a log written anew must still explain every row.
"""

from __future__ import annotations

import json
import logging
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from corporeal.catalog.audit.log import Break, Head, head
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.store.store import Store, StoreError, UnreachableStoreError, verify_store
from corporeal.catalog.tables import ACCOUNT, EPISODE, EVENT

NOTE_EVERY = 1000
"""After so many events the head of the log is noted in the store."""
_FORMAT = "corporeal-audit-head"
_HELD_FOR = timedelta(days=365)
_LONGEST = 1000
_PLAIN = re.compile(r"[^A-Za-z0-9]+")
_BLOCK = 5000
_EPISODES, _ACCOUNTS = "episode:", "account:"
_log = logging.getLogger("corporeal.catalog")


def notes_folder(name: str) -> str:
    """Where in a store the heads of a workspace's log are; several workspaces may share a store."""
    return f"audit/{_PLAIN.sub('_', name)[:40]}-{sha256(name.encode()).hexdigest()[:8]}"


def note_head(notes: Store, end: Head) -> None:
    """Write a head into the store, held against deletion for a year where the store can."""
    if not end.number:
        return
    text = json.dumps({"format": _FORMAT, "number": end.number, "hash": end.hash})
    with tempfile.TemporaryDirectory(prefix="corporeal-") as folder:
        path = Path(folder) / "head.json"
        path.write_text(text)
        try:
            notes.put(path, retain_until=datetime.now(UTC) + _HELD_FOR)
        except UnreachableStoreError:
            raise
        except StoreError:
            notes.put(path)


def note_end(database: Database, notes: Store) -> None:
    """Note the end of the log as it is now.

    A store that is away is a warning: what was written before must not look undone.
    """
    try:
        with database.read() as connection:
            end = head(connection)
        note_head(notes, end)
    except (CatalogError, OSError) as error:
        _log.warning("the head of the audit log was not noted in the store: %s", error)


def note_heads(database: Database, notes: Store) -> None:
    """From now on note the head in the store after every NOTE_EVERY events."""

    def note(before: int, last: int) -> None:
        if before // NOTE_EVERY != last // NOTE_EVERY:
            note_end(database, notes)

    database.on_events = note


def noted_heads(notes: Store) -> tuple[dict[Head, str], list[Break]]:
    """Every head that was noted in the store, and the notes that are not what they were."""
    heads, lost = {}, []
    for digest in notes.digests():
        damage = next(verify_store(notes, [digest]), None)
        if damage is not None:
            lost.append(Break(0, f"the note {digest} in the store {damage.reason}"))
            continue
        text = notes.read(digest, 0, min(notes.has(digest) or 0, _LONGEST))
        found = _parse(text)
        if found is None:
            lost.append(Break(0, f"{digest} in {notes.url} is no head of a log"))
        else:
            heads[found] = "the store"
    return heads, lost


def parse_head(text: str) -> Head:
    """NUMBER:HASH as somebody noted it; CatalogError for anything else."""
    number, _, digest = text.partition(":")
    if not number.isdigit() or len(number) > 18 or not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise CatalogError(
            f"--expect, got {text[:90]!r}; expected NUMBER:HASH, as audit verify shows them."
        )
    return Head(int(number), digest)


def unexplained_rows(connection: Connection) -> Iterator[Break]:
    """Rows that are not as the events leave them: states and files of episodes, and accounts."""
    if not connection.execute(select(func.count()).select_from(EVENT)).scalar():
        for table, what in ((EPISODE, "episodes"), (ACCOUNT, "accounts")):
            count = connection.execute(select(func.count()).select_from(table)).scalar()
            if count:
                yield Break(0, f"the log is empty, but the catalogue has {count} {what}")
        return
    yield from _unexplained(
        "episode", _replayed(connection, _EPISODES, _follow_episode), _episodes(connection)
    )
    yield from _unexplained(
        "account", _replayed(connection, _ACCOUNTS, _follow_account), _accounts(connection)
    )


def _parse(text: bytes) -> Head | None:
    try:
        values = json.loads(text)
        if values["format"] != _FORMAT:
            return None
        return Head(int(values["number"]), str(values["hash"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


Facts = dict[str, Any]


def _replayed(connection: Connection, kind: str, follow: Any) -> Iterator[tuple[str, int, Facts]]:
    """What the events leave of each thing of a kind, with the last of them, by name."""
    columns = EVENT.c.subject, EVENT.c.number, EVENT.c.what, EVENT.c.details
    query = select(*columns).where(EVENT.c.subject >= kind, EVENT.c.subject < kind[:-1] + ";")
    rows = connection.execute(query.order_by(EVENT.c.subject, EVENT.c.number))
    for subject, events in groupby(rows.yield_per(_BLOCK), key=lambda row: row.subject):
        facts: Facts = {}
        number = 0
        for event in events:
            details = event.details if isinstance(event.details, Mapping) else {}
            if follow(facts, event.what, details):
                number = int(event.number)
        if facts:
            yield str(subject)[len(kind) :], number, facts


def _follow_episode(facts: Facts, what: str, details: Mapping[str, Any]) -> bool:
    if what == "ingest":
        facts.update({name: details[name] for name in ("state", "hash") if name in details})
    elif what == "state":
        facts["state"] = details.get("to")
    return what in ("ingest", "state")


def _follow_account(facts: Facts, what: str, details: Mapping[str, Any]) -> bool:
    changes: dict[str, Facts] = {
        "account added": {"role": details.get("role"), "disabled": False},
        "account role": {"role": details.get("to")},
        "account disabled": {"disabled": True},
        "account enabled": {"disabled": False},
    }
    facts.update(changes.get(what, {}))
    return what in changes


def _episodes(connection: Connection) -> Iterator[tuple[str, Facts]]:
    query = select(EPISODE.c.id, EPISODE.c.state, EPISODE.c.hash).order_by(EPISODE.c.id)
    for row in connection.execute(query).yield_per(_BLOCK):
        yield str(row.id), {"state": row.state, "hash": row.hash}


def _accounts(connection: Connection) -> Iterator[tuple[str, Facts]]:
    query = select(ACCOUNT.c.name, ACCOUNT.c.role, ACCOUNT.c.disabled).order_by(ACCOUNT.c.name)
    for row in connection.execute(query):
        yield str(row.name), {"role": row.role, "disabled": bool(row.disabled)}


def _unexplained(
    kind: str, replayed: Iterable[tuple[str, int, Facts]], rows: Iterable[tuple[str, Facts]]
) -> Iterator[Break]:
    """Both are in the order of their names, and walked side by side."""
    events, left = iter(replayed), iter(rows)
    event, row = next(events, None), next(left, None)
    while event is not None or row is not None:
        if row is None or (event is not None and event[0] < row[0]):
            assert event is not None
            yield Break(event[1], f"{kind} {event[0]} is in the log, but not in the catalogue")
            event = next(events, None)
        elif event is None or row[0] < event[0]:
            yield Break(0, f"{kind} {row[0]} is in the catalogue, but no event tells of it")
            row = next(left, None)
        else:
            for name, value in event[2].items():
                if row[1][name] != value:
                    told = f"the catalogue says {row[1][name]}, event {event[1]} and before {value}"
                    yield Break(event[1], f"{kind} {row[0]}: {name}: {told}")
            event, row = next(events, None), next(left, None)
