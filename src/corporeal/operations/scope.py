"""Which episodes a figure is about: a query, a span of days, and nothing that is erased."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.query import (
    DAY_NS,
    PRESENT,
    And,
    Comparison,
    Condition,
    Date,
    Known,
    OneOf,
    Within,
    count_episodes,
    parse,
    pinned,
    query_text,
)

MOST_DAYS = 36_500
_MOST_NAMED = 60


@dataclass(frozen=True)
class Scope:
    """The episodes that are counted; `parts` are conditions that all hold."""

    parts: tuple[Condition, ...] = ()
    now_ns: int = field(default_factory=time.time_ns)
    has_erased: bool = False

    @property
    def condition(self) -> Condition:
        """The scope as one condition, with `within 7 days` as the date it means here."""
        return pinned(And((PRESENT, *self.parts)), now_ns=self.now_ns)

    def meeting(self, *more: Condition) -> Condition:
        """The episodes in scope of which `more` holds too, as one condition."""
        return And((self.condition, *more))

    def query(self, *more: Condition) -> str:
        """What `corporeal ls` is asked for the episodes in scope of which `more` holds too.

        Erased episodes are only excluded in words where there are any: most queries stay short.
        """
        parts = [*self.parts, *more, *([PRESENT] if self.has_erased else [])]
        flat = [piece for part in parts for piece in _pieces(part)]
        once = tuple(dict.fromkeys(flat))
        if not once:
            return ""
        return query_text(once[0] if len(once) == 1 else And(once))


def read_scope(connection: Connection, query: str = "", days: int | None = None) -> Scope:
    """The scope that a query and a number of days state; raises QueryError for a wrong query."""
    parts: list[Condition] = [parse(query)] if query.strip() else []
    if days is not None:
        if not 1 <= days <= MOST_DAYS:
            raise CatalogError(f"days, got {days}; expected 1 to {MOST_DAYS}.")
        parts.append(Within("recorded", days, "days"))
    erased = count_episodes(connection, Comparison("state", "=", "erased"), up_to=1)
    return Scope(tuple(parts), has_erased=bool(erased))


def equals(name: str, value: str | None) -> Condition:
    """`field = value`, or `field is unknown`."""
    return Known(name, False) if value is None else Comparison(name, "=", value)


def only(episodes: Iterable[str]) -> Condition:
    """These episodes and no others; the first ones of very many."""
    return OneOf("id", tuple(dict.fromkeys(episodes))[:_MOST_NAMED])


def on_days(first: int, count: int = 1) -> tuple[Condition, ...]:
    """Recorded on `count` days (UTC) from a day, counted from 1970, on."""
    begin = _day(first)
    if count == 1:
        return (Comparison("recorded", "=", begin),)
    return (Comparison("recorded", ">=", begin), Comparison("recorded", "<", _day(first + count)))


def day_columns(first: int, last: int, *, most_days: int, most_weeks: int) -> range:
    """The first days of columns of equal width: days, weeks from Monday, or some four weeks."""
    span = last - first + 1
    weeks = 1 if span <= 7 * most_weeks else 4 * -(-span // (28 * most_weeks))
    if span <= most_days:
        return range(first, last + 1)
    # Day 4 of 1970 was a Monday.
    return range((first - 4) // 7 * 7 + 4, last + 1, 7 * weeks)


def _day(number: int) -> Date:
    return Date(number * DAY_NS, (number + 1) * DAY_NS)


def _pieces(condition: Condition) -> tuple[Condition, ...]:
    return condition.parts if isinstance(condition, And) else (condition,)
