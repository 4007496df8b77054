"""Which episodes lack consent, operator or calibration? Gaps in the records."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from corporeal.catalog.query import (
    Condition,
    Known,
    MetadataField,
    OneOf,
    Or,
    count_of,
    read_fields,
    sum_episodes,
)
from corporeal.operations.coverage.metadata_cache import find_cache
from corporeal.operations.question import TAKE_IN, BarMark, BarMarks, Chart, Drawing
from corporeal.operations.scope import Scope
from corporeal.words import counted, listed, percent

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
class RecordGap:
    """Something that `episodes` do not state; `condition` finds them."""

    name: str
    episodes: int
    condition: Condition


def lacks(field: str) -> Condition:
    """True of episodes that leave a field out, or fill it with a word for nothing."""
    if field == "recorded":
        return Known(field, False)
    return Or((Known(field, False), OneOf(field, _EMPTY_WORDS)))


def find_gaps(connection: Connection, scope: Scope) -> tuple[int, list[RecordGap]]:
    """How many episodes there are, and what they lack, in the order of `ASKED`."""
    conditions = {name: lacks(field) for name, field in ASKED.items()}
    plain = [name for name, field in ASKED.items() if not field.startswith(_NOTED)]
    counts = [count_of(conditions[name]) for name in plain]
    ((total, *lacking),) = sum_episodes(connection, scope.condition, count_of(), *counts)
    missing = dict(zip(plain, lacking, strict=True))
    for name, field in ASKED.items():
        if name not in missing:
            missing[name] = _not_noted(connection, scope, field.removeprefix(_NOTED))
    return total, [RecordGap(name, missing[name], conditions[name]) for name in ASKED]


def _not_noted(connection: Connection, scope: Scope, path: str) -> int:
    ids = [row[0] for row in read_fields(connection, "id", where=scope.condition)]
    wanted = [MetadataField(path, "kind"), MetadataField(path, "text")]
    kinds, texts = find_cache(connection).of(connection, ids, wanted)
    return sum(
        kind in (None, "null") or text in _EMPTY_WORDS
        for kind, text in zip(kinds, texts, strict=True)
    )


def draw(connection: Connection, scope: Scope) -> Drawing:
    """For everything that an episode should state, how many do not."""
    total, found = find_gaps(connection, scope)
    if not total:
        return Drawing(
            "Cannot tell: there are no episodes here.",
            advice=TAKE_IN,
        )
    missing = [each for each in found if each.episodes]
    bars = [
        BarMark(
            label=each.name,
            value=each.episodes / total,
            detail=f"{counted(each.episodes, 'episode')} without {each.name} "
            f"({percent(each.episodes / total)})",
            tone="good" if not each.episodes else "warn" if each.episodes < total else "bad",
            query=scope.query(each.condition) if each.episodes else None,
        )
        for each in found
    ]
    if missing:
        worst = sorted(missing, key=lambda each: -each.episodes)
        said = [f"{each.name} ({each.episodes:,})" for each in worst[:4]]
        answer = f"Of {counted(total, 'episode')}, some lack {listed(said)}."
    else:
        answer = f"None: all {counted(total, 'episode')} state everything that is asked for."
    return Drawing(
        answer,
        BarMarks(unit="share", name="share of episodes without it", bars=bars),
        notes=("A field that says none, unknown or n/a counts as missing. Consent is read from "
               "`consent` in the metadata.",),
    )  # fmt: skip


CHART = Chart(
    draw, "Which episodes lack consent, operator or calibration?", "Coverage and cost", place=60
)
