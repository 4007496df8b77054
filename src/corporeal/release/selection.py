"""Which episodes a release takes: by a condition and their state, with what is known of each."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, true
from sqlalchemy.exc import CompileError

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import (
    DocumentRow,
    EpisodeRow,
    State,
    decisions_of,
    find_documents,
    states_of,
    unknown_episode,
)
from corporeal.catalog.people import practice_of
from corporeal.catalog.query import (
    MetadataField,
    OneOf,
    condition_sql,
    count_of,
    documents_behind,
    failed_last,
    parse,
    pinned,
    query_text,
    read_fields,
    sum_episodes,
)

COLUMNS = (
    "task", "instruction", "robot", "operator", "station", "session", "batch", "protocol",
    "calibration", "environment", "mode", "software", "failure", "verdict", "policy",
)  # fmt: skip
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def property_field(name: str) -> str | MetadataField:
    """What a property is read from: `operator` is a field, `object` something in the metadata."""
    if name in COLUMNS:
        return name
    key = name.removeprefix("metadata.")
    if not _KEY.fullmatch(key) or key in EpisodeRow.__dataclass_fields__:
        raise CatalogError(
            f"property to split by, got {name[:80]!r}; expected one of {', '.join(COLUMNS)}, or a "
            "field of the metadata such as object."
        )
    return MetadataField(key, "any")


Where = str | ColumnElement[bool] | Sequence[str] | None
"""A condition in the query language, an SQLAlchemy expression over EPISODE, or ids; None: all."""

_BLOCK = 500
_GOOD: tuple[State, ...] = ("accepted", "annotated", "released")
_FIELDS = (
    "id", "hash", "bytes", "file", "state", "verdict", "score", "policy", "task", "robot",
    "success", "duration_s", "recorded",
)  # fmt: skip
_COLUMNS = (*_FIELDS[:-1], "recorded_ns")


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
    documents: Mapping[str, DocumentRow]
    left_out: Mapping[str, int]


def select_episodes(
    connection: Connection, where: Where, *, properties: Sequence[str], negatives: bool = False
) -> Selection:
    """Everything a release needs to know of the episodes that meet the condition.

    Accepted and annotated ones, and those released before, are taken; failed ones only with
    `negatives`. What was annotated or released after a failure is still a failure. Nothing of the
    practice partition is taken.
    """
    text, parts = conditions_of(connection, where)
    states: tuple[State, ...] = (*_GOOD, *(("failed",) if negatives else ()))
    fields = [*_FIELDS, MetadataField("content_hash", "any"), *map(property_field, properties)]
    rows: dict[str, Sequence[Any]] = {}
    governs: dict[str, dict[str, str]] = {}
    failed: set[str] = set()
    left_out: Counter[str] = Counter()
    for part in parts:
        fit = condition_sql(OneOf("state", states)) & part
        rows.update((row[0], row) for row in read_fields(connection, *fields, where=fit))
        failed |= failed_last(connection, fit)
        for owner, kind, document in documents_behind(connection, fit):
            # Few documents stand behind many episodes: one text in memory for each.
            governs.setdefault(owner, {})[sys.intern(kind)] = sys.intern(document)
        counts = sum_episodes(connection, part, count_of(), by=("state",))
        left_out.update({state: count for state, count in counts if state not in states})
    for name, decided in decisions_of(connection, list(rows)).items():
        # It was released before, and people have thought better of it since.
        if decided.verdict == "failed":
            failed.add(name)
        elif decided.verdict == "quarantined":
            del rows[name]
            left_out["quarantined"] += 1
    if not isinstance(where, str) and isinstance(where, Sequence):
        for name in sorted(set(where) - states_of(connection, where).keys()):
            raise unknown_episode(name)
    for name in practice_of(connection, list(rows)):
        del rows[name]
        left_out["in practice"] += 1
    chosen = [name for name in sorted(rows) if negatives or name not in failed]
    if len(chosen) < len(rows):
        left_out["failed"] += len(rows) - len(chosen)
    candidates = tuple(
        _candidate(rows[name], name in failed, governs.get(name, {}), properties) for name in chosen
    )
    needed = sorted({each for one in candidates for each in one.documents.values()})
    return Selection(text, candidates, find_documents(connection, needed), dict(left_out))


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
    parts = [tuple(ids[first : first + _BLOCK]) for first in range(0, len(ids), _BLOCK)]
    return f"id in a list of {len(ids)}", [condition_sql(OneOf("id", part)) for part in parts]


def _candidate(
    row: Sequence[Any], negative: bool, documents: Mapping[str, str], properties: Sequence[str]
) -> ReleaseCandidate:
    own = len(_COLUMNS)
    return ReleaseCandidate(
        row=EpisodeRow(**dict(zip(_COLUMNS, row[:own], strict=True))),
        negative=negative,
        content_hash=row[own],
        properties=dict(zip(properties, row[own + 1 :], strict=True)),
        documents=documents,
    )
