"""Which episodes a release takes: by a condition and their state, with what is known of each."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, String, and_, func, literal, select, true
from sqlalchemy.exc import CompileError

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import EpisodeRow, State
from corporeal.catalog.query import condition_sql, parse, pinned, query_text
from corporeal.catalog.tables import DOCUMENT, EPISODE, EVENT, GOVERNS

COLUMNS = (
    "task", "instruction", "robot", "operator", "station", "session", "batch", "protocol",
    "calibration", "environment", "mode", "software", "failure", "verdict", "policy",
)  # fmt: skip
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def property_column(name: str) -> ColumnElement[str]:
    """The SQL of a property: `operator` is a column, `object` or `metadata.object` a field."""
    if name in COLUMNS:
        return EPISODE.c[name]
    key = name.removeprefix("metadata.")
    if not _KEY.fullmatch(key) or key in EPISODE.c:
        raise CatalogError(
            f"property to split by, got {name[:80]!r}; expected one of {', '.join(COLUMNS)}, or a "
            "field of the metadata such as object."
        )
    column: ColumnElement[str] = EPISODE.c.metadata[key].as_string()
    return column


Where = str | ColumnElement[bool] | Sequence[str] | None
"""A condition in the query language, an SQLAlchemy expression over EPISODE, or ids; None: all."""

_BLOCK = 500
_FETCH = 5000
_GOOD: tuple[State, ...] = ("accepted", "annotated", "released")
_JUDGEMENTS = ("accepted", "quarantined", "failed")
_COLUMNS = (
    "id", "hash", "bytes", "file", "state", "verdict", "score", "policy", "task", "robot",
    "success", "duration_s", "recorded_ns",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReleaseCandidate:
    """An episode that will be released; `properties` are what splits look at."""

    row: EpisodeRow
    negative: bool
    content_hash: str | None
    properties: Mapping[str, str | None]
    documents: Mapping[str, str]

    @property
    def id(self) -> str:
        """The episode's id."""
        return self.row.id


@dataclass(frozen=True)
class Selection:
    """The episodes of a release in the order of their ids, and what they rest on.

    `left_out` counts, by state, those that meet the condition and are not fit for a release.
    """

    condition: str
    candidates: tuple[ReleaseCandidate, ...]
    documents: Mapping[str, Mapping[str, str]]
    left_out: Mapping[str, int]


def select_episodes(
    connection: Connection, where: Where, *, properties: Sequence[str], negatives: bool = False
) -> Selection:
    """Everything a release needs to know of the episodes that meet the condition.

    Accepted and annotated ones, and those released before, are taken; failed ones only with
    `negatives`. What was annotated or released after a failure is still a failure.
    """
    text, conditions = conditions_of(connection, where)
    states = (*_GOOD, *(("failed",) if negatives else ()))
    rows: dict[str, dict[str, Any]] = {}
    governs: dict[str, dict[str, str]] = {}
    failed: set[str] = set()
    left_out: dict[str, int] = {}
    for condition in conditions:
        fit = and_(condition, EPISODE.c.state.in_(states))
        rows.update((row["id"], row) for row in _rows(connection, fit, properties))
        failed |= _failed(connection, fit)
        _collect_documents(connection, fit, governs)
        for state, count in _unfit(connection, condition, states):
            left_out[state] = left_out.get(state, 0) + count
    if not isinstance(where, str) and isinstance(where, Sequence):
        _require_all(connection, where)
    chosen = [name for name in sorted(rows) if negatives or name not in failed]
    if len(chosen) < len(rows):
        left_out["failed"] = left_out.get("failed", 0) + len(rows) - len(chosen)
    found = tuple(
        _candidate(rows[name], name in failed, governs.get(name, {}), properties) for name in chosen
    )
    needed = sorted({each for one in found for each in one.documents.values()})
    return Selection(text, found, _documents(connection, needed), left_out)


