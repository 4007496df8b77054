"""What the records of episodes leave unsaid that rules or reuse ask for."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from corporeal.catalog.query import Condition, Known, OneOf, Or, condition_sql
from corporeal.catalog.tables import EPISODE
from corporeal.operations.coverage.noted import Wanted, notes_of
from corporeal.operations.figures.outcome import number_of
from corporeal.operations.scope import Scope

ASKED = {
    "consent": "metadata.consent",
    "operator": "operator",
    "calibration": "calibration",
    "protocol": "protocol",
    "station": "station",
    "task": "task",
    "time of recording": "recorded",
    "software": "software",
}
"""What every episode should state, and the field of the query language that holds it."""
_NOTED = "metadata."
# Written by people and programs who had nothing to say.
_EMPTY_WORDS = ("none", "unknown", "n/a", "")


@dataclass(frozen=True)
class Gap:
    """Something that `episodes` do not state; `condition` finds them."""

    name: str
    episodes: int
    condition: Condition


def lacks(field: str) -> Condition:
    """True of episodes that leave a field out, or fill it with a word for nothing."""
    if field == "recorded":
        return Known(field, False)
    return Or((Known(field, False), OneOf(field, _EMPTY_WORDS)))


def gaps(connection: Connection, scope: Scope) -> tuple[int, list[Gap]]:
    """How many episodes there are, and what they lack, in the order of `ASKED`."""
    conditions = {name: lacks(field) for name, field in ASKED.items()}
    plain = [name for name, field in ASKED.items() if not field.startswith(_NOTED)]
    counts = [number_of(condition_sql(conditions[name])) for name in plain]
    total, *found = connection.execute(
        select(func.count(), *counts).select_from(EPISODE).where(scope.where)
    ).one()
    missing = dict(zip(plain, map(int, found), strict=True))
    for name, field in ASKED.items():
        if name not in missing:
            missing[name] = _not_noted(connection, scope, field.removeprefix(_NOTED))
    return int(total), [Gap(name, missing[name], conditions[name]) for name in ASKED]


def _not_noted(connection: Connection, scope: Scope, path: str) -> int:
    ids = list(connection.execute(select(EPISODE.c.id).where(scope.where)).scalars())
    wanted = [Wanted(path, "kind"), Wanted(path, "text")]
    kinds, texts = notes_of(connection).of(connection, ids, wanted)
    return sum(
        kind in (None, "null") or text in _EMPTY_WORDS
        for kind, text in zip(kinds, texts, strict=True)
    )
