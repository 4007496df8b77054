"""Reads the value that a field is compared with, as the field's kind wants it."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from corporeal.catalog.query.fields import CHOICES, Field
from corporeal.catalog.query.spelling import DAY_NS
from corporeal.catalog.query.tree import Date, Value
from corporeal.catalog.query.words import NUMBER, RESERVED, Word

MOST_STARS = 16
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?", re.ASCII
)
_BIGGEST = 2**63 - 1
_START = datetime(1970, 1, 1, tzinfo=UTC)
_END = datetime(2262, 1, 1, tzinfo=UTC)


def read_value(field: Field, word: Word) -> Value | None:
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


def expected_value(field: Field) -> str:
    """What a message says of the values that a field can have."""
    if field.name in CHOICES:
        return f"one of {', '.join(CHOICES[field.name])}"
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
