"""Figures of the episodes a condition finds: counts and sums by field, single fields, findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    String,
    case,
    cast,
    func,
    literal,
    literal_column,
    select,
    true,
)

from corporeal.catalog.episodes.reading import parts_of
from corporeal.catalog.episodes.rows import DocumentReference
from corporeal.catalog.query.condition import condition_sql
from corporeal.catalog.query.dialect import json_kind, json_number, json_text, whole_steps
from corporeal.catalog.query.fields import PLAIN, field_named
from corporeal.catalog.query.search import episodes_sql
from corporeal.catalog.query.tree import DAY_NS, Comparison, Condition
from corporeal.catalog.tables import (
    DOCUMENT,
    EPISODE,
    EVENT,
    FINDING,
    GOVERNS,
    NOT_ASSESSED,
    SCORE,
    STREAM,
)
from corporeal.errors import UnknownNameError

PRESENT: Condition = Comparison("state", "!=", "erased")
"""True of every episode that was not erased."""
EpisodeFilter = Condition | ColumnElement[bool] | Select[Any] | None
"""Which episodes are meant: those of a condition, of an SQL expression over the table of episodes,
those whose ids a search in another table finds, or all."""
_FETCH = 5000
_JUDGEMENTS = ("accepted", "quarantined", "failed")
_OF_FINDING = ("episode", "check", "severity")


@dataclass(frozen=True)
class EpisodeSum:
    """A figure of a group of episodes; made by `count_of`, `sum_of`, `least_of`, `most_of`."""

    function: Literal["count", "sum", "min", "max"]
    field: str | None = None
    where: Condition | None = None


def count_of(where: Condition | None = None, *, known: str | None = None) -> EpisodeSum:
    """How many episodes of a group meet a condition, or state a field."""
    return EpisodeSum("count", known, where)


def sum_of(field: str, where: Condition | None = None) -> EpisodeSum:
    """The sum of a field over the episodes of a group that meet a condition; 0.0 for none."""
    return EpisodeSum("sum", field, where)


def least_of(field: str) -> EpisodeSum:
    """The smallest value of a field in a group; None where no episode states it."""
    return EpisodeSum("min", field)


def most_of(field: str) -> EpisodeSum:
    """The largest value of a field in a group; None where no episode states it."""
    return EpisodeSum("max", field)


@dataclass(frozen=True)
class FieldStep:
    """A number counted in whole steps, rounded down: 0.12 in steps of 0.05 is 2."""

    field: str
    step: float


@dataclass(frozen=True)
class MetadataField:
    """Something in the metadata: a text, a number, or the kind of whatever is there.

    None where it is missing or of another kind; `any` takes whatever stands under a key.
    """

    path: str
    kind: Literal["text", "number", "kind", "any"] = "text"


EpisodeKey = str | FieldStep | MetadataField | Condition
"""What is read of an episode: a field by its name in queries, `day` (UTC, counted from 1970), the
step a number lies in, something in the metadata, or whether a condition holds."""


def sum_episodes(
    connection: Connection,
    where: EpisodeFilter,
    *wanted: EpisodeSum,
    by: Sequence[EpisodeKey] = (),
) -> list[tuple[Any, ...]]:
    """Rows of what episodes are grouped by, then every figure wanted; one row without `by`.

    Hours and episodes of each operator: `sum_episodes(connection, scope, sum_of("duration_s"),
    count_of(), by=("operator",))`. The order of rows is any.
    """
    columns = [_column(key) for key in by]
    query = select(*columns, *map(_figure, wanted)).select_from(EPISODE)
    query = query.where(_truth(connection, where))
    # By number, since PostgreSQL takes an expression with parameters written twice for two.
    query = query.group_by(*(literal_column(str(place + 1)) for place in range(len(columns))))
    return [tuple(row) for row in connection.execute(query)]


def read_fields(
    connection: Connection,
    *wanted: EpisodeKey,
    where: EpisodeFilter = None,
    ids: Sequence[str] | None = None,
    order: str | None = None,
    most: int | None = None,
    hold: bool = False,
) -> Iterator[Sequence[Any]]:
    """Single fields of the episodes that meet a condition (and are among `ids`), row by row.

    `order` is a field (`-recorded` begins with the latest), then the id; it and `most` hold within
    lots of ids only. With `hold` nobody else can change these episodes until the transaction ends.
    """
    query = select(*map(_column, wanted)).select_from(EPISODE).where(_truth(connection, where))
    query = query.execution_options(yield_per=_FETCH).limit(most)
    if hold:
        query = query.with_for_update(of=EPISODE)
    if order is not None:
        column = _column(order.removeprefix("-"))
        query = query.order_by(column.desc() if order[0] == "-" else column, EPISODE.c.id)
    for part in [None] if ids is None else parts_of(ids):
        some = query if part is None else query.where(EPISODE.c.id.in_(part))
        yield from connection.execute(some)


def episode_meets(column: ColumnElement[Any], where: Condition | None) -> ColumnElement[bool]:
    """SQL for another room's table: true of rows whose episode, in `column`, meets a condition."""
    truth = true() if where is None else condition_sql(where)
    inside = select(EPISODE.c.id).where(EPISODE.c.id == column, truth)
    return inside.correlate_except(EPISODE).exists()


