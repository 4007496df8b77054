"""What the catalogue holds of episodes: put in, looked up, moved from state to state."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, Table, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.database import CatalogError, check_text, json_value
from corporeal.catalog.episodes.reading import HistoryEdge, parts_of, states_of, unknown_episode
from corporeal.catalog.episodes.rows import DocumentRow, EpisodeEntry, State, check_change
from corporeal.catalog.tables import (
    ASSESSMENT,
    DECISION,
    DOCUMENT,
    EDGE,
    EPISODE,
    FINDING,
    GOVERNS,
    NOT_ASSESSED,
    SCORE,
    STREAM,
    SYNOPSIS,
)
from corporeal.errors import UnknownNameError
from corporeal.words import some_of

_NAMES = {
    table.name: frozenset(table.primary_key.columns.keys())
    | {column.name for index in table.indexes for column in index.columns}
    for table in (EPISODE, STREAM, FINDING, NOT_ASSESSED, SCORE, DOCUMENT, GOVERNS, EDGE)
}
"""The columns of each table that are searched for."""
LONGEST_NAME = 500
"""Letters of a name that is searched for; PostgreSQL has no index for longer ones."""
_LARGEST = (1 << 63) - 1


def add_episodes(connection: Connection, entries: Sequence[EpisodeEntry], *, who: str) -> int:
    """Put episodes in, inside a transaction; how many are new.

    An episode that is there already (by its id or its file's hash) is left as it is.
    """
    there = _present(connection, entries)
    fresh: dict[str, EpisodeEntry] = {}
    hashes: set[str] = set()
    for entry in entries:
        digest = entry.hash
        if there.isdisjoint((entry.id, digest)) and entry.id not in fresh and digest not in hashes:
            fresh[entry.id] = entry
            hashes.add(digest)
    if not fresh:
        return 0
    stamp = now()
    new = list(fresh.values())
    _insert(connection, EPISODE, [
        fitting({**vars(entry.row), "ingested_at": stamp, "number": number}, _NAMES["episode"],
                of=f"episode {entry.id}")
        for number, entry in enumerate(new, _next_number(connection))
    ])  # fmt: skip
    _insert_rows(connection, STREAM, ((entry.id, entry.streams) for entry in new))
    _insert_rows(connection, FINDING, ((entry.id, entry.findings) for entry in new))
    _insert_rows(connection, NOT_ASSESSED, ((entry.id, entry.not_assessed) for entry in new))
    _insert_rows(connection, SCORE, ((entry.id, entry.scores) for entry in new))
    _add_judgements(connection, [(entry, 1) for entry in new], who=who, at=stamp)
    _add_documents(connection, new)
    _insert_missing(connection, EDGE, [
        fitting({"child": f"episode:{entry.id}", "parent": parent, "relation": relation},
                _NAMES["edge"], of=f"lineage of episode {entry.id}")
        for entry in new for parent, relation in entry.parents.items()
    ])  # fmt: skip
    record(connection, [
        Change(who, "ingest", f"episode:{entry.id}",
               details={"state": entry.row.state, "hash": entry.hash})
        for entry in new
    ], at=stamp)  # fmt: skip
    return len(new)


def _next_number(connection: Connection) -> int:
    """The number of the next episode; rows stay when episodes are erased, so none comes twice."""
    return (connection.execute(select(func.max(EPISODE.c.number))).scalar() or 0) + 1


def add_edge(connection: Connection, edge: HistoryEdge) -> None:
    """Add a step of lineage that is not there yet, inside a transaction."""
    connection.execute(insert(EDGE), edge._asdict())


def move_episodes(
    connection: Connection, ids: Sequence[str], state: State, *, who: str, why: str | None
) -> int:
    """Change the state of episodes, inside a transaction; how many were in another one."""
    wanted = list(dict.fromkeys(ids))
    before = states_of(connection, wanted)
    moving: dict[State, list[str]] = {}
    changes = []
    for name in wanted:
        if name not in before:
            raise unknown_episode(name)
        old = before[name]
        if old == state:
            continue
        check_change(old, state)
        moving.setdefault(old, []).append(name)
        details = {"from": old, "to": state}
        changes.append(Change(who, "state", f"episode:{name}", why, details))
    for names in moving.values():
        for part in parts_of(names):
            query = update(EPISODE).where(EPISODE.c.id.in_(part))
            connection.execute(query.values(state=state))
    if state == "erased":
        _drop_synopses(connection, wanted)
    record(connection, changes)
    return len(changes)


JUDGED_BY = ("policy", "detector")
"""Kinds of documents that a judgement follows from; the others came with the episode."""


def complete_episode(connection: Connection, name: str, entry: EpisodeEntry, *, who: str) -> None:
    """Put what was found now in place of what was found before, inside a transaction.

    The judgement before stays among the assessments; the verdict of a person stays in force.
    """
    row = entry.row
    judged = {"verdict": row.verdict, "score": row.score, "policy": row.policy}
    decided = select(DECISION.c.verdict).where(DECISION.c.episode == name)
    if (verdict := connection.execute(decided).scalar()) is not None:
        judged["verdict"] = verdict
    connection.execute(update(EPISODE).where(EPISODE.c.id == name).values(**judged))
    for table, rows in (
        (FINDING, entry.findings),
        (NOT_ASSESSED, entry.not_assessed),
        (SCORE, entry.scores),
    ):
        connection.execute(delete(table).where(table.c.episode == name))
        _insert_rows(connection, table, [(name, rows)])
    under = (GOVERNS.c.episode == name, GOVERNS.c.kind.in_(JUDGED_BY))
    connection.execute(delete(GOVERNS).where(*under))
    for kind in JUDGED_BY:
        if kind in entry.documents:
            document = DocumentRow(kind=kind, **entry.documents[kind])
            keep_document(connection, document)
            link = {"episode": name, "kind": kind, "document": document.hash}
            connection.execute(insert(GOVERNS).values(**link))
    own = ASSESSMENT.c.episode == name
    before = connection.execute(select(func.count()).select_from(ASSESSMENT).where(own))
    number = int(before.scalar_one()) + 1
    _drop_synopses(connection, [name])
    _add_judgements(connection, [(entry, number)], who=who, at=now())


def _add_judgements(
    connection: Connection, entries: Sequence[tuple[EpisodeEntry, int]], *, who: str, at: str
) -> None:
    """Keep assessments, each as this number of its episode, and the synopses they came with."""
    _insert(connection, ASSESSMENT, [
        fitting({**entry.assessment, "episode": entry.id, "number": number, "at": at, "who": who},
                frozenset(), of=f"assessment of episode {entry.id}")
        for entry, number in entries if entry.assessment is not None
    ])  # fmt: skip
    _insert(connection, SYNOPSIS, [
        {"episode": entry.id, "content": entry.synopsis, "profile": entry.profile}
        for entry, _ in entries if entry.synopsis is not None
    ])  # fmt: skip


def _drop_synopses(connection: Connection, ids: Sequence[str]) -> None:
    for part in parts_of(ids):
        connection.execute(delete(SYNOPSIS).where(SYNOPSIS.c.episode.in_(part)))


def set_state(connection: Connection, ids: Select[Any], state: State) -> None:
    """Move the episodes that a search finds, inside a transaction; the log is the caller's."""
    query = update(EPISODE).where(EPISODE.c.id.in_(ids), EPISODE.c.state != state)
    connection.execute(query.values(state=state))


VERSIONED = ("protocol", "calibration", "taxonomy", "certification")
"""Kinds that people write and number: one version has one content for ever. Schemas and robots are
fitted to what was recorded, such as the size of pictures, and told apart by their hashes; of
policies only one that somebody names is held to its version, since ours grows with the program."""


def find_version_conflict(
    connection: Connection, kind: str, document: Mapping[str, str]
) -> str | None:
    """Why a document cannot be taken in, where its version has another content here already."""
    query = select(DOCUMENT.c.hash, DOCUMENT.c.text).where(
        DOCUMENT.c.kind == kind,
        DOCUMENT.c.name == document["name"],
        DOCUMENT.c.version == document["version"],
    )
    rows = connection.execute(query).all()
    if not rows or any(row.hash == document["hash"] for row in rows):
        return None
    return describe_version_conflict(kind, document, rows[0].hash, rows[0].text)


def _check_version(connection: Connection, kind: str, document: Mapping[str, str]) -> None:
    if kind in VERSIONED:
        conflict = find_version_conflict(connection, kind, document)
        if conflict is not None:
            raise CatalogError(f"{conflict}.")


def describe_version_conflict(
    kind: str, document: Mapping[str, str], earlier_hash: str, earlier_text: str
) -> str:
    """Both hashes, the fields that differ, and what to do."""
    fields = some_of(_changed_fields(earlier_text, document["text"])) or "the text"
    reference = f"{document['name']}@{document['version']}"
    return (
        f"{kind} {reference} is {document['hash'][:19]} here, but {earlier_hash[:19]} in the "
        f"catalogue; they differ in {fields}. A version never changes once it is used: raise the "
        "version of the new one"
    )


def _changed_fields(before: str, after: str) -> list[str]:
    """Dotted names of the fields that two documents have otherwise."""
    try:
        earlier, later = (dict(_leaves(json.loads(text))) for text in (before, after))
    except (ValueError, RecursionError):
        return []
    names = dict.fromkeys((*earlier, *later))
    return [name for name in names if earlier.get(name) != later.get(name)]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else str(name))
    else:
        yield path, value


