"""How much is recorded in a day, and how much of it is good."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import BigInteger, Connection, func, literal_column, select

from corporeal.catalog.query import DAY_NS
from corporeal.catalog.tables import EPISODE
from corporeal.operations.figures.outcome import (
    OUTCOMES,
    Outcome,
    is_outcome,
    number_of,
    total_where,
)
from corporeal.operations.scope import Scope

# Written out, since PostgreSQL takes two parameters of the same value for two expressions.
DAY = EPISODE.c.recorded_ns // literal_column(str(DAY_NS), BigInteger)
"""The day (UTC) of an episode, counted from 1970."""
_MOST_COLUMNS = 45
_MONTH = 28


@dataclass(frozen=True)
class Span:
    """Some days in a row: `first` is counted from 1970."""

    first: int
    days: int
    hours: dict[Outcome, float]
    episodes: dict[Outcome, int]
    working_days: int

    @property
    def total_hours(self) -> float:
        """Everything that was recorded."""
        return sum(self.hours.values())


def daily(connection: Connection, scope: Scope) -> list[Span]:
    """Every day on which something was recorded, the oldest first."""
    sums = [total_where(is_outcome(each), EPISODE.c.duration_s) for each in OUTCOMES]
    counts = [number_of(is_outcome(each)) for each in OUTCOMES]
    day = DAY.label("day")
    rows = connection.execute(
        select(day, *sums, *counts)
        .where(scope.where, EPISODE.c.recorded_ns.is_not(None))
        .group_by(day)
        .order_by(day)
    )
    kinds = len(OUTCOMES)
    return [
        Span(
            int(row[0]), 1,
            {each: float(row[1 + place]) / 3600 for place, each in enumerate(OUTCOMES)},
            {each: int(row[1 + kinds + place]) for place, each in enumerate(OUTCOMES)},
            1,
        )
        for row in rows
    ]  # fmt: skip


def bucket_days(first: int, last: int) -> int:
    """How many days share a column so that a chart stays legible: 1, 7 or a multiple of 28."""
    span = last - first + 1
    if span <= _MOST_COLUMNS:
        return 1
    if span <= 7 * _MOST_COLUMNS:
        return 7
    return _MONTH * -(-span // (_MONTH * _MOST_COLUMNS))


def bucketed(days: list[Span]) -> list[Span]:
    """Days put together into columns of equal width without a gap; empty ones are nought."""
    if not days:
        return []
    width = bucket_days(days[0].first, days[-1].first)
    # Weeks begin on Monday: day 4 of 1970 was one.
    start = days[0].first if width == 1 else (days[0].first - 4) // 7 * 7 + 4
    count = (days[-1].first - start) // width + 1
    made = []
    for place in range(count):
        begin = start + place * width
        inside = [each for each in days if begin <= each.first < begin + width]
        made.append(Span(
            begin, width,
            {name: sum(each.hours[name] for each in inside) for name in OUTCOMES},
            {name: sum(each.episodes[name] for each in inside) for name in OUTCOMES},
            len(inside),
        ))  # fmt: skip
    return made


def undated(connection: Connection, scope: Scope) -> int:
    """How many episodes do not say when they were recorded."""
    query = select(func.count()).where(scope.where, EPISODE.c.recorded_ns.is_(None))
    return int(connection.execute(query).scalar_one())
