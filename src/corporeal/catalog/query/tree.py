"""What a query means, as a small tree of clauses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

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
class InRelease:
    """`in release NAME@VERSION split NAME`; without a version any of them."""

    name: str
    version: str | None
    split: str | None


Clause = (
    Comparison | OneOf | Between | Known | Within | HasFinding | HasStream | HasDocument | InRelease
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
