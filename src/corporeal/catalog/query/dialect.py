"""What SQLite and PostgreSQL say differently: patterns, whole steps, and values inside JSON."""

from __future__ import annotations

from typing import Any, ClassVar

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


class _Spoken(FunctionElement[Any]):
    """SQL that each database has its own words for; `{0}` is the first of its arguments."""

    sqlite: ClassVar[str]
    postgresql: ClassVar[str]


@compiles(_Spoken)
def _speak(element: _Spoken, compiler: SQLCompiler, **kw: Any) -> str:
    words = element.sqlite if compiler.dialect.name == "sqlite" else element.postgresql
    # Only what it has words for: a parameter that stands nowhere would be one too many.
    return words.format(*(
        compiler.process(each, **kw) if f"{{{place}}}" in words else ""
        for place, each in enumerate(element.clauses)
    ))  # fmt: skip


class _Matches(_Spoken):
    """text, pattern for GLOB, pattern for LIKE: both are case-sensitive."""

    type = Boolean()
    inherit_cache = True
    sqlite = "({0} GLOB {1})"
    postgresql = "({0} LIKE {2} ESCAPE '!')"


class _Floor(_Spoken):
    """A number rounded down; NULL stays NULL."""

    type = Integer()
    inherit_cache = True
    sqlite = f"(CAST({{0}} + {_SHIFT}.0 AS INTEGER) - {_SHIFT})"
    postgresql = "floor({0})"


# Of a value in JSON: document, path for SQLite, path for PostgreSQL.
_AT = "({0} #> CAST({2} AS text[]))"
_TEXT_AT = "({0} #>> CAST({2} AS text[]))"


class _JsonKind(_Spoken):
    """The type's name; true and false are two."""

    type = Text()
    inherit_cache = True
    sqlite = "json_type({0}, {1})"
    postgresql = (
        f"(CASE WHEN jsonb_typeof{_AT} = 'boolean' THEN {_AT}::text ELSE jsonb_typeof{_AT} END)"
    )


class _JsonText(_Spoken):
    """The text there."""

    type = Text()
    inherit_cache = True
    sqlite = "json_extract({0}, {1})"
    postgresql = _TEXT_AT


class _JsonNumber(_Spoken):
    """The number there."""

    type = Float()
    inherit_cache = True
    sqlite = "json_extract({0}, {1})"
    postgresql = (
        f"(CASE WHEN length({_TEXT_AT}) < {_MOST_DIGITS} "
        f"THEN CAST({_TEXT_AT} AS double precision) END)"
    )


def matches(text: ColumnElement[Any], pattern: str) -> ColumnElement[bool]:
    """`*` in the pattern is anything; a pattern without one is a part of the text."""
    return _pattern(text, pattern.split("*") if "*" in pattern else ["", pattern, ""])


def contains(text: ColumnElement[Any], part: str) -> ColumnElement[bool]:
    """Whether a text has another in it, which has no wildcards."""
    return _pattern(text, ["", part, ""])


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
