"""Refuses names and values that no episode has: a typing error must not look like an empty set."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, exists, func, literal, select

from corporeal.catalog.database import CatalogError
from corporeal.catalog.query.condition import SEVERAL_COLUMNS, condition_sql
from corporeal.catalog.query.dialect import begins, json_kind
from corporeal.catalog.query.fields import CHOICES, Field, find_field
from corporeal.catalog.query.search import leading_columns
from corporeal.catalog.query.tree import (
    And,
    Clause,
    Comparison,
    Condition,
    HasDocument,
    HasFinding,
    HasStream,
    InRelease,
    Mentions,
    Not,
    OneOf,
    Or,
)
from corporeal.catalog.tables import EPISODE, FINDING, GOVERNS, RELEASE, SCORE, STREAM, TAG
from corporeal.quality.check import checks, present_name

_MOST_SHOWN = 8
_MOST_COMPARED = 2000
"""Values that are read for a suggestion; a catalogue has more ids than anybody can mistype."""
_SAYS_NOTHING = ("", "none", "unknown", "n/a")
"""Words for what is not known: whoever asks for gaps asks for all of them, written or not."""
_VERSIONED = ("protocol", "calibration", "policy")
_PARTS: dict[str, Any] = {
    "score": SCORE.c.part,
    "rate": STREAM.c.path,
    "samples": STREAM.c.path,
    "document": GOVERNS.c.kind,
}


def check_names(connection: Connection, condition: Condition | None, *, all_of: bool) -> None:
    """Raise CatalogError for the first name or value that is nowhere in the catalogue.

    A field of which nothing is known at all refuses no value: nobody has failed yet, and asking
    for failures is right. `~` asks for anything. Without `all_of` only what an index answers at
    once is looked up; a query that finds nothing is worth the rest.
    """
    for clause in _clauses(condition):
        if all_of:
            _check_unnamed(connection, clause)
        for what, name, column in _names(clause):
            if all_of or column.name in leading_columns(column.table):
                _check_name(connection, what, name, column)


def _clauses(condition: Condition | None) -> Iterator[Clause]:
    if isinstance(condition, Not):
        yield from _clauses(condition.part)
    elif isinstance(condition, And | Or):
        for part in condition.parts:
            yield from _clauses(part)
    elif condition is not None:
        yield condition


def _names(clause: Clause) -> Iterator[tuple[str, str, Any]]:
    """What a clause calls by its name: what it is, the name, and the column that has them."""
    match clause:
        case HasFinding(str(check), _):
            yield "check", check, FINDING.c.check
        case HasStream(path):
            yield "stream", path, STREAM.c.path
        case HasDocument(kind):
            yield "kind of document", kind, GOVERNS.c.kind
        case InRelease(name, _, _):
            yield "release", name, RELEASE.c.name
        case Comparison(name, operator, value) if (field := find_field(name)) is not None:
            yield from _part_name(field)
            if operator in ("=", "!=") and isinstance(value, str):
                yield from _value_name(field, value)
        case OneOf(name, values) if (field := find_field(name)) is not None:
            yield from _part_name(field)
            for value in values:
                if isinstance(value, str):
                    yield from _value_name(field, value)
        case _:
            field = find_field(getattr(clause, "field", ""))
            if field is not None:
                yield from _part_name(field)


def _part_name(field: Field) -> Iterator[tuple[str, str, Any]]:
    if field.part is not None and field.group in _PARTS:
        what = {"score": "part of the score", "document": "kind of document"}
        yield what.get(field.group, "stream"), field.part, _PARTS[field.group]


def _value_name(field: Field, value: str) -> Iterator[tuple[str, str, Any]]:
    if field.name == "not_assessed":
        yield "check", value, FINDING.c.check
    elif field.name in SEVERAL_COLUMNS:
        yield field.name, value, SEVERAL_COLUMNS[field.name]
    elif field.part is None and field.name not in CHOICES and field.kind in ("text", "reference"):
        yield field.name, value, EPISODE.c[field.column]


def _check_unnamed(connection: Connection, clause: Clause) -> None:
    """A plain word, a number, or a key of the metadata, which no list of names has."""
    field = find_field(getattr(clause, "field", ""))
    if isinstance(clause, Mentions):
        _check_word(connection, clause.text)
    elif field is not None and field.group == "metadata":
        _check_key(connection, str(field.part))
    elif isinstance(clause, Comparison) and (clause.field, clause.operator) == ("number", "="):
        highest = connection.execute(select(func.max(EPISODE.c.number))).scalar_one()
        same = select(EPISODE.c.id).where(EPISODE.c.number == clause.value)
        if highest is not None and connection.execute(same).first() is None:
            raise CatalogError(
                f"no episode has the number #{clause.value}. The highest is #{highest}."
            )


def _check_word(connection: Connection, text: str) -> None:
    """A word that stands nowhere; those of tasks, failures, findings and tags are suggested."""
    some = select(EPISODE.c.id).where(condition_sql(Mentions(text))).limit(1)
    if connection.execute(some).first() is not None:
        return
    columns = (EPISODE.c.task, EPISODE.c.failure, EPISODE.c.instruction, FINDING.c.check, TAG.c.tag)
    there = {value for column in columns for value in _values(connection, column)}
    if there:
        names = {name.lower().replace("_", " ") for name in there | set(checks())}
        known = sorted(names | {word for name in names for word in name.split()} | there)
        close = difflib.get_close_matches(text.lower(), known, 1, 0.6)
        hint = f"Did you mean {close[0]}?" if close else "Fields are asked like task = reach."
        raise CatalogError(f"no episode mentions {text[:80]!r}. {hint}")


def _check_key(connection: Connection, path: str) -> None:
    """A key that no episode's metadata has; `not stated` must not look like `not so`."""
    if connection.execute(
        select(EPISODE.c.id).where(json_kind(path).is_not(None)).limit(1)
    ).first():
        return
    notes = select(EPISODE.c.metadata).where(EPISODE.c.state != "erased").limit(_MOST_COMPARED)
    known = {key for note in connection.execute(notes).scalars() for key in _keys(note)}
    if known:
        close = difflib.get_close_matches(path, sorted(known), 1, 0.5)
        shown = ", ".join(sorted(key for key in known if "." not in key)[:_MOST_SHOWN])
        hint = f"Did you mean metadata.{close[0]}?" if close else f"There are: {shown}."
        raise CatalogError(f"no episode has metadata.{path[:80]}. {hint}")


