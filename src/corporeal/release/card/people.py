"""People in a card: numbers in place of names, which stand in no file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from sqlalchemy import Connection, select

from corporeal.catalog.tables import EPISODE

_SOMEBODY = "..."
_AFTER_OPERATOR = re.compile(
    r"""(\boperator\s*(?:!=|<>|==?|!?~|\bnot\s+in\b|\bin\b|\b(?:i?like|contains)\b)\s*)
        (\([^)]*\)|'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|[^\s()]+)""",
    re.IGNORECASE | re.VERBOSE,
)


def pseudonyms(names: Iterable[str | None]) -> dict[str, int]:
    """A number for each operator: the one with the most episodes is 1."""
    counted = Counter(name for name in names if name)
    ranked = sorted(counted, key=lambda name: (-counted[name], name))
    return {name: number for number, name in enumerate(ranked, start=1)}


def called(number: int | None) -> str | None:
    """What a card calls the operator with this number."""
    return None if number is None else f"operator {number}"


def without_people(connection: Connection, condition: str) -> str:
    """The condition with the names of people left out: a card goes where the catalogue does not."""
    text = _AFTER_OPERATOR.sub(lambda found: found[1] + _SOMEBODY, condition)
    query = select(EPISODE.c.operator).distinct().where(EPISODE.c.operator.is_not(None))
    for name in sorted(connection.execute(query).scalars(), key=len, reverse=True):
        if len(name) > 2 and name in text:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", _SOMEBODY, text)
    return text
