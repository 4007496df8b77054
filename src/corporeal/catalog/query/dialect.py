"""What SQLite and PostgreSQL say differently: patterns, whole steps, and values inside JSON."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, ColumnElement, Float, Integer, Text, case, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from corporeal.catalog.tables import EPISODE

_NUMBERS = ("integer", "real", "number")
_TEXTS = ("text", "string")
# A longer number would stop PostgreSQL in the middle of a query.
_MOST_DIGITS = 300
# SQLite cuts off towards nought; shifted by so much every number that matters is above it.
_SHIFT = 1_000_000
# A number this close below a step was meant to be on it: 0.6 / 0.2 falls short of 3.
_CLOSE = 1e-9


class _Matches(FunctionElement[bool]):
    """text, pattern for GLOB, pattern for LIKE: both are case-sensitive."""

    type = Boolean()
    inherit_cache = True


class _JsonKind(FunctionElement[str]):
    """document, path for SQLite, path for PostgreSQL: the type's name; true and false are two."""

    type = Text()
    inherit_cache = True


class _JsonText(FunctionElement[str]):
    """document and the two paths: the text there."""

    type = Text()
    inherit_cache = True


class _JsonNumber(FunctionElement[float]):
    """document and the two paths: the number there."""

    type = Float()
    inherit_cache = True


class _Floor(FunctionElement[int]):
    """A number rounded down; NULL stays NULL."""

    type = Integer()
    inherit_cache = True


def matches(text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
    """`*` in the pattern is anything; a pattern without one is a part of the text."""
    return _pattern(text, pattern.split("*") if "*" in pattern else ["", pattern, ""])


def begins(text: ColumnElement[Any], start: str) -> ColumnElement[bool]:
    """Whether a text begins with another, which has no wildcards."""
    return _pattern(text, [start, ""])


def _pattern(text: ColumnElement[Any], pieces: list[str]) -> ColumnElement[bool]:
    """Pieces in a row with anything between them; their own letters are taken as they are."""
    globbed = "*".join("".join(f"[{c}]" if c in "*?[" else c for c in each) for each in pieces)
    liked = "%".join("".join(f"!{c}" if c in "!%_" else c for c in each) for each in pieces)
    return _Matches(text, literal(globbed, Text), literal(liked, Text))


def whole_steps(value: ColumnElement[Any], step: float) -> ColumnElement[int]:
    """How many whole steps fit into a value, rounded down."""
    return _Floor(value / step + _CLOSE)


def json_kind(path: str) -> ColumnElement[str]:
    """The type of a value in an episode's metadata; NULL where there is none."""
    return _JsonKind(*_located(path))


def json_text(path: str) -> ColumnElement[Any]:
    """A text in an episode's metadata; NULL where there is another kind of value."""
    return case((json_kind(path).in_(_TEXTS), _JsonText(*_located(path))))


def json_number(path: str) -> ColumnElement[Any]:
    """A number in an episode's metadata; NULL where there is another kind of value."""
    return case((json_kind(path).in_(_NUMBERS), _JsonNumber(*_located(path))))


def _located(path: str) -> tuple[ColumnElement[Any], ...]:
    """The metadata and a path of plain keys and counts, in the writing of either database."""
    keys = path.split(".")
    return (
        EPISODE.c.metadata,
        literal("$" + "".join(f"[{k}]" if k.isdigit() else f'."{k}"' for k in keys), Text),
        literal("{" + ",".join(f'"{key}"' for key in keys) + "}", Text),
    )


def _parts(
    element: FunctionElement[Any], compiler: SQLCompiler, numbers: str, **kw: Any
) -> list[str]:
    own = list(element.clauses)
    return [compiler.process(own[int(number)], **kw) for number in numbers]


@compiles(_Matches, "sqlite")
def _glob(element: _Matches, compiler: SQLCompiler, **kw: Any) -> str:
    text, pattern = _parts(element, compiler, "01", **kw)
    return f"({text} GLOB {pattern})"


@compiles(_Matches, "postgresql")
def _like(element: _Matches, compiler: SQLCompiler, **kw: Any) -> str:
    text, pattern = _parts(element, compiler, "02", **kw)
    return f"({text} LIKE {pattern} ESCAPE '!')"


@compiles(_Floor, "sqlite")
def _sqlite_floor(element: _Floor, compiler: SQLCompiler, **kw: Any) -> str:
    return f"(CAST({_parts(element, compiler, '0', **kw)[0]} + {_SHIFT}.0 AS INTEGER) - {_SHIFT})"


@compiles(_Floor, "postgresql")
def _postgres_floor(element: _Floor, compiler: SQLCompiler, **kw: Any) -> str:
    return f"floor({_parts(element, compiler, '0', **kw)[0]})"


@compiles(_JsonKind, "sqlite")
def _sqlite_kind(element: _JsonKind, compiler: SQLCompiler, **kw: Any) -> str:
    document, path = _parts(element, compiler, "01", **kw)
    return f"json_type({document}, {path})"


@compiles(_JsonKind, "postgresql")
def _postgres_kind(element: _JsonKind, compiler: SQLCompiler, **kw: Any) -> str:
    document, path = _parts(element, compiler, "02", **kw)
    there = f"({document} #> CAST({path} AS text[]))"
    return (
        f"(CASE WHEN jsonb_typeof{there} = 'boolean' THEN {there}::text "
        f"ELSE jsonb_typeof{there} END)"
    )


@compiles(_JsonText, "sqlite")
@compiles(_JsonNumber, "sqlite")
def _sqlite_value(element: FunctionElement[Any], compiler: SQLCompiler, **kw: Any) -> str:
    document, path = _parts(element, compiler, "01", **kw)
    return f"json_extract({document}, {path})"


@compiles(_JsonText, "postgresql")
def _postgres_text(element: _JsonText, compiler: SQLCompiler, **kw: Any) -> str:
    document, path = _parts(element, compiler, "02", **kw)
    return f"({document} #>> CAST({path} AS text[]))"


@compiles(_JsonNumber, "postgresql")
def _postgres_number(element: _JsonNumber, compiler: SQLCompiler, **kw: Any) -> str:
    document, path = _parts(element, compiler, "02", **kw)
    there = f"({document} #>> CAST({path} AS text[]))"
    return (
        f"(CASE WHEN length({there}) < {_MOST_DIGITS} THEN CAST({there} AS double precision) END)"
    )