def count_findings(
    connection: Connection,
    where: EpisodeFilter,
    *,
    by: Sequence[str] = ("check",),
    severities: Sequence[str] = (),
    episodes: bool = False,
) -> list[tuple[Any, ...]]:
    """Rows of what findings are grouped by, then how many; of these severities, or of any.

    `by` names check, severity, episode, or a field of the episode. With `episodes` those that have
    such a finding are counted, not their findings.
    """
    own = all(name in _OF_FINDING for name in by)
    columns = [FINDING.c[name] if name in _OF_FINDING else _column(name) for name in by]
    number = func.count(FINDING.c.episode.distinct()) if episodes else func.count()
    query = select(*columns, number).select_from(FINDING)
    if not own:
        query = query.join(EPISODE, FINDING.c.episode == EPISODE.c.id)
        query = query.where(_truth(connection, where))
    elif where is not None:
        query = query.where(FINDING.c.episode.in_(_ids(connection, where)))
    if severities:
        query = query.where(FINDING.c.severity.in_(severities))
    return [(*keys, int(count)) for *keys, count in connection.execute(query.group_by(*columns))]


def count_not_assessed(connection: Connection, where: EpisodeFilter) -> list[tuple[str, int]]:
    """Checks that could not run, and in how many episodes, the most first."""
    count = func.count()
    query = select(NOT_ASSESSED.c.check, count).group_by(NOT_ASSESSED.c.check)
    if where is not None:
        query = query.where(NOT_ASSESSED.c.episode.in_(_ids(connection, where)))
    ordered = query.order_by(count.desc(), NOT_ASSESSED.c.check)
    return [(check, int(number)) for check, number in connection.execute(ordered)]


@dataclass(frozen=True)
class ScoreSample:
    """Scores of some episodes, and the values of each part of them."""

    totals: tuple[float, ...]
    parts: dict[str, list[float]]


def sample_scores(connection: Connection, where: EpisodeFilter, *, most: int) -> ScoreSample:
    """The scores of the episodes that meet a condition; of a fair sample where they are many."""
    chosen = select(EPISODE.c.id, EPISODE.c.score).where(
        _truth(connection, where), EPISODE.c.score.is_not(None)
    )
    some = connection.execute(select(func.count()).select_from(chosen.subquery())).scalar_one()
    if some > most:
        # The end of an id is drawn at random, so its order has nothing to do with the score.
        chosen = chosen.order_by(func.substr(EPISODE.c.id, 25), EPISODE.c.id).limit(most)
    totals = tuple(float(row.score) for row in connection.execute(chosen))
    query = select(SCORE.c.part, SCORE.c.value).where(
        SCORE.c.episode.in_(select(chosen.subquery().c.id)), SCORE.c.value.is_not(None)
    )
    parts: dict[str, list[float]] = {}
    for part, value in connection.execute(query):
        parts.setdefault(part, []).append(float(value))
    return ScoreSample(totals, parts)


def mean_score_parts(connection: Connection, where: EpisodeFilter) -> dict[str, float]:
    """The mean of each part of the score over the episodes that meet a condition."""
    query = (
        select(SCORE.c.part, func.avg(SCORE.c.value))
        .where(SCORE.c.episode.in_(_ids(connection, where)))
        .where(SCORE.c.value.is_not(None))
        .group_by(SCORE.c.part)
    )
    return {part: float(mean) for part, mean in connection.execute(query)}


class StreamSum(NamedTuple):
    """A stream over all episodes that have it; rates are None for events."""

    path: str
    kind: str
    lowest_hz: float | None
    highest_hz: float | None
    samples: int
    episodes: int


