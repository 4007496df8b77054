"""What can go wrong, as a small tree of exceptions that a user can read.

CorporealError
├── DocumentError      a document (schema, embodiment, ...) is not valid; knows the file and line
├── ModelError         a robot description cannot be used
├── EpisodeError       an episode file cannot be read, or its content contradicts itself
│   └── WriteError     an episode cannot be written as asked
├── NotAssessed        something cannot be told from this episode; the message says what is missing
├── UnknownNameError   a name that is not in a list; the message gives the list
└── MissingExtraError  an optional dependency is not installed; the message gives the install line

Every message reads `<what>, got <value>; expected <...>. <What to do>.`
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

_MOST_NAMES = 24
"""Names that an error lists; a longer list is counted, or cut where nothing in it is near."""


class CorporealError(Exception):
    """The root of every error that Corporeal raises on purpose."""


class ModelError(CorporealError):
    """A robot description cannot be used."""


class EpisodeError(CorporealError):
    """An episode file cannot be read, or its content contradicts itself."""


class WriteError(EpisodeError):
    """An episode cannot be written as asked."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a document: where it stands, what it is, how to mend it."""

    line: int | None
    path: str
    message: str


class DocumentError(CorporealError):
    """A document is not valid; `problems` lists everything found, the message the first of it."""

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        first = self.problems[0]
        more = len(self.problems) - 1
        tail = f" ({more} more problem{'s' * (more > 1)} in this file)" if more else ""
        return f"{self.describe(first)}{tail}"

    def describe(self, problem: Problem) -> str:
        """`file:line: field: what is wrong`, the shape editors and people can jump to."""
        where = self.source if problem.line is None else f"{self.source}:{problem.line}"
        field = f"{problem.path}: " if problem.path else ""
        return f"{where}: {field}{problem.message}"


class UnknownNameError(CorporealError):
    """A name that is not in the list of valid ones; of a long list the nearest comes first.

    `listing` is the command that shows all of them.
    """

    def __init__(
        self, what: str, name: str, known: Iterable[str], *, listing: str | None = None
    ) -> None:
        valid = sorted(known)
        close = difflib.get_close_matches(name, valid, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else ""
        if len(valid) <= _MOST_NAMES:
            listed = f"expected one of: {', '.join(valid) or 'none'}. {hint}"
        else:
            shown = "" if close else f", such as {', '.join(valid[:_MOST_NAMES])}"
            rest = f"; all of them: {listing}" if listing else ""
            listed = f"expected one of {len(valid)}{shown}{rest}."
            listed = f"{hint[0].lower()}{hint[1:]} E{listed[1:]}" if close else listed
        super().__init__(f"unknown {what}, got {name!r}; {listed.strip()}")


class MissingExtraError(CorporealError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'corporeal[{extra}]'."
        )


class NotAssessed(CorporealError):  # noqa: N818 - not an error: there is nothing to look at
    """Something cannot be told from this episode; the message says what is missing."""
