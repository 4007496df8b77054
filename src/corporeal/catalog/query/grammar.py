"""Reads a query into a condition, or says at which character it cannot be understood."""

from __future__ import annotations

import difflib
import math
import re
from datetime import UTC, datetime, timedelta
from typing import cast, get_args

from corporeal.catalog.query.fields import (
    CHOICES,
    SIGNS,
    Field,
    expected_fields,
    find_field,
)
from corporeal.catalog.query.lexer import (
    NUMBER,
    RESERVED,
    QueryError,
    QueryToken,
    refusal,
    split_words,
)
from corporeal.catalog.query.tree import (
    DAY_NS,
    And,
    Between,
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
    Unit,
    Value,
    Within,
)
from corporeal.quality.check import SEVERITIES, present_name

MOST_STARS = 16
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?", re.ASCII
)
_NUMBERED = re.compile(r"#([0-9]{1,15})")
_BIGGEST = 2**63 - 1
_START = datetime(1970, 1, 1, tzinfo=UTC)
_END = datetime(2262, 1, 1, tzinfo=UTC)


def read_value(field: Field, word: QueryToken) -> Value | None:
    """The value of a field in a query; None where the word cannot be one."""
    if word.kind not in ("word", "quoted"):
        return None
    bare = word.kind == "word"
    if field.kind == "date":
        return read_date(word.text)
    if field.kind == "number":
        return read_number(word.text) if bare else None
    truth = word.means("true", "false")
    if field.kind == "truth":
        return word.means("true") if truth else None
    if field.kind == "json" and bare:
        if truth:
            return word.means("true")
        if NUMBER.fullmatch(word.text):
            return read_number(word.text)
    if bare and word.text.lower() in RESERVED:
        return None
    choices = CHOICES.get(field.name)
    return word.text if choices is None or word.text in choices else None


