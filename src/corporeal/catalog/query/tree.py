"""What a query means, as a small tree of clauses, and the one spelling that releases keep."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from corporeal.catalog.query.lexer import RESERVED

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./@:*+-]*")
# Words that may follow a name; as a name they are written in quotes.
_FOLLOWING = frozenset(("severity", "split"))
DAY_NS = 86_400 * 10**9
Operator = Literal["=", "!=", "<", "<=", ">", ">=", "~"]
Unit = Literal["minutes", "hours", "days", "weeks"]


@dataclass(frozen=True)
class Date:
    """A day, or an instant to the microsecond: Unix time from `start_ns` to before `end_ns`."""

    start_ns: int
    end_ns: int


Value = str | int | float | bool | Date


@dataclass(frozen=True)
class Comparison:
    """`field operator value`; does not hold where the field is unknown, unless it is `!=`."""

    field: str
    operator: Operator
    value: Value


@dataclass(frozen=True)
class OneOf:
    """`field in (a, b)`."""

    field: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Between:
    """`field between low and high`, both included."""

    field: str
    low: Value
    high: Value


@dataclass(frozen=True)
class Known:
    """`field is known`, or `is unknown` when `known` is false."""

    field: str
    known: bool


@dataclass(frozen=True)
class Within:
    """`field within 7 days`: no longer ago than that."""

    field: str
    count: int
    unit: Unit


@dataclass(frozen=True)
class HasFinding:
    """`has finding NAME severity fail`; without a name any check, without a severity any."""

    check: str | None
    severity: str | None


@dataclass(frozen=True)
class HasStream:
    """`has stream PATH`."""

    path: str


@dataclass(frozen=True)
class HasDocument:
    """`has document KIND`."""

    kind: str


@dataclass(frozen=True)
class Mentions:
    """A plain word or a text in quotes: it stands somewhere in what people know an episode by."""

    text: str


@dataclass(frozen=True)
class InRelease:
    """`in release NAME@VERSION split NAME`; without a version any of them."""

    name: str
    version: str | None
    split: str | None


Clause = (
    Comparison
    | OneOf
    | Between
    | Known
    | Within
    | HasFinding
    | HasStream
    | HasDocument
    | InRelease
    | Mentions
)


@dataclass(frozen=True)
class Not:
    """Holds where `part` does not."""

    part: Condition


@dataclass(frozen=True)
class And:
    """Holds where all parts do."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Or:
    """Holds where any part does."""

    parts: tuple[Condition, ...]


Condition = Clause | Not | And | Or


def map_clauses(condition: Condition, change: Callable[[Clause], Condition]) -> Condition:
    """The same tree with every clause changed."""
    if isinstance(condition, Not):
        return Not(map_clauses(condition.part, change))
    if isinstance(condition, And):
        return And(tuple(map_clauses(part, change) for part in condition.parts))
    if isinstance(condition, Or):
        return Or(tuple(map_clauses(part, change) for part in condition.parts))
    return change(condition)


def query_text(condition: Condition) -> str:
    """The canonical text: `parse(query_text(condition))` is the condition again."""
    if isinstance(condition, Not):
        return f"not {_inner(condition.part)}"
    if isinstance(condition, And):
        return " and ".join(_inner(part) for part in condition.parts)
    if isinstance(condition, Or):
        return " or ".join(
            query_text(part) if isinstance(part, And) else _inner(part) for part in condition.parts
        )
    return _unparse_clause(condition)


def _inner(condition: Condition) -> str:
    text = query_text(condition)
    return f"({text})" if isinstance(condition, And | Or) else text


def _unparse_clause(clause: Clause) -> str:
    match clause:
        case Comparison(field, operator, value):
            return f"{field} {operator} {unparse_value(value)}"
        case OneOf(field, values):
            return f"{field} in ({', '.join(unparse_value(value) for value in values)})"
        case Between(field, low, high):
            return f"{field} between {unparse_value(low)} and {unparse_value(high)}"
        case Known(field, known):
            return f"{field} is {'known' if known else 'unknown'}"
        case Within(field, count, unit):
            return f"{field} within {count} {unit}"
        case HasFinding(check, severity):
            name = "" if check is None else f" {unparse_value(check)}"
            return f"has finding{name}" + (f" severity {severity}" if severity else "")
        case HasStream(path):
            return f"has stream {unparse_value(path)}"
        case HasDocument(kind):
            return f"has document {unparse_value(kind)}"
        case InRelease(name, version, split):
            which = name if version is None else f"{name}@{version}"
            part = "" if split is None else f" split {unparse_value(split)}"
            return f"in release {unparse_value(which)}{part}"
        case Mentions(text):
            # In quotes it is a text whatever fields there will be.
            return _quote(text)


def unparse_value(value: Value) -> str:
    """A value as it is written in a query."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Date):
        return _unparse_date(value)
    if isinstance(value, int | float):
        return repr(value)
    if _PLAIN.fullmatch(value) and value.lower() not in RESERVED | _FOLLOWING:
        return value
    return _quote(value)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _unparse_date(date: Date) -> str:
    if date.end_ns - date.start_ns == DAY_NS:
        return iso(date.start_ns)[:10]
    return iso(date.start_ns)


def iso(time_ns: int) -> str:
    """Unix time as the tables have it: ISO 8601 in UTC, to the microsecond."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