def keep_document(connection: Connection, document: DocumentRow) -> None:
    """Store a document unless its text is there, inside a transaction.

    Raises CatalogError where its version has another content already.
    """
    _check_version(connection, document.kind, vars(document))
    row = fitting(vars(document), _NAMES["document"], of=f"document {document.name}")
    _insert_missing(connection, DOCUMENT, [row])


def _present(connection: Connection, entries: Sequence[EpisodeEntry]) -> set[str]:
    """Ids and hashes of these episodes that are there."""
    found: set[str] = set()
    for part in parts_of(entries):
        ids = [entry.id for entry in part]
        hashes = [entry.hash for entry in part]
        for column, wanted in ((EPISODE.c.id, ids), (EPISODE.c.hash, hashes)):
            query = select(EPISODE.c.id, EPISODE.c.hash).where(column.in_(wanted))
            for row in connection.execute(query):
                found |= {row.id, row.hash}
    return found


def _add_documents(connection: Connection, entries: Sequence[EpisodeEntry]) -> None:
    texts: dict[str, dict[str, Any]] = {}
    links = []
    for entry in entries:
        for kind, document in entry.documents.items():
            key = document["hash"]
            if key not in texts:
                whose = f"document of episode {entry.id}"
                texts[key] = fitting({"kind": kind, **document}, _NAMES["document"], of=whose)
            links.append({"episode": entry.id, "kind": kind, "document": key})
    for document in texts.values():
        # The last word, inside the transaction: files with such a document are refused before.
        _check_version(connection, document["kind"], document)
    _insert_missing(connection, DOCUMENT, list(texts.values()))
    _insert(connection, GOVERNS, links)


