"""What can be asked of an episode: columns, metadata, stream rates, score parts, documents."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

from corporeal.catalog.episodes.rows import STATES
from corporeal.errors import UnknownNameError

FieldKind = Literal["text", "reference", "number", "truth", "date", "json"]

_TEXTS = (
    "id", "hash", "file", "state", "task", "instruction", "robot", "operator", "station",
    "session", "batch", "environment", "mode", "software", "failure", "verdict",
)  # fmt: skip
_REFERENCES = ("protocol", "calibration", "policy")
_NUMBERS = ("number", "bytes", "duration_s", "score")
COLUMNS = {"recorded": "recorded_ns", "ingested": "ingested_at"}
"""Fields whose column is called otherwise."""

PLAIN: dict[str, FieldKind] = {
    **dict.fromkeys(_TEXTS, "text"),
    **dict.fromkeys(_REFERENCES, "reference"),
    **dict.fromkeys(_NUMBERS, "number"),
    "success": "truth",
    "recorded": "date",
    "ingested": "date",
}
SEVERAL: dict[str, FieldKind] = {
    "not_assessed": "text", "tag": "text", "decided_by": "text", "practice": "text",
}  # fmt: skip
"""Fields of which an episode has any number at once: `=` asks whether one of them is so."""
COUNTED: dict[str, FieldKind] = {"assessed": "number"}
"""Fields that no column keeps: they are counted where they are asked for."""
WHOLE = PLAIN | SEVERAL | COUNTED
"""Every field that has no part."""
PARTED: dict[str, FieldKind] = {
    "metadata": "json",
    "score": "number",
    "rate": "number",
    "samples": "number",
    "document": "reference",
}
"""Fields of which there are many: metadata.<key>, score.<part>, rate.<stream> ..."""

CHOICES: dict[str, tuple[str, ...]] = {
    "state": STATES,
    "verdict": ("accepted", "quarantined", "failed"),
}
_SHOWN_PARTS = {
    "metadata": "metadata.<key>",
    "score": "score.<part>",
    "rate": "rate.<stream>",
    "samples": "samples.<stream>",
    "document": "document.<kind>",
}
# A number is a place in a list, from 0 on: metadata.variation.things.0.colour
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.([A-Za-z_][A-Za-z0-9_-]*|[0-9]{1,4}))*")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")

# What pages and tables call a field, and people call it after them.
_MEANT = {
    "outcome": "failure, or success = true", "finding": "has finding", "release": "in release",
    "duration": "duration_s", "date": "recorded", "length": "duration_s", "tags": "tag",
    "success_rate": "success", "person": "operator", "name": "number, or file",
}  # fmt: skip
SIGNS: dict[FieldKind, tuple[str, ...]] = {
    "text": ("=", "!=", "~"),
    "reference": ("=", "!=", "~"),
    "number": ("=", "!=", "<", "<=", ">", ">="),
    "truth": ("=", "!="),
    "date": ("=", "!=", "<", "<=", ">", ">="),
    "json": ("=", "!=", "<", "<=", ">", ">=", "~"),
}


@dataclass(frozen=True)
class Field:
    """A field: `group` is its name or what stands before the point, `part` what stands after."""

    name: str
    kind: FieldKind
    group: str
    part: str | None = None

    @property
    def column(self) -> str:
        """The column of the table of episodes."""
        return COLUMNS.get(self.group, self.group)


def find_field(name: str) -> Field | None:
    """The field of this name, or None."""
    if name in WHOLE:
        return Field(name, WHOLE[name], name)
    group, point, part = name.partition(".")
    if not point or group not in PARTED:
        return None
    if not (_KEY if group == "metadata" else _PART).fullmatch(part):
        return None
    return Field(name, PARTED[group], group, part)


def field_named(name: str) -> Field:
    """The field of this name; raises UnknownNameError with the list of them."""
    field = find_field(name)
    if field is None:
        raise UnknownNameError("field", name, [*WHOLE, *_SHOWN_PARTS.values()])
    return field


def expected_fields(name: str) -> str:
    """What a message lists when there is no such field, with the nearest name if one is near."""
    shown = [*sorted(WHOLE), *_SHOWN_PARTS.values()]
    close = difflib.get_close_matches(name, shown, n=1)
    meant = _MEANT.get(name.lower()) or (close[0] if close else None)
    hint = f" (did you mean {meant}?)" if meant else ""
    return f"one of the fields {', '.join(shown)}{hint}"
