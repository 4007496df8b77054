"""Every hundredth episode of a listing, so that a page in its middle can be asked for at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select, true

from corporeal.catalog.query.condition import condition_sql
from corporeal.catalog.query.ordering import Ordering, read_ordering
from corporeal.catalog.query.search import is_few
from corporeal.catalog.query.tree import Condition
from corporeal.catalog.tables import EPISODE

_FEW = 100_000


@dataclass(frozen=True)
class PageKeys:
    """`ids` are the last episodes of each full page; `page(after=ids[n])` is page n + 1."""

    total: int
    step: int
    ids: tuple[str, ...]


def find_page_keys(
    connection: Connection, condition: Condition | None, *, order: str, step: int
) -> PageKeys:
    """Walk a listing once and keep one id in `step`."""
    way = read_ordering(order)
    found: ColumnElement[bool] = true()
    if condition is not None:
        found = condition_sql(condition, few=partial(is_few, connection, _FEW))
    ids, total = _walk(connection, found, way, known=True, step=step, before=0)
    if way.column.nullable:
        more, unknown = _walk(connection, found, way, known=False, step=step, before=total)
        ids, total = ids + more, total + unknown
    return PageKeys(total, step, tuple(ids))


def _walk(
    connection: Connection,
    found: ColumnElement[bool],
    order: Ordering,
    *,
    known: bool,
    step: int,
    before: int,
) -> tuple[list[str], int]:
    """The landmarks among episodes in which the order's column is known, or among all others."""
    part = order.behind(None) if known else order.behind_unknown(None)
    way: list[Any] = [EPISODE.c.id]
    if known and not order.is_by_id:
        way.insert(0, order.column.desc() if order.down else order.column.asc())
    elif order.is_by_id and order.down:
        way = [EPISODE.c.id.desc()]
    number = func.row_number().over(order_by=way).label("number")
    walk = select(EPISODE.c.id, number).where(found, part).subquery()
    marks = select(walk.c.id).where((walk.c.number + before) % step == 0).order_by(walk.c.number)
    ids = list(connection.execute(marks).scalars())
    total = select(func.count()).select_from(EPISODE).where(found, part)
    return ids, int(connection.execute(total).scalar_one())
