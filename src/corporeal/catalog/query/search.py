"""Finds the ids of a page in SQLite, which cannot guess whether a query finds much or little."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, false, func, select, true

from corporeal.catalog.query.condition import Few
from corporeal.catalog.query.ordering import Ordering
from corporeal.catalog.tables import EPISODE

WALKS = (1_000, 16_000)
"""How many episodes are looked at in order before the condition is asked first."""
_FEW = 20_000

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
    if connection.dialect.name != "sqlite" or _leading(table).isdisjoint(columns):
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


def _leading(table: Table) -> set[str]:
    """The columns by which an index of a table begins."""
    first = {next(iter(index.columns)).name for index in table.indexes}
    return first | {next(iter(table.primary_key.columns)).name}
