"""In which order episodes are listed, and what comes behind one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    UnaryExpression,
    and_,
    literal,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.sql.operators import custom_op

from corporeal.catalog.query.fields import PLAIN, field_named
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
