"""Turns a condition into SQL that is true or false of every episode, never in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, assert_never

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Float,
    Integer,
    Select,
    Table,
    Text,
    and_,
    case,
    cast,
    false,
    func,
    literal,
    not_,
    null,
    or_,
    select,
)

from corporeal.catalog.query.dialect import (
    begins,
    contains,
    json_kind,
    json_number,
    json_text,
    matches,
)
from corporeal.catalog.query.fields import Field, field_named
from corporeal.catalog.query.tree import (
    And,
    Between,
    Clause,
    Comparison,
    Condition,
    Date,
    HasDocument,
    HasFinding,
    HasStream,
    InRelease,
    Known,
    Mentions,
    Not,
    OneOf,
    Operator,
    Or,
    Value,
    Within,
    iso,
    map_clauses,
)
from corporeal.catalog.tables import (
    ASSESSMENT,
    DECISION,
    DOCUMENT,
    EPISODE,
    FINDING,
    GOVERNS,
    MEMBER,
    NOT_ASSESSED,
    PRACTICE,
    SCORE,
    STREAM,
    TAG,
)
from corporeal.quality.check import count_checks

Truth = ColumnElement[bool]
Test = Callable[[Field, ColumnElement[Any]], Truth]
Few = Callable[[Select[Any], Table, Collection[str]], bool]
"""Whether a search finds little: the search, its table, and the columns it asks for."""
_UNIT_S = {"minutes": 60, "hours": 3600, "days": 86_400, "weeks": 604_800}
_PARTS = {
    "score": (SCORE, "part", "value"),
    "rate": (STREAM, "path", "rate_hz"),
    "samples": (STREAM, "path", "samples"),
}
SEVERAL_COLUMNS: Mapping[str, Column[Any]] = {
    "not_assessed": NOT_ASSESSED.c.check, "tag": TAG.c.tag, "decided_by": DECISION.c.who,
    "practice": PRACTICE.c.why,
}  # fmt: skip
"""Where the fields are kept of which an episode has any number."""
_JSON_NULL = "null"
MENTIONED = (
    "id", "file", "task", "instruction", "operator", "station", "robot", "failure", "environment",
    "session", "batch",
)  # fmt: skip
"""Columns in which a plain word is looked for; the names of findings are beside them."""


def condition_sql(
    condition: Condition, *, now_ns: int | None = None, few: Few | None = None
) -> Truth:
    """The condition over the table of episodes; `within` counts back from `now_ns`.

    `few` may say of a search in another table that it finds little, and is better done first.
    """
    return _Writer(few or _never).write(pinned(condition, now_ns=now_ns))


def pinned(condition: Condition, *, now_ns: int | None = None) -> Condition:
    """The condition with `within 7 days` as the date it means now: what a release must keep."""
    now = time.time_ns() if now_ns is None else now_ns

    def pin(clause: Clause) -> Condition:
        if not isinstance(clause, Within):
            return clause
        start = max(0, now - clause.count * _UNIT_S[clause.unit] * 10**9) // 1000 * 1000
        return Comparison(clause.field, ">=", Date(start, start + 1000))

    return map_clauses(condition, pin)


class _Writer:
    """Writes clauses; `few` tells how to look into the tables beside that of episodes."""

    def __init__(self, few: Few) -> None:
        self.few = few

    def write(self, condition: Condition) -> Truth:
        if isinstance(condition, Not):
            return _opposite(self.write(condition.part))
        if isinstance(condition, And):
            return and_(*(self.write(part) for part in condition.parts))
        if isinstance(condition, Or):
            return or_(*(self.write(part) for part in condition.parts))
        return self._clause(condition)

    def _clause(self, clause: Clause) -> Truth:
        match clause:
            case Comparison("state", "!=", str(state)):
                return EPISODE.c.state != state  # Always known, and asked for by every figure.
            case Comparison(name, "!=", value):
                return _opposite(self._of(name, partial(_compare, operator="=", value=value)))
            case Comparison(name, operator, value):
                return self._of(name, partial(_compare, operator=operator, value=value))
            case OneOf(name, values):
                return self._of(name, partial(_one_of, values=values))
            case Between(name, low, high):
                return self._of(name, partial(_between, low=low, high=high))
            case Known(name, known):
                there = self._of(name, _is_known)
                return there if known else _opposite(there)
            case HasFinding(check, severity):
                return self._beside(FINDING, check=check, severity=severity)
            case HasStream(path):
                return self._beside(STREAM, path=path)
            case HasDocument(kind):
                return self._beside(GOVERNS, kind=kind)
            case InRelease(name, version, split):
                return self._beside(MEMBER, name=name, version=version, split=split)
            case Mentions(text):
                return self._mentions(text)
            case Within():
                return self.write(pinned(clause))
            case _:
                assert_never(clause)

    def _mentions(self, text: str) -> Truth:
        """Whether a text stands in a column the name of a finding or a tag, in capitals or not."""
        columns = [_contains(EPISODE.c[name], text) for name in MENTIONED]
        named = _contains(FINDING.c.check, text.replace(" ", "_"))
        tagged = _contains(TAG.c.tag, text)
        return or_(*columns, self._beside(FINDING, named), self._beside(TAG, tagged))

    def _of(self, name: str, test: Test) -> Truth:
        """A test of a field, wherever it is kept: in the episode's row, or in rows beside it."""
        field = field_named(name)
        if field.group == "document":
            reference = DOCUMENT.c.name + literal("@", Text) + DOCUMENT.c.version
            behind = select(DOCUMENT.c.hash).where(DOCUMENT.c.kind == field.part)
            within = GOVERNS.c.document.in_(behind.where(test(field, reference)))
            return self._beside(GOVERNS, within, kind=field.part)
        if field.name == "assessed":
            return test(field, _assessed())
        if field.name in SEVERAL_COLUMNS:
            column = SEVERAL_COLUMNS[field.name]
            return self._beside(column.table, test(field, column))
        if field.part is not None and field.group in _PARTS:
            table, part, value = _PARTS[field.group]
            return self._beside(table, test(field, table.c[value]), **{part: field.part})
        return test(field, EPISODE.c[field.column])

    def _beside(self, table: Table, *tests: Truth, **columns: str | None) -> Truth:
        """Whether a row for the episode is in another table, with these columns."""
        asked = {name: value for name, value in columns.items() if value is not None}
        wanted = [table.c[name] == value for name, value in asked.items()]
        rows = select(table.c.episode).where(*wanted, *tests)
        if self.few(rows, table, asked):
            return EPISODE.c.id.in_(rows)
        return rows.where(table.c.episode == EPISODE.c.id).correlate(EPISODE).exists()


