"""Rows out: the episodes that a query finds, page by page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select, true, union_all

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes.rows import EpisodeRow
from corporeal.catalog.query.condition import Few, condition_sql, pinned
from corporeal.catalog.query.grammar import parse
from corporeal.catalog.query.search import Ordering, chosen_ids, episodes_sql, read_ordering
from corporeal.catalog.query.tree import Condition
from corporeal.catalog.query.vocabulary import check_names
from corporeal.catalog.tables import EPISODE

PAGE = 100
MOST = 10_000
"""Rows of one page; whoever wants all of them asks for `every`."""


@dataclass(frozen=True)
class EpisodePage:
    """Some rows of a listing; `after` asks for those that follow, None at the end."""

    rows: tuple[EpisodeRow, ...]
    after: str | None


def select_episodes(
    query: str | Condition | None = None,
    *,
    order: str = "id",
    limit: int | None = None,
    after: str | None = None,
    now_ns: int | None = None,
) -> Select[Any]:
    """Rows of the table of episodes: those a query finds, in the order of a field.

    `-score` begins with the highest; where the field is unknown comes last either way, and
    equals are in the order of their ids. `after` is the id of the last row already seen.
    """
    found, way = _found(query, now_ns=now_ns), read_ordering(order)
    if not way.column.nullable:
        return way.sorted(select(EPISODE).where(found, way.behind(after))).limit(limit)
    if limit is None and after is None:
        return way.sorted(select(EPISODE).where(found))
    # Two lists of ids that each follow an index; one list would have to be sorted as a whole.
    ids = select(EPISODE.c.id).where(found)
    known = way.sorted(ids.where(way.behind(after)), known=True)
    unknown = ids.where(way.behind_unknown(after)).order_by(EPISODE.c.id)
    both = union_all(*(select(part.limit(limit).subquery()) for part in (known, unknown)))
    rows = select(EPISODE).where(EPISODE.c.id.in_(select(both.subquery())))
    return way.sorted(rows).limit(limit)


def episode_page(
    connection: Connection,
    query: str | Condition | None = None,
    *,
    order: str = "id",
    limit: int = PAGE,
    after: str | None = None,
) -> EpisodePage:
    """One page of a listing; its cost does not grow with how many pages came before."""
    if not 1 <= limit <= MOST:
        raise CatalogError(f"limit, got {limit}; expected 1 to {MOST}. Ask for several pages.")
    if after is not None:
        _check_there(connection, after)
    condition = _read_checked(connection, query)
    rows = _rows(connection, condition, read_ordering(order), limit + 1, after)
    if not rows and isinstance(query, str):
        check_names(connection, condition, all_of=True)
    more = len(rows) > limit
    return EpisodePage(tuple(rows[:limit]), rows[limit - 1].id if more else None)


def every_episode(
    connection: Connection,
    query: str | Condition | None = None,
    *,
    order: str = "id",
    block: int = 2000,
) -> Iterator[EpisodeRow]:
    """All rows of a listing, a block in memory at a time."""
    condition = _read_checked(connection, query)
    # Seven days ago is the same moment on every page.
    condition = None if condition is None else pinned(condition)
    after: str | None = None
    while True:
        part = episode_page(connection, condition, order=order, limit=block, after=after)
        yield from part.rows
        if part.after is None:
            return
        after = part.after


def count_episodes(
    connection: Connection, query: str | Condition | None = None, *, up_to: int | None = None
) -> int:
    """How many episodes a query finds; with `up_to` it does not count further than that."""
    condition = _read_checked(connection, query)
    ids = select(EPISODE.c.id).where(episodes_sql(connection, condition)).limit(up_to)
    count = connection.execute(select(func.count()).select_from(ids.subquery())).scalar_one()
    if not count and isinstance(query, str):
        check_names(connection, condition, all_of=True)
    return int(count)


def _rows(
    connection: Connection,
    query: str | Condition | None,
    order: Ordering,
    limit: int,
    after: str | None,
) -> list[EpisodeRow]:
    if connection.dialect.name == "sqlite":
        now_ns = time.time_ns()
        found = partial(_found, query, now_ns)
        ids = chosen_ids(connection, found, order, limit, after)
        chosen = order.sorted(select(EPISODE).where(EPISODE.c.id.in_(ids)))
    else:
        chosen = select_episodes(query, order=order.name, limit=limit, after=after)
    return [EpisodeRow(*row) for row in connection.execute(chosen)]


def _found(
    query: str | Condition | None, now_ns: int | None = None, few: Few | None = None
) -> ColumnElement[bool]:
    condition = read_query(query)
    return true() if condition is None else condition_sql(condition, now_ns=now_ns, few=few)


def read_query(query: str | Condition | None) -> Condition | None:
    """The condition of a query; None for one that is empty."""
    if isinstance(query, str):
        return parse(query) if query.strip() else None
    return query


def _read_checked(connection: Connection, query: str | Condition | None) -> Condition | None:
    """The condition; what a person wrote is held against the names that the catalogue has."""
    condition = read_query(query)
    if isinstance(query, str):
        check_names(connection, condition, all_of=False)
    return condition


def _check_there(connection: Connection, name: str) -> None:
    if connection.execute(select(EPISODE.c.id).where(EPISODE.c.id == name)).first() is None:
        raise CatalogError(
            f"after, got {name[:80]!r}; expected the id of the last episode that was listed."
        )


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
    found = episodes_sql(connection, condition)
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
