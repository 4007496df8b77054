"""Looks up what the catalogue holds of episodes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Column, Connection, Select, Table, case, func, or_, select

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes.rows import (
    AssessmentRow,
    DocumentReference,
    DocumentRow,
    EpisodeRow,
    FindingRow,
    NotAssessedRow,
    ScoreRow,
    State,
)
from corporeal.catalog.tables import (
    ASSESSMENT,
    DOCUMENT,
    EDGE,
    EPISODE,
    FINDING,
    GOVERNS,
    NOT_ASSESSED,
    SCORE,
)
from corporeal.quality.check import SEVERITIES
from corporeal.words import some_of

BLOCK = 2000
_FALL = "robot_fell"
_NAMED = ("id", "file", "operator")
_NUMBER = re.compile(r"#?([0-9]{1,15})")
_SHORTEST_PART = 4
_MOST_NAMED = 5
_Row = TypeVar("_Row")


class UnknownEpisodeError(CatalogError):
    """No episode has this id."""


class StoredEpisode(NamedTuple):
    """The episode that a file is, and the state it is in."""

    id: str
    state: State


class HistoryEdge(NamedTuple):
    """`child` came from `parent`; both are kind:id."""

    child: str
    parent: str
    relation: str


class GravestFinding(NamedTuple):
    """The finding of an episode that weighs most, and how many it has."""

    episode: str
    check: str
    severity: str
    message: str
    number: int


def find_episode(connection: Connection, name: str) -> EpisodeRow:
    """The row of the episode with this id; raises UnknownEpisodeError."""
    row = connection.execute(select(EPISODE).where(EPISODE.c.id == name)).first()
    if row is None:
        raise unknown_episode(name)
    return EpisodeRow(*row)


def find_named(connection: Connection, name: str) -> EpisodeRow:
    """The episode that a person means, by its number (#4, 4, 0004), its id, or a part of that.

    A part is the beginning or the end of the id, of four letters or more; whatever was erased goes
    by its whole id or number alone. Raises UnknownEpisodeError, also for a part of several ids.
    """
    text = name.strip()
    exact = connection.execute(select(EPISODE).where(EPISODE.c.id == text)).first()
    if exact is not None:
        return EpisodeRow(*exact)
    if numbered := _NUMBER.fullmatch(text):
        asked = EPISODE.c.number == int(numbered[1])
        row = connection.execute(select(EPISODE).where(asked)).first()
        if row is not None:
            return EpisodeRow(*row)
    if len(text) < _SHORTEST_PART or text.startswith("#"):
        raise unknown_episode(name)
    rows = _find_by_part(connection, text) or _find_by_part(connection, text.lower())
    if len(rows) > 1:
        shown = some_of([row.name for row in rows], most=_MOST_NAMED - 1)
        raise UnknownEpisodeError(
            f"episode {name[:80]!r}, got a part of several ids, those of {shown}; expected a "
            "number such as #4, or more of the id."
        )
    if not rows:
        raise unknown_episode(name)
    return rows[0]


def _find_by_part(connection: Connection, part: str) -> list[EpisodeRow]:
    begins = EPISODE.c.id.startswith(part, autoescape=True)
    ends = EPISODE.c.id.endswith(part, autoescape=True)
    query = select(EPISODE).where(or_(begins, ends), EPISODE.c.state != "erased")
    ordered = query.order_by(EPISODE.c.number).limit(_MOST_NAMED)
    return [EpisodeRow(*row) for row in connection.execute(ordered)]


def find_nearest(
    connection: Connection,
    row: EpisodeRow,
    *,
    words: str = "",
    among: Iterable[str] | None = None,
    by_people: bool = True,
    most: int,
) -> list[EpisodeRow]:
    """Other episodes, those recorded nearest in time first: of the same task, or named by words.

    Words are part of an id, a file or, `by_people`, an operator, or a number. Along the index of
    time both ways, not over all.
    """
    when, moment = EPISODE.c.recorded_ns, row.recorded_ns or 0
    query = select(EPISODE).where(EPISODE.c.id != row.id, EPISODE.c.state != "erased")
    if among is not None:
        query = query.where(EPISODE.c.id.in_(sorted(among)))
    if words:
        named = [EPISODE.c[name].icontains(words, autoescape=True) for name in _NAMED
                 if by_people or name != "operator"]  # fmt: skip
        if numbered := _NUMBER.fullmatch(words.strip()):
            named.append(EPISODE.c.number == int(numbered[1]))
        query = query.where(or_(*named))
    else:
        query = query.where(EPISODE.c.task == row.task)
    nearest: dict[str, EpisodeRow] = {}
    for part in (
        query.where(when < moment).order_by(when.desc()),
        query.where(when >= moment).order_by(when),
        query.where(when.is_(None)).order_by(EPISODE.c.id),
    ):
        nearest |= {each.id: EpisodeRow(*each) for each in connection.execute(part.limit(most))}

    def apart(peer: EpisodeRow) -> float:
        return math.inf if peer.recorded_ns is None else abs(peer.recorded_ns - moment)

    return sorted(nearest.values(), key=apart)[:most]


def batch_names(connection: Connection) -> list[str]:
    """Every batch that has an episode, in their order."""
    query = select(EPISODE.c.batch).where(EPISODE.c.batch.is_not(None)).distinct()
    return sorted(connection.execute(query).scalars())


def find_by_hash(connection: Connection, digests: Iterable[str]) -> dict[str, StoredEpisode]:
    """The episodes that are there, by the hash of their file."""
    stored: dict[str, StoredEpisode] = {}
    for part in parts_of(list(digests)):
        query = select(EPISODE.c.hash, EPISODE.c.id, EPISODE.c.state).where(
            EPISODE.c.hash.in_(part)
        )
        stored |= {row.hash: StoredEpisode(row.id, row.state) for row in connection.execute(query)}
    return stored


def hashes_of(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The hashes of the files of these episodes, by id; those that are not there are left out."""
    return dict(_by_id(connection, EPISODE.c.hash, ids))


def numbers_of(connection: Connection, ids: Sequence[str]) -> dict[str, int]:
    """The numbers of these episodes, by id; those that are not there are left out."""
    return dict(_by_id(connection, EPISODE.c.number, ids))


def states_of(connection: Connection, ids: Sequence[str]) -> dict[str, State]:
    """The states of these episodes, by id; those that are not there are left out."""
    return dict(_by_id(connection, EPISODE.c.state, ids))


def _by_id(
    connection: Connection, column: Column[Any], ids: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    for part in parts_of(ids):
        query = select(EPISODE.c.id, column).where(EPISODE.c.id.in_(part))
        yield from ((name, value) for name, value in connection.execute(query))


def findings_of(connection: Connection, name: str, *, most: int | None = None) -> list[FindingRow]:
    """The findings of an episode, in the order they were made."""
    query = select(*_columns(FINDING, FindingRow)).where(FINDING.c.episode == name)
    ordered = query.order_by(FINDING.c.number).limit(most)
    return [FindingRow(*row) for row in connection.execute(ordered)]


def gravest_findings(connection: Connection, ids: Sequence[str]) -> dict[str, GravestFinding]:
    """The gravest finding of each of these episodes that has any."""
    if not ids:
        return {}
    rank = case({name: place for place, name in enumerate(SEVERITIES)}, value=FINDING.c.severity,
                else_=len(SEVERITIES))  # fmt: skip
    # A fall explains much of what else is found. Then: a finding in a stream tells the cause, one
    # without only that something went wrong.
    order = (rank, FINDING.c.check != _FALL, FINDING.c.stream.is_(None), FINDING.c.number)
    ranked = (
        select(
            FINDING.c.episode,
            FINDING.c.check,
            FINDING.c.severity,
            FINDING.c.message,
            func.count().over(partition_by=FINDING.c.episode).label("number"),
            func.row_number().over(partition_by=FINDING.c.episode, order_by=order).label("place"),
        )
        .where(FINDING.c.episode.in_(ids))
        .subquery()
    )
    rows = connection.execute(select(ranked).where(ranked.c.place == 1))
    return {row.episode: GravestFinding(*row[:-1]) for row in rows}


def not_assessed_of(connection: Connection, ids: Sequence[str]) -> dict[str, list[NotAssessedRow]]:
    """What could not be assessed in these episodes, by their ids, in the order of the checks."""
    rows: dict[str, list[NotAssessedRow]] = {}
    for part in parts_of(ids):
        query = select(NOT_ASSESSED).where(NOT_ASSESSED.c.episode.in_(part))
        for row in connection.execute(query.order_by(NOT_ASSESSED.c.episode, NOT_ASSESSED.c.check)):
            rows.setdefault(row.episode, []).append(NotAssessedRow(*row))
    return rows


def assessments_of(connection: Connection, name: str) -> list[AssessmentRow]:
    """Every judgement of an episode, the first one first."""
    query = select(ASSESSMENT).where(ASSESSMENT.c.episode == name)
    return [AssessmentRow(*row) for row in connection.execute(query.order_by(ASSESSMENT.c.number))]


def last_assessments(connection: Connection, ids: Sequence[str]) -> dict[str, AssessmentRow]:
    """The judgement in force of each of these episodes that has one."""
    last: dict[str, AssessmentRow] = {}
    for part in parts_of(ids):
        query = select(ASSESSMENT).where(ASSESSMENT.c.episode.in_(part))
        ordered = query.order_by(ASSESSMENT.c.episode, ASSESSMENT.c.number)
        last |= {row.episode: AssessmentRow(*row) for row in connection.execute(ordered)}
    return last


def scores_of(connection: Connection, name: str) -> list[ScoreRow]:
    """The parts of an episode's score, in the order of their names."""
    query = select(*_columns(SCORE, ScoreRow)).where(SCORE.c.episode == name)
    return [ScoreRow(*row) for row in connection.execute(query.order_by(SCORE.c.part))]


def part_values(connection: Connection, ids: Sequence[str], part: str) -> dict[str, float]:
    """One part of the score by episode; those in which it was not assessed are left out."""
    values: dict[str, float] = {}
    for some in parts_of(list(ids)):
        query = select(SCORE.c.episode, SCORE.c.value).where(
            SCORE.c.episode.in_(some), SCORE.c.part == part, SCORE.c.value.is_not(None)
        )
        values |= {row.episode: float(row.value) for row in connection.execute(query)}
    return values


def documents_of(connection: Connection, name: str) -> list[DocumentReference]:
    """The documents behind an episode, in the order of their kinds."""
    query = (
        select(GOVERNS.c.kind, DOCUMENT.c.name, DOCUMENT.c.version, DOCUMENT.c.hash)
        .join(GOVERNS, GOVERNS.c.document == DOCUMENT.c.hash)
        .where(GOVERNS.c.episode == name)
        .order_by(GOVERNS.c.kind)
    )
    return [DocumentReference(*row) for row in connection.execute(query)]


def policies_of(connection: Connection, ids: Sequence[str]) -> dict[str, DocumentReference]:
    """The policy that each of these episodes was judged under; those without one are left out."""
    policies: dict[str, DocumentReference] = {}
    for part in parts_of(ids):
        query = (
            select(GOVERNS.c.episode, GOVERNS.c.kind, DOCUMENT.c.name, DOCUMENT.c.version,
                   DOCUMENT.c.hash)
            .join(DOCUMENT, GOVERNS.c.document == DOCUMENT.c.hash)
            .where(GOVERNS.c.kind == "policy", GOVERNS.c.episode.in_(part))
        )  # fmt: skip
        policies |= {row[0]: DocumentReference(*row[1:]) for row in connection.execute(query)}
    return policies


def find_document(connection: Connection, digest: str) -> DocumentRow | None:
    """The document whose text has this hash."""
    query = select(*_columns(DOCUMENT, DocumentRow)).where(DOCUMENT.c.hash == digest)
    row = connection.execute(query).first()
    return None if row is None else DocumentRow(*row)


def find_documents(connection: Connection, digests: Sequence[str]) -> dict[str, DocumentRow]:
    """The documents whose texts have these hashes; those that are not there are left out."""
    documents: dict[str, DocumentRow] = {}
    for part in parts_of(digests):
        query = select(*_columns(DOCUMENT, DocumentRow)).where(DOCUMENT.c.hash.in_(part))
        documents |= {row.hash: DocumentRow(*row) for row in connection.execute(query)}
    return documents


def edges_of(
    connection: Connection, name: str, *, upwards: bool, most: int
) -> tuple[list[HistoryEdge], int]:
    """What a thing (`kind:id`) came from, or what came of it: `most` of them, and how many more."""
    near, far = (EDGE.c.child, EDGE.c.parent) if upwards else (EDGE.c.parent, EDGE.c.child)
    return limited(
        connection, select(EDGE).where(near == name).order_by(EDGE.c.relation, far), most,
        lambda row: HistoryEdge(*row),
    )  # fmt: skip


def episodes_under(
    connection: Connection, digest: str, *, most: int
) -> tuple[list[HistoryEdge], int]:
    """The episodes that a document stands behind: `most` of them, and how many more."""
    query = select(GOVERNS).where(GOVERNS.c.document == digest).order_by(GOVERNS.c.episode)
    return limited(connection, query, most, lambda row: HistoryEdge(
        f"episode:{row.episode}", f"document:{digest}", row.kind
    ))  # fmt: skip


def limited(
    connection: Connection, query: Select[Any], most: int, make: Callable[[Any], _Row]
) -> tuple[list[_Row], int]:
    """The first rows of a search, and how many more it finds."""
    rows = [make(row) for row in connection.execute(query.limit(most + 1))]
    if len(rows) <= most:
        return rows, 0
    whole = select(func.count()).select_from(query.order_by(None).subquery())
    return rows[:most], int(connection.execute(whole).scalar_one()) - most


def documents_of_kind(
    connection: Connection,
    kind: str,
    *,
    name: str | None = None,
    most: int | None = None,
    governing: bool = False,
) -> list[DocumentRow]:
    """Documents by name and version; `governing`: only those that stand behind an episode."""
    query = select(*_columns(DOCUMENT, DocumentRow)).where(DOCUMENT.c.kind == kind)
    if name is not None:
        query = query.where(DOCUMENT.c.name == name)
    if governing:
        behind = select(GOVERNS.c.document).where(GOVERNS.c.kind == kind).distinct()
        query = query.where(DOCUMENT.c.hash.in_(behind))
    query = query.order_by(DOCUMENT.c.name, DOCUMENT.c.version).limit(most)
    return [DocumentRow(*row) for row in connection.execute(query)]


def unknown_episode(name: str) -> UnknownEpisodeError:
    """The error that names an id which is not there."""
    return UnknownEpisodeError(
        f"episode {name[:120]!r} is not in the catalogue. List them with: corporeal ls."
    )


def parts_of(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """The rows in lots of a size that a statement can take."""
    for first in range(0, len(rows), BLOCK):
        yield rows[first : first + BLOCK]


def _columns(
    table: Table, row: type[FindingRow] | type[ScoreRow] | type[DocumentRow]
) -> list[Column[Any]]:
    """The columns of a table that a row has as fields, in the order of the fields."""
    return [table.c[each.name] for each in fields(row)]