def _insert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows that may name different columns, in as few statements as that allows."""
    for part in parts_of(rows):
        blank = dict.fromkeys(name for row in part for name in row)
        for name in blank:
            if name not in table.c:  # It would be left out without a word.
                raise UnknownNameError(f"column of {table.name}", name, table.c.keys())
        connection.execute(insert(table), [{**blank, **row} for row in part])


def _insert_rows(
    connection: Connection, table: Table, rows: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]
) -> None:
    named = _NAMES[table.name]
    _insert(connection, table, [
        fitting({**row, "episode": owner}, named, of=f"{table.name} of episode {owner}")
        for owner, own in rows for row in own
    ])  # fmt: skip


def _insert_missing(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Rows that are not there yet; the same row twice is no conflict."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    for part in parts_of(rows):
        made: Any = dialect.insert(table)
        connection.execute(made.on_conflict_do_nothing(), list(part))


def fitting(row: Mapping[str, Any], names: frozenset[str], *, of: str) -> dict[str, Any]:
    """The row as a database can keep it; what is no number is missing.

    Raises CatalogError for text, names (the columns `names`) and numbers that do not fit.
    """
    fit = dict(row)
    for column, value in row.items():
        kind = type(value)
        if kind is str:
            if not value.isascii() or "\0" in value:
                check_text(value, f"{of}: {column}")
            if len(value) > LONGEST_NAME and column in names:
                raise CatalogError(
                    f"{of}: {column}, got {len(value)} letters; expected {LONGEST_NAME} at most."
                )
        elif value is None or kind is bool:
            continue
        elif isinstance(value, float):
            fit[column] = None if math.isnan(value) else float(value)
        elif isinstance(value, int):
            if abs(value) > _LARGEST:
                raise CatalogError(f"{of}: {column}, got {value}; expected 64 bits.")
        else:
            fit[column] = json_value(value, f"{of}: {column}")
    return fit
