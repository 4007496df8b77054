"""Cuts a query into words, quoted texts and signs, and says where something is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

from corporeal.catalog.database import CatalogError

LONGEST_QUERY = 20_000
"""Characters of a query; what a program asks beyond this it should ask in parts."""

OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "~")
RESERVED = frozenset(("and", "or", "not", "has", "in", "is", "between", "within", "true", "false"))
"""Words that mean something wherever they stand; as a value they are written in quotes."""

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PIECE = re.compile(
    r"""(?P<space>\s+)
    | (?P<mark>[(),])
    | (?P<sign>[=!<>~]+)
    | (?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<word>[^\s(),=!<>~"']+)""",
    re.VERBOSE | re.DOTALL,
)
_SHOWN = 24

Kind = Literal["word", "quoted", "sign", "mark", "end"]


class QueryError(CatalogError):
    """A query that cannot be understood; `at` is the character, counted from 1."""

    def __init__(self, message: str, *, at: int) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True)
class QueryToken:
    """A piece of a query: `text` without quotes, and where it begins, counted from 1."""

    kind: Kind
    text: str
    at: int

    def means(self, *names: str) -> bool:
        """Whether it is one of these keywords, in capitals or not."""
        return self.kind == "word" and self.text.lower() in names

    @property
    def shown(self) -> str:
        """The piece as a message quotes it."""
        if self.kind == "end":
            return "the end"
        short = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}..."
        return repr(short)


def split_words(query: str) -> list[QueryToken]:
    """The pieces of a query; the last one is its end."""
    if len(query) > LONGEST_QUERY:
        raise QueryError(
            f"query, got {len(query)} characters; expected at most {LONGEST_QUERY}. "
            "Ask in several queries.",
            at=LONGEST_QUERY + 1,
        )
    pieces, place = [], 0
    while place < len(query):
        match = _PIECE.match(query, place)
        if match is None:
            raise refusal(query, place + 1, query[place], f"a closing {query[place]}")
        kind = match.lastgroup
        if kind != "space":
            pieces.append(QueryToken(cast(Kind, kind), _plain(query, match), place + 1))
        place = match.end()
    pieces.append(QueryToken("end", "", len(query) + 1))
    return pieces


def _plain(query: str, match: re.Match[str]) -> str:
    """What a piece says; nothing that a database cannot hold."""
    said = match[0]
    for offset, letter in enumerate(said):
        if letter == "\0" or "\ud800" <= letter <= "\udfff":
            raise refusal(query, match.start() + offset + 1, letter, "text")
    if match.lastgroup == "quoted":
        return re.sub(r"\\(.)", r"\1", said[1:-1], flags=re.DOTALL)
    return said


def refusal(query: str, at: int, got: str, expected: str) -> QueryError:
    """An error that shows the place: what stands there, and what should."""
    begin, end = max(0, at - 1 - _SHOWN), at - 1 + _SHOWN
    around = f"{'...' * (begin > 0)}{query[begin : at - 1]}»{query[at - 1 : end]}"
    around += "..." * (end < len(query))
    shown = got if got == "the end" else repr(got) if not got.startswith(("'", '"')) else got
    near = around.encode("unicode_escape").decode() if not around.isprintable() else around
    return QueryError(f"query, got {shown} at character {at} ({near}); expected {expected}.", at=at)