def expected_value(field: Field, got: str = "") -> str:
    """What a message says of the values that a field can have, with the nearest to what it got."""
    if field.name in CHOICES:
        close = difflib.get_close_matches(got.lower(), CHOICES[field.name], n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return f"one of {', '.join(CHOICES[field.name])}{hint}"
    return {
        "date": "a date such as 2026-11-01 or 2026-11-01T08:30, from 1970 to 2261",
        "number": "a number",
        "truth": "true or false",
        "json": "a word, a text in quotes, a number, true or false",
    }.get(field.kind, "a word, or a text in quotes")


def read_number(text: str) -> int | float | None:
    """An integer of 64 bits, or a finite float."""
    if not NUMBER.fullmatch(text):
        return None
    if len(text) <= 20 and text.lstrip("+-").isdigit():
        whole = int(text)
        return whole if -_BIGGEST <= whole <= _BIGGEST else None
    number = float(text)
    return number if math.isfinite(number) else None


def read_date(text: str) -> Date | None:
    """A day, or an instant; without a time zone it is UTC."""
    day = _DAY.fullmatch(text)
    if not day and not _TIME.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if not _START <= moment < _END:
            return None
    except (ValueError, OverflowError):
        return None
    start_ns = (moment - _START) // timedelta(microseconds=1) * 1000
    return Date(start_ns, start_ns + (DAY_NS if day else 1000))


DEEPEST = 32
MOST_CLAUSES = 200
MOST_VALUES = 500
_LONGEST_AGO = 100_000
_UNITS: tuple[Unit, ...] = get_args(Unit)


def parse(text: str) -> Condition:
    """The condition that a query states; raises QueryError with the place of what is wrong."""
    return _Parser(text).read()


class _Parser:
    """Reads from left to right; `not` binds tighter than `and`, that tighter than `or`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = split_words(text)
        self.place = 0
        self.depth = 0
        self.clauses = 0

    def read(self) -> Condition:
        condition = self._either()
        if self._now.kind != "end":
            raise self._wrong("and, or, or the end")
        return condition

    @property
    def _now(self) -> QueryToken:
        return self.words[self.place]

    def _take(self) -> QueryToken:
        word = self._now
        self.place += word.kind != "end"
        return word

    def _skip(self, *names: str) -> bool:
        """Step over a keyword or a mark, if it is next."""
        mark = self._now.kind == "mark" and self._now.text in names
        if mark or self._now.means(*names):
            self.place += 1
            return True
        return False

    def _wrong(self, expected: str, word: QueryToken | None = None) -> QueryError:
        word = word or self._now
        return refusal(self.text, word.at, word.shown, expected)

    def _either(self) -> Condition:
        parts = [self._both()]
        while self._skip("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _both(self) -> Condition:
        parts = [self._one()]
        while self._skip("and") or self._follows_text(parts[-1]):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _follows_text(self, last: Condition) -> bool:
        """Whether a word stands beside a word: `green cylinder` asks for both."""
        return isinstance(last, Mentions) and self._is_text()

    def _is_text(self) -> bool:
        """Whether what is next is no field and no keyword, and nothing is asked of it."""
        word = self._now
        if word.kind == "quoted":
            return True
        if word.kind != "word" or word.text.lower() in RESERVED or find_field(word.text):
            return False
        after = self.words[self.place + 1]
        asked = after.means("is", "between", "within") or self._lists(after)
        return after.kind != "sign" and not asked

    def _lists(self, after: QueryToken) -> bool:
        """Whether `in (` or `not in` begins here, which ask something of a field."""
        if after.kind == "end":
            return False
        second = self.words[self.place + 2]
        return (after.means("in") and second.text == "(") or (
            after.means("not") and second.means("in")
        )

    def _one(self) -> Condition:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._wrong(f"at most {DEEPEST} parentheses and nots inside each other")
        try:
            if self._skip("not"):
                return Not(self._one())
            if self._skip("("):
                inside = self._either()
                if not self._skip(")"):
                    raise self._wrong("and, or, or a closing parenthesis")
                return inside
            return self._clause()
        finally:
            self.depth -= 1

    def _clause(self) -> Condition:
        self.clauses += 1
        if self.clauses > MOST_CLAUSES:
            raise self._wrong(f"at most {MOST_CLAUSES} clauses")
        if self._skip("has"):
            return self._has()
        if self._skip("in"):
            return self._release()
        word = self._now
        if word.kind == "word" and (numbered := _NUMBERED.fullmatch(word.text)):
            self.place += 1
            return Comparison("number", "=", int(numbered[1]))
        if self._is_text():
            return Mentions(self._take().text)
        if word.kind != "word" or word.text.lower() in RESERVED:
            raise self._wrong("a word, a field, has, in release, not, or an opening parenthesis")
        field = find_field(word.text)
        if field is None:
            raise self._wrong(expected_fields(word.text))
        self.place += 1
        return self._about(field)

    def _about(self, field: Field) -> Condition:
        """What follows a field."""
        if self._now.kind == "sign":
            return self._comparison(field)
        if self._skip("is"):
            return self._known(field)
        if self._now.means("not") and self.words[self.place + 1].means("in"):
            self.place += 2
            return Not(self._one_of(field))
        if self._skip("in"):
            return self._one_of(field)
        if "<" in SIGNS[field.kind] and self._skip("between"):
            low = self._end(field)
            if not self._skip("and"):
                raise self._wrong("and with the upper end")
            return Between(field.name, low, self._end(field))
        if field.kind == "date" and self._skip("within"):
            return self._within(field)
        more = ", between" * ("<" in SIGNS[field.kind]) + ", within" * (field.kind == "date")
        raise self._wrong(f"one of {' '.join(SIGNS[field.kind])}, in, is known, is unknown{more}")

    def _comparison(self, field: Field) -> Condition:
        sign = "=" if self._now.text == "==" else self._now.text
        if sign not in SIGNS[field.kind]:
            raise self._wrong(f"one of {' '.join(SIGNS[field.kind])} after {field.name}")
        self.place += 1
        word = self._now
        value = self._value(field)
        if sign == "~" and (not isinstance(value, str) or value.count("*") > MOST_STARS):
            raise self._wrong(f"a text with at most {MOST_STARS} stars", word)
        if sign.strip("=") in ("<", ">") and isinstance(value, str | bool):
            raise self._wrong("a number", word)
        return Comparison(field.name, cast(Operator, sign), value)

    def _end(self, field: Field) -> Value:
        """One end of a span."""
        word, value = self._now, self._value(field)
        if isinstance(value, str | bool):
            raise self._wrong("a number", word)
        return value

    def _value(self, field: Field) -> Value:
        value = read_value(field, self._now)
        if value is None:
            raise self._wrong(expected_value(field, self._now.text))
        self.place += 1
        is_check = field.name == "not_assessed" and isinstance(value, str)
        return present_name(str(value)) if is_check else value

    def _one_of(self, field: Field) -> OneOf:
        if not self._skip("("):
            raise self._wrong("an opening parenthesis and values")
        values = [self._value(field)]
        while self._skip(","):
            if len(values) == MOST_VALUES:
                raise self._wrong(f"at most {MOST_VALUES} values")
            values.append(self._value(field))
        if not self._skip(")"):
            raise self._wrong("a comma or a closing parenthesis")
        return OneOf(field.name, tuple(values))

    def _known(self, field: Field) -> Known:
        turned = self._skip("not")
        if self._skip("known"):
            return Known(field.name, not turned)
        if self._skip("unknown"):
            return Known(field.name, turned)
        raise self._wrong("known or unknown")

    def _within(self, field: Field) -> Within:
        word = self._now
        count = read_number(self._take().text) if word.kind == "word" else None
        if not isinstance(count, int) or not 0 < count <= _LONGEST_AGO:
            raise self._wrong(f"a whole number from 1 to {_LONGEST_AGO}", word)
        for unit in _UNITS:
            if self._skip(unit, unit.removesuffix("s")):
                return Within(field.name, count, unit)
        raise self._wrong(f"one of {', '.join(_UNITS)}")

    def _has(self) -> Condition:
        if self._skip("finding"):
            return self._finding()
        if self._skip("stream"):
            return HasStream(self._name("the path of a stream"))
        if self._skip("document"):
            return HasDocument(self._name("a kind of document"))
        raise self._wrong("finding, stream or document")

    def _finding(self) -> HasFinding:
        named = self._now.kind == "quoted" or (
            self._now.kind == "word" and not self._now.means(*RESERVED, "severity")
        )
        check = present_name(self._take().text) if named else None
        if not self._skip("severity"):
            return HasFinding(check, None)
        if self._now.text not in SEVERITIES:
            raise self._wrong(f"one of {', '.join(SEVERITIES)}")
        return HasFinding(check, self._take().text)

    def _release(self) -> InRelease:
        if not self._skip("release"):
            raise self._wrong("release")
        name, at, version = self._name("a release such as walks@1.0.0").partition("@")
        if not name or (at and not version):
            raise self._wrong("a release such as walks@1.0.0", self.words[self.place - 1])
        split = self._name("the name of a split") if self._skip("split") else None
        return InRelease(name, version or None, split)

    def _name(self, what: str) -> str:
        word = self._now
        if word.kind not in ("word", "quoted") or word.means(*RESERVED):
            raise self._wrong(f"{what}, in quotes if it is a keyword")
        return self._take().text