def sum_streams(connection: Connection, where: EpisodeFilter) -> list[StreamSum]:
    """Every stream of the episodes meant, by path and kind."""
    query = (
        select(
            STREAM.c.path, STREAM.c.kind, func.min(STREAM.c.rate_hz), func.max(STREAM.c.rate_hz),
            func.sum(STREAM.c.samples), func.count(),
        )
        .where(STREAM.c.episode.in_(_ids(connection, where)))
        .group_by(STREAM.c.path, STREAM.c.kind)
        .order_by(STREAM.c.path, STREAM.c.kind)
    )  # fmt: skip
    return [StreamSum(*row) for row in connection.execute(query)]


def count_documents(
    connection: Connection, where: EpisodeFilter
) -> list[tuple[DocumentReference, int]]:
    """Every document behind the episodes meant, by kind, and behind how many of them it stands."""
    named = (DOCUMENT.c.kind, DOCUMENT.c.name, DOCUMENT.c.version, DOCUMENT.c.hash)
    query = (
        select(*named, func.count())
        .join(GOVERNS, DOCUMENT.c.hash == GOVERNS.c.document)
        .where(GOVERNS.c.episode.in_(_ids(connection, where)))
        .group_by(*named)
        .order_by(*named)
    )
    return [(DocumentReference(*row[:-1]), int(row[-1])) for row in connection.execute(query)]


def documents_behind(
    connection: Connection, where: EpisodeFilter
) -> Iterator[tuple[str, str, str]]:
    """Episode, kind and hash of every document behind the episodes meant."""
    query = select(GOVERNS.c.episode, GOVERNS.c.kind, GOVERNS.c.document)
    query = query.join(EPISODE, EPISODE.c.id == GOVERNS.c.episode)
    query = query.where(_truth(connection, where)).execution_options(yield_per=_FETCH)
    for rows in connection.execute(query).partitions():
        yield from (tuple(row) for row in rows)


def failed_last(connection: Connection, where: EpisodeFilter) -> set[str]:
    """Episodes whose last judgement, by the checks or by a person, is that they failed.

    What was annotated or released after a failure is still a failure: the log knows.
    """
    truth = _truth(connection, where)
    plain = select(EPISODE.c.id).where(truth, EPISODE.c.state == "failed")
    failed = set(connection.execute(plain).scalars())
    query = (
        select(EPISODE.c.id, EVENT.c.details)
        .join(EVENT, EVENT.c.subject == literal("episode:", String) + EPISODE.c.id)
        .where(truth, EPISODE.c.state.in_(("annotated", "released")))
        .where(EVENT.c.what.in_(("ingest", "state")))
        .order_by(EVENT.c.number)
        .execution_options(yield_per=_FETCH)
    )
    for name, details in connection.execute(query):
        state = details.get("to", details.get("state"))
        if state in _JUDGEMENTS:
            (failed.add if state == "failed" else failed.discard)(name)
    return failed


def _truth(connection: Connection, where: EpisodeFilter) -> ColumnElement[bool]:
    if isinstance(where, Select):
        return EPISODE.c.id.in_(where)
    return where if isinstance(where, ColumnElement) else episodes_sql(connection, where)


def _ids(connection: Connection, where: EpisodeFilter) -> Select[Any]:
    if isinstance(where, Select):
        return where
    return select(EPISODE.c.id).where(_truth(connection, where))


def _column(key: EpisodeKey) -> ColumnElement[Any]:
    match key:
        case "day":
            return EPISODE.c.recorded_ns // literal_column(str(DAY_NS), BigInteger)
        case "metadata":
            return EPISODE.c.metadata
        case str(name):
            if name not in PLAIN:
                raise UnknownNameError("field", name, [*PLAIN, "day", "metadata"])
            return EPISODE.c[field_named(name).column]
        case FieldStep(name, step):
            return whole_steps(_column(name), step)
        case MetadataField(path, "any"):
            stated: ColumnElement[Any] = EPISODE.c.metadata[path].as_string()
            return stated
        case MetadataField(path, kind):
            return {"text": json_text, "number": json_number, "kind": json_kind}[kind](path)
        case _:
            return condition_sql(key)


def _figure(wanted: EpisodeSum) -> ColumnElement[Any]:
    value = None if wanted.field is None else _column(wanted.field)
    met = None if wanted.where is None else condition_sql(wanted.where)
    if wanted.function in ("min", "max"):
        return func.min(value) if wanted.function == "min" else func.max(value)
    if wanted.function == "sum":
        added = value if met is None else case((met, value), else_=0.0)
        return func.coalesce(func.sum(added), 0.0)
    if met is not None:
        met = met if value is None else met & value.is_not(None)
        return cast(func.coalesce(func.sum(case((met, 1), else_=0)), 0), Integer)
    return func.count() if value is None else func.count(value)
