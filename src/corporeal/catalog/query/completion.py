"""What could be written next in a query: fields, signs, and values that episodes have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, select

from corporeal.catalog.query.condition import SEVERAL_COLUMNS
from corporeal.catalog.query.dialect import begins
from corporeal.catalog.query.fields import CHOICES, PARTED, SIGNS, WHOLE, Field, find_field
from corporeal.catalog.query.lexer import RESERVED, QueryError, QueryToken, split_words
from corporeal.catalog.query.tree import unparse_value
from corporeal.catalog.tables import EPISODE, FINDING, GOVERNS, RELEASE, SCORE, STREAM
from corporeal.quality.check import SEVERITIES

MOST = 24
_AROUND = 5000
"""Rows that are looked at for the parts of a field, such as the streams in `rate.<stream>`."""
Kind = Literal["field", "sign", "value", "keyword"]
_KINDS = {
    "text": "text", "reference": "name@version", "number": "number", "truth": "true or false",
    "date": "date", "json": "what the recorder noted",
}  # fmt: skip
_SIGN_WORDS = {"=": "is", "!=": "is not", "~": "contains; * is anything"}


@dataclass(frozen=True)
class CompletionItem:
    """A text to put in, what it is, and a word about it."""

    text: str
    kind: Kind
    detail: str = ""


@dataclass(frozen=True)
class Completion:
    """What could stand from `start` to `end`, counted from 0."""

    start: int
    end: int
    items: tuple[CompletionItem, ...]


def complete(connection: Connection, query: str, cursor: int) -> Completion:
    """What could be written at the cursor; nothing where what stands before it is wrong."""
    cursor = min(cursor, len(query))
    before = query[:cursor]
    try:
        words = split_words(before)[:-1]
    except QueryError:
        words = _with_open_quote(before)
    started = bool(words) and not before[-1:].isspace() and words[-1].kind != "mark"
    typed = words.pop() if started else QueryToken("word", "", cursor + 1)
    if typed.kind == "sign":
        # Behind a sign a value begins, though no blank was written.
        words.append(typed)
        typed = QueryToken("word", "", cursor + 1)
    wanted = typed.text.lower()
    items = [
        item for item in _next(connection, words, typed.text)
        if item.text.lower().strip('"').startswith(wanted) and item.text != before[typed.at - 1 :]
    ]  # fmt: skip
    return Completion(typed.at - 1, cursor, tuple(items[:MOST]))


def _with_open_quote(text: str) -> list[QueryToken]:
    """The words before a quote that is still open, and what stands in it."""
    for place in range(len(text) - 1, -1, -1):
        if text[place] in "\"'":
            try:
                return [
                    *split_words(text[:place])[:-1],
                    QueryToken("quoted", text[place + 1 :], place + 1),
                ]
            except QueryError:
                continue
    return []


def _next(connection: Connection, words: list[QueryToken], typed: str) -> Iterator[CompletionItem]:
    last = words[-1] if words else None
    if last is None or last.means("and", "or", "not") or last.text == "(":
        inside = _list_field(words)
        yield from _values(connection, inside, typed) if inside else _begin(connection, typed)
    elif last.text == "," and (inside := _list_field(words)):
        yield from _values(connection, inside, typed)
    elif last.means("has"):
        yield from (CompletionItem(name, "keyword") for name in ("finding", "stream", "document"))
    elif last.kind == "sign" and len(words) > 1:
        field = find_field(words[-2].text)
        if field is not None:
            yield from _values(connection, field, typed)
    elif last.means("finding", "severity", "stream", "document", "release", "is", "within"):
        yield from _named(connection, last.text.lower(), typed)
    elif last.kind == "word" and (field := _bare_field(words)) is not None:
        yield from _signs(field)
    else:
        yield from (CompletionItem(word, "keyword") for word in ("and", "or"))


def _begin(connection: Connection, typed: str) -> Iterator[CompletionItem]:
    """What a clause can begin with."""
    group = typed.partition(".")[0]
    if "." in typed and group in PARTED:
        yield from (
            CompletionItem(f"{group}.{part}", "field", _KINDS[PARTED[group]])
            for part in _part_names(connection, group)
        )
        return
    yield from (CompletionItem(name, "field", _KINDS[kind]) for name, kind in WHOLE.items())
    yield CompletionItem("has finding", "keyword", "a check found something")
    yield CompletionItem("has stream", "keyword", "a stream is there")
    yield CompletionItem("in release", "keyword", "part of a release")
    yield from (CompletionItem(f"{name}.", "field", _KINDS[kind]) for name, kind in PARTED.items())
    yield CompletionItem("not", "keyword", "the opposite")


def _bare_field(words: list[QueryToken]) -> Field | None:
    """The field at the end, if it is not the value of another one."""
    if len(words) > 1 and not (words[-2].means("and", "or", "not") or words[-2].text == "("):
        return None
    return find_field(words[-1].text)


def _list_field(words: list[QueryToken]) -> Field | None:
    """The field in whose list `field in (a, b,` the words end."""
    for place in range(len(words) - 1, 1, -1):
        word = words[place]
        if word.kind == "mark" and word.text == "(":
            before = words[place - 2 if not words[place - 2].means("not") else place - 3]
            return find_field(before.text) if words[place - 1].means("in") else None
        if word.kind == "sign" or word.means(*RESERVED):
            return None
    return None


def _signs(field: Field) -> Iterator[CompletionItem]:
    yield from (
        CompletionItem(sign, "sign", _SIGN_WORDS.get(sign, "")) for sign in SIGNS[field.kind]
    )
    yield CompletionItem("in (", "sign", "one of several")
    yield CompletionItem("is known", "sign", "there is a value")
    yield CompletionItem("is unknown", "sign", "there is none")
    if "<" in SIGNS[field.kind]:
        yield CompletionItem("between", "sign", "from one to another")
    if field.kind == "date":
        yield CompletionItem("within", "sign", "no longer ago than")


def _named(connection: Connection, after: str, typed: str) -> Iterator[CompletionItem]:
    fixed = {
        "severity": SEVERITIES,
        "is": ("known", "unknown"),
        "within": ("1 hours", "7 days", "30 days"),
    }
    if after in fixed:
        yield from (CompletionItem(text, "value") for text in fixed[after])
        return
    column = {
        "finding": FINDING.c.check, "stream": STREAM.c.path, "document": GOVERNS.c.kind,
        "release": RELEASE.c.name,
    }[after]  # fmt: skip
    yield from (
        CompletionItem(unparse_value(name), "value")
        for name in _distinct(connection, column, typed)
    )


def _values(connection: Connection, field: Field, typed: str) -> Iterator[CompletionItem]:
    if field.kind == "truth":
        yield from (CompletionItem(text, "value") for text in ("true", "false"))
    elif field.name in CHOICES:
        yield from (CompletionItem(text, "value") for text in CHOICES[field.name])
    elif field.kind in ("text", "reference") and field.part is None:
        column = SEVERAL_COLUMNS.get(field.name)
        column = EPISODE.c[field.column] if column is None else column
        found = _distinct(connection, column, typed)
        yield from (CompletionItem(unparse_value(value), "value") for value in found)


def _distinct(connection: Connection, column: Any, typed: str) -> list[str]:
    """Some values of a column that begin with what was typed."""
    if "\0" in typed or any("\ud800" <= letter <= "\udfff" for letter in typed):
        return []  # No database holds such a text.
    found = select(column).distinct().where(column.is_not(None), begins(column, typed))
    return [
        str(value) for value in connection.execute(found.order_by(column).limit(MOST)).scalars()
    ]


def _part_names(connection: Connection, group: str) -> list[str]:
    """The keys of metadata, the paths of streams, the parts of scores: those of some episodes."""
    if group == "metadata":
        some = connection.execute(select(EPISODE.c.metadata).limit(20)).scalars()
        keys = {key for each in some if isinstance(each, dict) for key in each}
        return sorted(key for key in keys if find_field(f"metadata.{key}"))
    column = {
        "score": SCORE.c.part, "rate": STREAM.c.path, "samples": STREAM.c.path,
        "document": GOVERNS.c.kind,
    }[group]  # fmt: skip
    around = select(column.label("name")).limit(_AROUND).subquery()
    return sorted(connection.execute(select(around.c.name).distinct()).scalars())
