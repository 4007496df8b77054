"""The order of a listing, and the ids of its pages: SQLite cannot guess if a query finds much."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    UnaryExpression,
    and_,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.sql.operators import custom_op

from corporeal.catalog.query.condition import Few, condition_sql
from corporeal.catalog.query.fields import PLAIN, field_named
from corporeal.catalog.query.tree import Condition
from corporeal.catalog.tables import EPISODE
from corporeal.errors import UnknownNameError

_PLUS: Any = custom_op("+")


@dataclass(frozen=True)
class Ordering:
    """By a column, up or down; then by id. Where the column is unknown comes last either way.

    With `free` no index of the column offers itself: SQLite follows those of the condition.
    """

    name: str
    column: Any
    down: bool
    free: bool = False

    @property
    def key(self) -> Any:
        """What is compared: the column, or an expression that is no column."""
        if not self.free:
            return self.column
        return UnaryExpression(self.column, operator=_PLUS, type_=self.column.type)

    @property
    def is_by_id(self) -> bool:
        """Whether ids are all there is to it."""
        return self.column is EPISODE.c.id

    def sorted(self, rows: Select[Any], *, known: bool = False) -> Select[Any]:
        """The rows of a search in this order; `known`: the column is, in all of them."""
        way = self.key.desc() if self.down else self.key.asc()
        if self.is_by_id:
            return rows.order_by(way)
        # The words NULLS LAST would keep a database from following the index.
        last = self.column.nullable and not known
        return rows.order_by(way.nulls_last() if last else way, EPISODE.c.id)

    def behind(self, after: str | None) -> ColumnElement[bool]:
        """Holds for known values, those after an episode's."""
        there = self.key.is_not(None) if self.column.nullable else true()
        if after is None:
            return there
        seen = literal(after) if self.is_by_id else self._value_at(after)
        further = self.key < seen if self.down else self.key > seen
        if self.is_by_id:
            return and_(further, true())
        at_least = self.key <= seen if self.down else self.key >= seen
        return and_(there, at_least, or_(further, EPISODE.c.id > after))

    def behind_unknown(self, after: str | None) -> ColumnElement[bool]:
        """Holds for episodes without a value, those after one that may have none itself."""
        if after is None:
            return and_(self.key.is_(None), true())
        passed = and_(self._value_at(after).is_(None), EPISODE.c.id <= after)
        return and_(self.key.is_(None), not_(passed))

    def _value_at(self, name: str) -> Any:
        seen = EPISODE.alias("seen")
        return select(seen.c[self.column.name]).where(seen.c.id == name).scalar_subquery()


def read_ordering(text: str) -> Ordering:
    """The order by a field such as `score`; `-score` begins with the highest."""
    name = text.removeprefix("-")
    if name not in PLAIN:
        raise UnknownNameError("field to order by", name[:80], PLAIN)
    return Ordering(text, EPISODE.c[field_named(name).column], text.startswith("-"))


WALKS = (1_000, 16_000)
"""How many episodes are looked at in order before the condition is asked first."""
_FEW = 50_000
_MANY = 100_000
"""Rows of another table that may be looked up first, for a page and for a whole listing."""

Found = Callable[[Few | None], ColumnElement[bool]]
"""Writes the condition, with a way to learn which of its searches find little."""


def chosen_ids(
    connection: Connection,
    found: Found,
    order: Ordering,
    limit: int,
    after: str | None,
) -> list[str]:
    """The ids of the next episodes of a listing.

    A query that finds much is answered by walking in order until there is enough; one that finds
    little by its own indices, and what was found is sorted. The walk is short, so trying it costs
    little; the other way round either guess could take seconds.
    """
    known = _next(connection, found, order, known=True, after=after, limit=limit)
    rest = limit - len(known)
    if not rest or not order.column.nullable:
        return known
    return known + _next(connection, found, order, known=False, after=after, limit=rest)


def is_few(
    connection: Connection,
    most: int,
    rows: Select[Any],
    table: Table,
    columns: Collection[str],
) -> bool:
    """Whether a search in another table finds so little that it should come first.

    Only where an index answers that at once. PostgreSQL decides for itself, and better.
    """
    if connection.dialect.name != "sqlite" or leading_columns(table).isdisjoint(columns):
        return False
    some = rows.limit(most + 1).subquery()
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one()) <= most


def _next(
    connection: Connection, found: Found, order: Ordering, *, known: bool, after: str | None,
    limit: int,
) -> list[str]:  # fmt: skip
    """The next ids among episodes in which the column is known, or among all others."""
    walk, condition = _in_order(order, known, after), found(None)
    if condition.compare(true()):
        return list(connection.execute(walk.limit(limit)).scalars())
    density = 1.0
    for steps in WALKS:
        if density * steps < limit:
            break
        some = walk.limit(steps).subquery()
        # Inside a function the condition offers no index, so that the walk comes first.
        holds = func.coalesce(condition, false())
        ids = select(EPISODE.c.id).where(EPISODE.c.id.in_(select(some.c.id)), holds)
        ids = order.sorted(ids, known=True) if known else ids.order_by(EPISODE.c.id)
        got = list(connection.execute(ids.limit(limit)).scalars())
        seen = int(connection.execute(select(func.count()).select_from(some)).scalar_one())
        if len(got) == limit or seen < steps:
            return got
        density = len(got) / steps
    ids = _in_order(replace(order, free=True), known, after)
    ids = ids.where(found(partial(is_few, connection, _FEW))).limit(limit)
    return list(connection.execute(ids).scalars())


def _in_order(order: Ordering, known: bool, after: str | None) -> Select[Any]:
    ids = select(EPISODE.c.id)
    if known:
        return order.sorted(ids.where(order.behind(after)), known=True)
    return ids.where(order.behind_unknown(after)).order_by(EPISODE.c.id)


def leading_columns(table: Table) -> set[str]:
    """The columns by which an index of a table begins."""
    first = {next(iter(index.columns)).name for index in table.indexes}
    return first | {next(iter(table.primary_key.columns)).name}


def episodes_sql(connection: Connection, condition: Condition | None) -> ColumnElement[bool]:
    """A condition over the table of episodes, searches that find little first; None: all."""
    if condition is None:
        return true()
    return condition_sql(condition, few=partial(is_few, connection, _MANY))
