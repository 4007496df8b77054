"""What is in the episodes of a release and behind them: streams, documents, findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select
from sqlalchemy.sql import FromClause

from corporeal.catalog.tables import DOCUMENT, EPISODE, FINDING, GOVERNS, MEMBER, STREAM
from corporeal.errors import DocumentError
from corporeal.release.card.parts import DocumentFacts, FindingFacts, StreamFacts
from corporeal.schema import Schema


def streams_of(connection: Connection, here: ColumnElement[bool]) -> tuple[StreamFacts, ...]:
    """Every stream, with what the schemas behind it say."""
    specs = _specifications(connection, here)
    query = (
        select(
            STREAM.c.path,
            STREAM.c.kind,
            func.min(STREAM.c.rate_hz).label("low"),
            func.max(STREAM.c.rate_hz).label("high"),
            func.sum(STREAM.c.samples).label("samples"),
            func.count().label("episodes"),
        )
        .join(MEMBER, MEMBER.c.episode == STREAM.c.episode)
        .where(here)
        .group_by(STREAM.c.path, STREAM.c.kind)
        .order_by(STREAM.c.path, STREAM.c.kind)
    )
    return tuple(
        StreamFacts(
            path=row.path,
            kind=row.kind,
            unit=_joined(specs, row.path, "unit"),
            shape=_first(specs, row.path, "shape"),
            frame=_joined(specs, row.path, "frame"),
            lowest_hz=row.low,
            highest_hz=row.high,
            samples=int(row.samples),
            episodes=row.episodes,
        )
        for row in connection.execute(query)
    )


def _specifications(connection: Connection, here: ColumnElement[bool]) -> dict[str, list[Any]]:
    """What the schemas behind the release say of each stream."""
    query = (
        select(DOCUMENT.c.text)
        .where(DOCUMENT.c.hash.in_(
            select(GOVERNS.c.document)
            .join(MEMBER, MEMBER.c.episode == GOVERNS.c.episode)
            .where(here, GOVERNS.c.kind == "schema")
        ))
        .order_by(DOCUMENT.c.hash)
    )  # fmt: skip
    found: dict[str, list[Any]] = {}
    for text in connection.execute(query).scalars():
        try:
            schema = Schema.parse(text, source="schema", suffix=".json")
        except DocumentError:
            continue  # A document of another time: its streams stay without a unit.
        for stream in schema.streams:
            found.setdefault(stream.path, []).append(stream)
    return found


def _joined(specs: Mapping[str, list[Any]], path: str, name: str) -> str | None:
    """All that the schemas say, in few words: mostly one."""
    said: dict[str, None] = {}
    for spec in specs.get(path, []):
        value = getattr(spec, name)
        for each in value if isinstance(value, tuple) else (value,):
            if each is not None:
                said.setdefault(str(each))
    return ", ".join(said) or None


def _first(specs: Mapping[str, list[Any]], path: str, name: str) -> Any:
    """What the schemas say, if they agree."""
    values = {getattr(spec, name) for spec in specs.get(path, [])}
    return values.pop() if len(values) == 1 else None


def documents_of(connection: Connection, here: ColumnElement[bool]) -> tuple[DocumentFacts, ...]:
    """Every document that stands behind an episode, by kind."""
    named = (DOCUMENT.c.kind, DOCUMENT.c.name, DOCUMENT.c.version, DOCUMENT.c.hash)
    source: FromClause = GOVERNS.join(DOCUMENT, DOCUMENT.c.hash == GOVERNS.c.document)
    query = (
        select(*named, func.count().label("episodes"))
        .select_from(source.join(MEMBER, MEMBER.c.episode == GOVERNS.c.episode))
        .where(here)
        .group_by(*named)
        .order_by(*named)
    )
    return tuple(DocumentFacts(**row) for row in connection.execute(query).mappings())


def findings_of(connection: Connection, here: ColumnElement[bool]) -> tuple[FindingFacts, ...]:
    """What checks found and is still there, the most frequent first."""
    episodes = func.count(FINDING.c.episode.distinct())
    query = (
        select(
            FINDING.c.check,
            FINDING.c.severity,
            func.count().label("findings"),
            episodes.label("episodes"),
        )
        .join(MEMBER, MEMBER.c.episode == FINDING.c.episode)
        .where(here)
        .group_by(FINDING.c.check, FINDING.c.severity)
        .order_by(episodes.desc(), FINDING.c.check)
    )
    return tuple(FindingFacts(**row) for row in connection.execute(query).mappings())


_SOMEBODY = "..."
_AFTER_OPERATOR = re.compile(
    r"""(\boperator\s*(?:!=|<>|==?|!?~|\bnot\s+in\b|\bin\b|\b(?:i?like|contains)\b)\s*)
        (\([^)]*\)|'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|[^\s()]+)""",
    re.IGNORECASE | re.VERBOSE,
)


def pseudonyms(names: Iterable[str | None]) -> dict[str, int]:
    """A number for each operator: the one with the most episodes is 1."""
    counted = Counter(name for name in names if name)
    ranked = sorted(counted, key=lambda name: (-counted[name], name))
    return {name: number for number, name in enumerate(ranked, start=1)}


def called(number: int | None) -> str | None:
    """What a card calls the operator with this number."""
    return None if number is None else f"operator {number}"


def without_people(connection: Connection, condition: str) -> str:
    """The condition with the names of people left out: a card goes where the catalogue does not."""
    text = _AFTER_OPERATOR.sub(lambda found: found[1] + _SOMEBODY, condition)
    query = select(EPISODE.c.operator).distinct().where(EPISODE.c.operator.is_not(None))
    for name in sorted(connection.execute(query).scalars(), key=len, reverse=True):
        if len(name) > 2 and name in text:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", _SOMEBODY, text)
    return text
