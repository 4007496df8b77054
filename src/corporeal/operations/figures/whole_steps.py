"""Rounding down inside SQL, the same in SQLite and PostgreSQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Integer
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

# SQLite cuts off towards nought; shifted by so much every number that matters is above it.
_SHIFT = 1_000_000
# A number this close below a step was meant to be on it: 0.6 / 0.2 falls short of 3.
_CLOSE = 1e-9


class _Floor(FunctionElement[int]):
    """A number rounded down; NULL stays NULL."""

    type = Integer()
    inherit_cache = True


def whole_steps(value: ColumnElement[Any], step: float) -> ColumnElement[int]:
    """How many whole steps fit into a value, rounded down."""
    return _Floor(value / step + _CLOSE)


@compiles(_Floor, "sqlite")
def _sqlite_floor(element: _Floor, compiler: SQLCompiler, **kw: Any) -> str:
    inside = compiler.process(next(iter(element.clauses)), **kw)
    return f"(CAST({inside} + {_SHIFT}.0 AS INTEGER) - {_SHIFT})"


@compiles(_Floor, "postgresql")
def _postgres_floor(element: _Floor, compiler: SQLCompiler, **kw: Any) -> str:
    inside = compiler.process(next(iter(element.clauses)), **kw)
    return f"floor({inside})"