def _contains(column: ColumnElement[Any], text: str) -> Truth:
    # SQLite knows small letters of ASCII alone: other letters are found as they are written.
    lowered = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    return func.coalesce(contains(func.lower(column), lowered), false())


def _assessed() -> ColumnElement[Any]:
    """The share of the checks that could run when an episode was last judged; NULL before that."""
    count, of = func.count(), count_checks()
    # A program with fewer checks than it was judged by leaves none, not less than none.
    share = case((count >= of, literal(0.0, Float)), else_=1.0 - cast(count, Float) / float(of))
    ran = select(share).where(NOT_ASSESSED.c.episode == EPISODE.c.id).correlate(EPISODE)
    judged = select(ASSESSMENT.c.episode).where(ASSESSMENT.c.episode == EPISODE.c.id)
    return case((judged.correlate(EPISODE).exists(), ran.scalar_subquery()), else_=null())


def _never(*_: object) -> bool:
    return False


def _opposite(truth: Truth) -> Truth:
    """True where something is false or unknown: SQL alone would drop the unknown."""
    return not_(func.coalesce(truth, false()))


def _is_known(field: Field, column: ColumnElement[Any]) -> Truth:
    if field.kind == "json":
        return json_kind(str(field.part)) != _JSON_NULL
    return column.is_not(None)


def _one_of(field: Field, column: ColumnElement[Any], *, values: tuple[Value, ...]) -> Truth:
    if field.kind == "text":
        return column.in_([value for value in values if isinstance(value, str)])
    return or_(*(_compare(field, column, operator="=", value=value) for value in values))


def _between(field: Field, column: ColumnElement[Any], *, low: Value, high: Value) -> Truth:
    return and_(
        _compare(field, column, operator=">=", value=low),
        _compare(field, column, operator="<=", value=high),
    )


def _compare(
    field: Field, column: ColumnElement[Any], *, operator: Operator, value: Value
) -> Truth:
    if isinstance(value, Date):
        return _compare_date(field, column, operator, value)
    if isinstance(value, bool):
        if field.kind == "json":
            return json_kind(str(field.part)) == ("true" if value else "false")
        return column.is_(value)
    if isinstance(value, str):
        text = json_text(str(field.part)) if field.kind == "json" else column
        return _compare_text(field, text, operator, value)
    number = json_number(str(field.part)) if field.kind == "json" else column
    whole = isinstance(value, int) and isinstance(number.type, Integer)
    bound = literal(value, BigInteger) if whole else literal(float(value), Float)
    return number.op(operator, is_comparison=True)(bound)


def _compare_text(field: Field, text: ColumnElement[Any], operator: Operator, value: str) -> Truth:
    if operator == "~":
        return matches(text, value)
    if field.kind == "reference" and "@" not in value:
        # A name without a version means all of its versions.
        return or_(text == value, begins(text, f"{value}@"))
    return text == value


def _compare_date(
    field: Field, column: ColumnElement[Any], operator: Operator, date: Date
) -> Truth:
    """A date is a span: `=` is inside it, `>` after its end, `<=` before its end."""
    start: Any = iso(date.start_ns) if field.column == "ingested_at" else date.start_ns
    end: Any = iso(date.end_ns) if field.column == "ingested_at" else date.end_ns
    spans: dict[str, Truth] = {
        "<": column < start,
        "<=": column < end,
        ">": column >= end,
        ">=": column >= start,
        "=": and_(column >= start, column < end),
    }
    return spans[operator]