def conditions_of(connection: Connection, where: Where) -> tuple[str, list[ColumnElement[bool]]]:
    """The condition as text for the manifest, and as SQL in one or more parts."""
    if where is None:
        return "", [true()]
    if isinstance(where, str):
        meant = pinned(parse(where))
        return query_text(meant), [condition_sql(meant)]
    if isinstance(where, ColumnElement):
        try:
            shown = where.compile(connection, compile_kwargs={"literal_binds": True})
        except (CompileError, NotImplementedError):
            shown = where.compile(connection)
        return str(shown), [where]
    ids = sorted(set(where))
    parts = [ids[first : first + _BLOCK] for first in range(0, len(ids), _BLOCK)]
    return f"id in a list of {len(ids)}", [EPISODE.c.id.in_(part) for part in parts]


def _rows(
    connection: Connection, fit: ColumnElement[bool], properties: Sequence[str]
) -> Iterator[dict[str, Any]]:
    query = select(
        *(EPISODE.c[name] for name in _COLUMNS),
        EPISODE.c.metadata["content_hash"].as_string().label("stated_content"),
        *(property_column(name).label(f"property_{at}") for at, name in enumerate(properties)),
    ).where(fit)
    for row in connection.execute(query.execution_options(yield_per=_FETCH)).mappings():
        yield dict(row)


def _failed(connection: Connection, fit: ColumnElement[bool]) -> set[str]:
    """Those whose last judgement, by the checks or by a person, is that they failed."""
    plain = select(EPISODE.c.id).where(fit, EPISODE.c.state == "failed")
    found = set(connection.execute(plain).scalars())
    subject = literal("episode:", String) + EPISODE.c.id
    query = (
        select(EPISODE.c.id, EVENT.c.details)
        .join(EVENT, EVENT.c.subject == subject)
        .where(fit, EPISODE.c.state.in_(("annotated", "released")))
        .where(EVENT.c.what.in_(("ingest", "state")))
        .order_by(EVENT.c.number)
        .execution_options(yield_per=_FETCH)
    )
    for name, details in connection.execute(query):
        state = details.get("to", details.get("state"))
        if state in _JUDGEMENTS:
            (found.add if state == "failed" else found.discard)(name)
    return found


def _collect_documents(
    connection: Connection, fit: ColumnElement[bool], governs: dict[str, dict[str, str]]
) -> None:
    """Put the hashes of documents into `governs`, by episode and kind."""
    query = (
        select(GOVERNS.c.episode, GOVERNS.c.kind, GOVERNS.c.document)
        .join(EPISODE, EPISODE.c.id == GOVERNS.c.episode)
        .where(fit)
        .execution_options(yield_per=_FETCH)
    )
    for rows in connection.execute(query).partitions():
        for owner, kind, document in rows:
            # Few documents stand behind many episodes: one text in memory for each.
            governs.setdefault(owner, {})[sys.intern(kind)] = sys.intern(document)


def _unfit(
    connection: Connection, condition: ColumnElement[bool], states: Sequence[str]
) -> list[tuple[str, int]]:
    query = (
        select(EPISODE.c.state, func.count())
        .where(condition, EPISODE.c.state.not_in(states))
        .group_by(EPISODE.c.state)
    )
    return [(str(state), int(count)) for state, count in connection.execute(query)]


def _require_all(connection: Connection, ids: Sequence[str]) -> None:
    for first in range(0, len(ids), _BLOCK):
        part = list(ids[first : first + _BLOCK])
        query = select(EPISODE.c.id).where(EPISODE.c.id.in_(part))
        missing = sorted(set(part) - set(connection.execute(query).scalars()))
        if missing:
            raise CatalogError(
                f"episode {missing[0]!r} is not in the catalogue. List them with: corporeal ls."
            )


def _candidate(
    row: Mapping[str, Any], negative: bool, documents: Mapping[str, str], properties: Sequence[str]
) -> ReleaseCandidate:
    return ReleaseCandidate(
        row=EpisodeRow(**{name: row[name] for name in _COLUMNS}),
        negative=negative,
        content_hash=row["stated_content"],
        properties={name: row[f"property_{at}"] for at, name in enumerate(properties)},
        documents=documents,
    )


def _documents(connection: Connection, hashes: Sequence[str]) -> dict[str, Mapping[str, str]]:
    found: dict[str, Mapping[str, str]] = {}
    for first in range(0, len(hashes), _BLOCK):
        part = hashes[first : first + _BLOCK]
        query = select(DOCUMENT).where(DOCUMENT.c.hash.in_(part))
        found |= {row["hash"]: dict(row) for row in connection.execute(query).mappings()}
    return found
