"""Narrows a query by a click: one value more or less of a field, or another span of it."""

from __future__ import annotations

from corporeal.catalog.query.grammar import parse
from corporeal.catalog.query.tree import (
    And,
    Between,
    Comparison,
    Condition,
    HasFinding,
    Known,
    OneOf,
    Or,
    Within,
)
from corporeal.errors import UnknownNameError

TEXTS = ("task", "operator", "station", "robot", "verdict", "state", "failure", "batch")
RANGES = ("score", "recorded")
FACETS = (*TEXTS, "finding", *RANGES)
_SPANS = ("<", "<=", ">", ">=", "=")


def read_query(query: str | None) -> Condition | None:
    """The condition of a query; None for one that is empty."""
    return parse(query) if query and query.strip() else None


def chosen(condition: Condition | None, facet: str) -> frozenset[str | None]:
    """The values of a facet that a query asks for; None stands for unknown."""
    _check(facet)
    return frozenset(
        value for part in _parts(condition) for value in _values(part, facet) or frozenset()
    )


def range_of(condition: Condition | None, facet: str) -> bool:
    """Whether a query bounds a number or a date."""
    return any(_is_span(part, facet) for part in _parts(condition))


def drop_facet(condition: Condition | None, facet: str) -> Condition | None:
    """The query without what it asks of a facet."""
    _check(facet)
    return _joined([part for part in _parts(condition) if not _is_own(part, facet)])


def toggle_value(condition: Condition | None, facet: str, value: str | None) -> Condition | None:
    """The query with one value more of a facet, or without it where it was chosen."""
    picked = chosen(condition, facet) ^ {value}
    rest = [part for part in _parts(condition) if not _is_own(part, facet)]
    known = sorted(each for each in picked if each is not None)
    parts: list[Condition] = []
    if facet == "finding":
        parts += [HasFinding(check, None) for check in known]
    elif len(known) == 1:
        parts.append(Comparison(facet, "=", known[0]))
    elif known:
        parts.append(OneOf(facet, tuple(known)))
    if None in picked:
        parts.append(Known(facet, False))
    if parts:
        rest.append(parts[0] if len(parts) == 1 else Or(tuple(parts)))
    return _joined(rest)


def set_span(condition: Condition | None, facet: str, span: str) -> Condition | None:
    """The query with another span of a number or a date, such as `score >= 0.5`."""
    rest = [part for part in _parts(condition) if not _is_own(part, facet)]
    return _joined([*rest, *_parts(parse(span))])


def relax(condition: Condition) -> list[tuple[Condition, Condition | None]]:
    """Each part of a query that all others are joined to with `and`, and the query without it."""
    parts = _parts(condition)
    return [
        (part, _joined([*parts[:place], *parts[place + 1 :]])) for place, part in enumerate(parts)
    ]


def _check(facet: str) -> None:
    if facet not in FACETS:
        raise UnknownNameError("facet", facet[:80], FACETS)


def _parts(condition: Condition | None) -> list[Condition]:
    if condition is None:
        return []
    return list(condition.parts) if isinstance(condition, And) else [condition]


def _joined(parts: list[Condition]) -> Condition | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _is_own(part: Condition, facet: str) -> bool:
    return _is_span(part, facet) if facet in RANGES else _values(part, facet) is not None


def _is_span(part: Condition, facet: str) -> bool:
    if isinstance(part, Comparison):
        return part.field == facet and part.operator in _SPANS
    return isinstance(part, Between | Within) and part.field == facet


def _values(part: Condition, facet: str) -> frozenset[str | None] | None:
    """The values that a part of a query allows of a facet; None where it says anything else."""
    match part:
        case HasFinding(str(check), None) if facet == "finding":
            return frozenset((check,))
        case Comparison(name, "=", str(value)) if name == facet:
            return frozenset((value,))
        case OneOf(name, values) if name == facet:
            return frozenset(value for value in values if isinstance(value, str))
        case Known(name, False) if name == facet:
            return frozenset((None,))
        case Or(parts):
            own = [_values(each, facet) for each in parts]
            if any(each is None for each in own):
                return None
            return frozenset(value for each in own for value in each or ())
    return None
