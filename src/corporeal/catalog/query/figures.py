"""Figures of the episodes a condition finds: counts and sums by field, single fields, findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    case,
    cast,
    func,
    literal_column,
    select,
    true,
)

from corporeal.catalog.episodes.reading import parts_of
from corporeal.catalog.query.condition import condition_sql
from corporeal.catalog.query.dialect import json_kind, json_number, json_text, whole_steps
from corporeal.catalog.query.fields import PLAIN, field_named
from corporeal.catalog.query.tree import Comparison, Condition
from corporeal.catalog.query.unparse import DAY_NS
from corporeal.catalog.tables import EPISODE, FINDING, SCORE
from corporeal.errors import UnknownNameError

PRESENT: Condition = Comparison("state", "!=", "erased")
"""True of every episode that was not erased."""
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

    None where it is missing or of another kind.
    """

    path: str
    kind: Literal["text", "number", "kind"] = "text"


EpisodeKey = str | FieldStep | MetadataField | Condition
"""What is read of an episode: a field by its name in queries, `day` (UTC, counted from 1970), the
step a number lies in, something in the metadata, or whether a condition holds."""


def sum_episodes(
    connection: Connection,
    where: Condition | None,
    *wanted: EpisodeSum,
    by: Sequence[EpisodeKey] = (),
) -> list[tuple[Any, ...]]:
    """Rows of what episodes are grouped by, then every figure wanted; one row without `by`.

    Hours and episodes of each operator: `sum_episodes(connection, scope, sum_of("duration_s"),
    count_of(), by=("operator",))`. The order of rows is any.
    """
    columns = [_column(key) for key in by]
    query = select(*columns, *map(_figure, wanted)).select_from(EPISODE).where(_truth(where))
    # By number, since PostgreSQL takes an expression with parameters written twice for two.
    query = query.group_by(*(literal_column(str(place + 1)) for place in range(len(columns))))
    return [tuple(row) for row in connection.execute(query)]


def read_fields(
    connection: Connection,
    *wanted: EpisodeKey,
    where: Condition | None = None,
    ids: Sequence[str] | None = None,
    order: str | None = None,
) -> Iterator[Sequence[Any]]:
    """Single fields of the episodes that meet a condition (and are among `ids`), row by row.

    `order` is a field, then the id; it holds within lots of ids only.
    """
    query = select(*map(_column, wanted)).select_from(EPISODE).where(_truth(where))
    if order is not None:
        query = query.order_by(_column(order), EPISODE.c.id)
    for part in [None] if ids is None else parts_of(ids):
        some = query if part is None else query.where(EPISODE.c.id.in_(part))
        yield from connection.execute(some)


def episode_meets(column: ColumnElement[Any], where: Condition | None) -> ColumnElement[bool]:
    """SQL for another room's table: true of rows whose episode, in `column`, meets a condition."""
    inside = select(EPISODE.c.id).where(EPISODE.c.id == column, _truth(where))
    return inside.correlate_except(EPISODE).exists()


def count_findings(
    connection: Connection,
    where: Condition | None,
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
        query = query.join(EPISODE, FINDING.c.episode == EPISODE.c.id).where(_truth(where))
    elif where is not None:
        query = query.where(FINDING.c.episode.in_(select(EPISODE.c.id).where(_truth(where))))
    if severities:
        query = query.where(FINDING.c.severity.in_(severities))
    return [(*keys, int(count)) for *keys, count in connection.execute(query.group_by(*columns))]


@dataclass(frozen=True)
class ScoreSample:
    """Scores of some episodes, and the values of each part of them."""

    totals: tuple[float, ...]
    parts: dict[str, list[float]]


def sample_scores(connection: Connection, where: Condition | None, *, most: int) -> ScoreSample:
    """The scores of the episodes that meet a condition; of a fair sample where they are many."""
    chosen = select(EPISODE.c.id, EPISODE.c.score).where(
        _truth(where), EPISODE.c.score.is_not(None)
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


def mean_score_parts(connection: Connection, where: Condition | None) -> dict[str, float]:
    """The mean of each part of the score over the episodes that meet a condition."""
    query = (
        select(SCORE.c.part, func.avg(SCORE.c.value))
        .where(SCORE.c.episode.in_(select(EPISODE.c.id).where(_truth(where))))
        .where(SCORE.c.value.is_not(None))
        .group_by(SCORE.c.part)
    )
    return {part: float(mean) for part, mean in connection.execute(query)}


def _truth(where: Condition | None) -> ColumnElement[bool]:
    return true() if where is None else condition_sql(where)


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
        case MetadataField(path, kind):
            return {"text": json_text, "number": json_number, "kind": json_kind}[kind](path)
        case _:
            return condition_sql(key)


def _figure(wanted: EpisodeSum) -> ColumnElement[Any]:
    value = None if wanted.field is None else _column(wanted.field)
    if wanted.function in ("min", "max"):
        return func.min(value) if wanted.function == "min" else func.max(value)
    if wanted.function == "sum":
        added = value if wanted.where is None else case((_truth(wanted.where), value), else_=0.0)
        return func.coalesce(func.sum(added), 0.0)
    if wanted.where is not None:
        met = _truth(wanted.where) if value is None else _truth(wanted.where) & value.is_not(None)
        return cast(func.coalesce(func.sum(case((met, 1), else_=0)), 0), Integer)
    return func.count() if value is None else func.count(value)
