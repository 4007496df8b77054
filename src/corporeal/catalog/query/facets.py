"""How the episodes of a query spread over facets, and how a click on one narrows the query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    FromClause,
    Select,
    case,
    func,
    literal,
    select,
    true,
    union_all,
)

from corporeal.catalog.query.grammar import parse
from corporeal.catalog.query.search import episodes_sql
from corporeal.catalog.query.tree import (
    DAY_NS,
    And,
    Between,
    Comparison,
    Condition,
    HasFinding,
    Known,
    OneOf,
    Or,
    Within,
)
from corporeal.catalog.tables import EPISODE, FINDING, TAG
from corporeal.errors import UnknownNameError

TEXTS = ("task", "operator", "station", "robot", "verdict", "state", "failure", "batch")
RANGES = ("score", "recorded")
BESIDE: dict[str, Column[Any]] = {"finding": FINDING.c.check, "tag": TAG.c.tag}
"""Facets of which an episode may have several values at once."""
FACETS = (*TEXTS, *BESIDE, *RANGES)
_SPANS = ("<", "<=", ">", ">=", "=")
MOST_VALUES = 40
SCORE_BINS = 10
MOST_BARS = 60
"""Bars of the histogram of days; where there are more days, a bar is several of them."""
_MOST_DAYS = 20_000


@dataclass(frozen=True)
class CountedValue:
    """A value, None where it is unknown, and how many episodes have it."""

    value: str | None
    count: int
    chosen: bool


@dataclass(frozen=True)
class FacetCounts:
    """The most frequent values of a field; `more`: there are others."""

    name: str
    values: tuple[CountedValue, ...]
    more: bool


@dataclass(frozen=True)
class HistogramBar:
    """Episodes from `low` to before `high`: scores, or days as ISO dates."""

    low: str
    high: str
    count: int


@dataclass(frozen=True)
class Facets:
    """Facets and histograms; the own condition of each is left out of its own counts."""

    facets: tuple[FacetCounts, ...]
    scores: tuple[HistogramBar, ...]
    days: tuple[HistogramBar, ...]


def count_facets(connection: Connection, condition: Condition | None) -> Facets:
    """Count the episodes of a condition by all facets.

    A facet in which something is chosen counts what the rest of the query finds, so that its other
    values tell what choosing them would bring.
    """
    names = (*TEXTS, *BESIDE)
    apart = [name for name in names if chosen(condition, name)]
    together = [name for name in names if name not in apart]
    ranged = [name for name in ("score", "recorded") if range_of(condition, name)]
    shared = [name for name in ("score", "recorded") if name not in ranged]
    rows = _counted(connection, condition, [*together, *shared])
    for name in [*apart, *ranged]:
        rows |= _counted(connection, drop_facet(condition, name), [name])
    return Facets(
        tuple(_facet(name, rows[name], chosen(condition, name)) for name in names),
        _score_bars(rows["score"]),
        _day_bars(rows["recorded"]),
    )


Rows = list[tuple[Any, int]]


def _counted(
    connection: Connection, condition: Condition | None, names: Iterable[str]
) -> dict[str, Rows]:
    """Values and counts by facet, the frequent ones first."""
    wanted = list(names)
    counted: dict[str, Rows] = {name: [] for name in wanted}
    found: FromClause = EPISODE
    if condition is not None:
        columns = [EPISODE.c[name] for name in ("id", *TEXTS, "score", "recorded_ns")]
        matching = select(*columns).where(episodes_sql(connection, condition))
        # Looked for once: rows of episodes are wide, and there are many facets.
        found = matching.cte("found").prefix_with("MATERIALIZED")
    for names_ in _lots(wanted, together=condition is not None):
        parts = [_count_sql(name, found, is_all=condition is None) for name in names_]
        both = union_all(*(select(part.subquery()) for part in parts))
        for name, value, count in connection.execute(both):
            counted[name].append((value, int(count)))
    for rows in counted.values():
        rows.sort(key=lambda row: (-row[1], row[0] is None, str(row[0])))
    return counted


def _lots(names: list[str], *, together: bool) -> list[list[str]]:
    """Numbers and texts are of different types, which PostgreSQL does not put into one column."""
    texts = [name for name in names if name not in ("score", "recorded")]
    numbers = [name for name in names if name in ("score", "recorded")]
    lots = [lot for lot in (texts, numbers) if lot]
    return lots if together else [[name] for name in names]


def _count_sql(name: str, found: FromClause, *, is_all: bool) -> Select[Any]:
    if name in BESIDE:
        column = BESIDE[name]
        owner = column.table.c.episode
        number = func.count(owner.distinct())
        counted = select(literal(name).label("facet"), column, number.label("number"))
        among = true() if is_all else owner.in_(select(found.c.id))
        counted = counted.where(among).group_by(column)
        return counted.order_by(number.desc(), column).limit(MOST_VALUES + 1)
    value: Any
    if name == "score":
        # A ladder, as the two databases do not round alike.
        steps = [(found.c.score < (place + 1) / SCORE_BINS, place) for place in range(SCORE_BINS)]
        value = case((found.c.score.is_(None), None), *steps, else_=SCORE_BINS - 1)
    elif name == "recorded":
        value = found.c.recorded_ns // DAY_NS
    else:
        value = found.c[name]
    number = func.count()
    counted = select(literal(name).label("facet"), value.label("value"), number.label("number"))
    counted = counted.select_from(found).group_by(value)
    most = _MOST_DAYS if name in ("score", "recorded") else MOST_VALUES + 1
    return counted.order_by(number.desc(), value).limit(most)


def _facet(name: str, rows: Rows, picked: frozenset[str | None]) -> FacetCounts:
    shown = [CountedValue(value, count, value in picked) for value, count in rows[:MOST_VALUES]]
    # What was chosen is always there to be taken back, found or not.
    there = {each.value for each in shown}
    missing = sorted(picked - there, key=str)
    shown += [CountedValue(value, dict(rows).get(value, 0), True) for value in missing]
    return FacetCounts(name, tuple(shown), len(rows) > MOST_VALUES)


def _score_bars(rows: Rows) -> tuple[HistogramBar, ...]:
    counts = {place: count for place, count in rows if place is not None}
    return tuple(
        HistogramBar(
            f"{place / SCORE_BINS:g}", f"{(place + 1) / SCORE_BINS:g}", counts.get(place, 0)
        )
        for place in range(SCORE_BINS)
    )


def _day_bars(rows: Rows) -> tuple[HistogramBar, ...]:
    counts = {int(day): count for day, count in rows if day is not None}
    if not counts:
        return ()
    first, last = min(counts), max(counts)
    width = -(-(last - first + 1) // MOST_BARS)
    bars = [0] * (-(-(last - first + 1) // width))
    for day, count in counts.items():
        bars[(day - first) // width] += count
    return tuple(
        HistogramBar(_day(first + place * width), _day(first + (place + 1) * width), count)
        for place, count in enumerate(bars)
    )


def _day(number: int) -> str:
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return (start + timedelta(days=max(0, min(number, 106_000)))).date().isoformat()


def chosen(condition: Condition | None, facet: str) -> frozenset[str | None]:
    """The values of a facet that a query asks for; None stands for unknown."""
    _check(facet)
    return frozenset(
        value for part in _parts(condition) for value in _values(part, facet) or frozenset()
    )


def range_of(condition: Condition | None, facet: str) -> bool:
    """Whether a query bounds a number or a date."""
    return any(_is_span(part, facet) for part in _parts(condition))


def drop_facet(condition: Condition | None, facet: str) -> Condition | None:
    """The query without what it asks of a facet."""
    _check(facet)
    return _joined([part for part in _parts(condition) if not _is_own(part, facet)])


def toggle_value(condition: Condition | None, facet: str, value: str | None) -> Condition | None:
    """The query with one value more of a facet, or without it where it was chosen."""
    picked = chosen(condition, facet) ^ {value}
    rest = [part for part in _parts(condition) if not _is_own(part, facet)]
    known = sorted(each for each in picked if each is not None)
    parts: list[Condition] = []
    if facet == "finding":
        parts += [HasFinding(check, None) for check in known]
    elif len(known) == 1:
        parts.append(Comparison(facet, "=", known[0]))
    elif known:
        parts.append(OneOf(facet, tuple(known)))
    if None in picked:
        parts.append(Known(facet, False))
    if parts:
        rest.append(parts[0] if len(parts) == 1 else Or(tuple(parts)))
    return _joined(rest)


def set_span(condition: Condition | None, facet: str, span: str) -> Condition | None:
    """The query with another span of a number or a date, such as `score >= 0.5`."""
    rest = [part for part in _parts(condition) if not _is_own(part, facet)]
    return _joined([*rest, *_parts(parse(span))])


def relax(condition: Condition) -> list[tuple[Condition, Condition | None]]:
    """Each part of a query that all others are joined to with `and`, and the query without it."""
    parts = _parts(condition)
    return [
        (part, _joined([*parts[:place], *parts[place + 1 :]])) for place, part in enumerate(parts)
    ]


def _check(facet: str) -> None:
    if facet not in FACETS:
        raise UnknownNameError("facet", facet[:80], FACETS)


def _parts(condition: Condition | None) -> list[Condition]:
    if condition is None:
        return []
    return list(condition.parts) if isinstance(condition, And) else [condition]


def _joined(parts: list[Condition]) -> Condition | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _is_own(part: Condition, facet: str) -> bool:
    return _is_span(part, facet) if facet in RANGES else _values(part, facet) is not None


def _is_span(part: Condition, facet: str) -> bool:
    if isinstance(part, Comparison):
        return part.field == facet and part.operator in _SPANS
    return isinstance(part, Between | Within) and part.field == facet


def _values(part: Condition, facet: str) -> frozenset[str | None] | None:
    """The values that a part of a query allows of a facet; None where it says anything else."""
    match part:
        case HasFinding(str(check), None) if facet == "finding":
            return frozenset((check,))
        case Comparison(name, "=", str(value)) if name == facet:
            return frozenset((value,))
        case OneOf(name, values) if name == facet:
            return frozenset(value for value in values if isinstance(value, str))
        case Known(name, False) if name == facet:
            return frozenset((None,))
        case Or(parts):
            own = [_values(each, facet) for each in parts]
            if any(each is None for each in own):
                return None
            return frozenset(value for each in own for value in each or ())
    return None