def _keys(note: Any, before: str = "") -> Iterator[str]:
    """Every path to a value of a note: floor, variation.hand."""
    for key, value in note.items() if isinstance(note, dict) else ():
        yield f"{before}{key}"
        yield from _keys(value, f"{before}{key}.")


def _check_name(connection: Connection, what: str, name: str, column: Any) -> None:
    if name in _SAYS_NOTHING or (what == "check" and name in checks()):
        return
    alike = column == name
    any_version = what in _VERSIONED and "@" not in name
    if any_version:
        alike = alike | begins(column, f"{name}@")
    if connection.execute(select(literal(1)).where(exists().where(alike))).first() is not None:
        return
    known = _known(connection, what, column)
    if any_version:
        known = sorted({value.partition("@")[0] for value in known})
    if not known:
        return
    # People remember what a check was called before.
    former = [each for check in checks().values() for each in check.formerly]
    is_check = what == "check"
    close = difflib.get_close_matches(name, [*known, *(former if is_check else ())], 1, 0.5)
    close = [present_name(each) if is_check else each for each in close]
    shown = ", ".join(known[:_MOST_SHOWN]) + (", ..." if len(known) > _MOST_SHOWN else "")
    hint = f"Did you mean {close[0]}?" if close else f"There are: {shown}."
    subject = "no check is called" if what == "check" else f"no episode has the {what}"
    raise CatalogError(f"{subject} {name[:80]!r}. {hint}")


def _known(connection: Connection, what: str, column: Any) -> list[str]:
    names = _values(connection, column)
    return sorted(names | set(checks())) if what == "check" else sorted(names)


def _values(connection: Connection, column: Any) -> set[str]:
    values = select(column).distinct().where(column.is_not(None)).limit(_MOST_COMPARED)
    return {str(value) for value in connection.execute(values).scalars()}
