"""What episodes are laid out along: a column, something in the metadata, a factor of a protocol."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from corporeal.catalog.episodes import documents_of_kind
from corporeal.catalog.query import (
    And,
    Comparison,
    Condition,
    Known,
    Or,
    find_field,
    read_fields,
)
from corporeal.errors import CorporealError
from corporeal.operations.scope import Scope
from corporeal.protocol import Protocol
from corporeal.protocol.coverage import Factor

NOTED = "metadata."
_COLUMNS = ("task", "operator", "station", "robot", "environment", "mode", "calibration")
_SAMPLE = 200
_MOST_PROTOCOLS = 50
# Positions count x ahead of the robot and y to its left.
_SIDES = {"0": ("ahead", "behind"), "1": ("left", "right")}
GRID_M = 0.2
"""How wide the bands are in which positions are counted."""


@dataclass(frozen=True)
class CoverageAxis:
    """`fields` are named as in the query language; more than one are said together.

    With a `step` they are numbers and counted in bands of that width. `levels` are those that a
    protocol plans, whether or not anybody has recorded them, and `shares` how much of each. With
    `either` the first field that is known counts.
    """

    name: str
    fields: tuple[str, ...]
    step: float | None = None
    levels: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    either: bool = False

    def words(self, values: Sequence[Any]) -> str | None:
        """A level as people read it; None where a part of it is unknown."""
        if any(value is None for value in values):
            return None
        if self.step is None:
            return " ".join(str(value) for value in values)
        sides = [_SIDES.get(name[-1], (name, name)) for name in self.fields]
        return ", ".join(
            _band_words(int(value), self.step, *side)
            for value, side in zip(values, sides, strict=True)
        )

    @property
    def is_asked(self) -> bool:
        """Whether the query language can ask for it; it cannot count into lists."""
        return all(find_field(name) is not None for name in self.fields)

    def condition(self, values: Sequence[Any]) -> Condition | None:
        """The query that finds the episodes of a level; None where there can be none."""
        if not self.is_asked:
            return None
        each_of = [values[0]] * len(self.fields) if self.either else values
        parts = tuple(map(self._clause, self.fields, each_of))
        join = Or if self.either and values[0] is not None else And
        return parts[0] if len(parts) == 1 else join(parts)

    def _clause(self, name: str, value: Any) -> Condition:
        if value is None:
            return Known(name, False)
        if self.step is None:
            return Comparison(name, "=", str(value))
        low, high = (round(float(value) + more, 9) * self.step for more in (0, 1))
        return And((
            Comparison(name, ">=", round(low, 6)), Comparison(name, "<", round(high, 6))
        ))  # fmt: skip


def _band_words(band: int, step: float, above: str, below: str) -> str:
    near, far = (band, band + 1) if band >= 0 else (-band - 1, -band)
    side = above if band >= 0 else below
    return f"{100 * near * step:.0f}-{100 * far * step:.0f} cm {side}"


def axes(connection: Connection, scope: Scope) -> dict[str, CoverageAxis]:
    """Every axis that the newest episodes in scope can be laid out along, by name."""
    rows = list(read_fields(
        connection, *_COLUMNS, "metadata", where=scope.condition, order="-recorded", most=_SAMPLE
    ))  # fmt: skip
    stated = [
        CoverageAxis(name, (name,)) for place, name in enumerate(_COLUMNS)
        if any(row[place] is not None for row in rows)
    ]  # fmt: skip
    metadata = [row[-1] for row in rows if isinstance(row[-1], Mapping)]
    return {axis.name: axis for axis in (*stated, *_stated(metadata), *_planned(connection))}


def _stated(metadata: Sequence[Mapping[str, Any]]) -> Iterator[CoverageAxis]:
    """Objects, poses and the like, wherever the metadata has them."""
    thing = "metadata.variation.things.0"
    for axis in (
        CoverageAxis("object", (f"{thing}.colour", f"{thing}.shape")),
        CoverageAxis("object", ("metadata.object",)),
        CoverageAxis("pose", (f"{thing}.position.0", f"{thing}.position.1"), step=GRID_M),
        CoverageAxis("pose", ("metadata.pose",)),
        *(
            CoverageAxis(name, (f"{where}.{name}",))
            for where in ("metadata.variation", "metadata")
            for name in ("hand", "approach", "style", "lighting", "surface")
        ),
    ):
        kind: Any = str if axis.step is None else (int, float)
        paths = [name.removeprefix(NOTED) for name in axis.fields]
        if any(all(isinstance(_at(each, path), kind) for path in paths) for each in metadata):
            yield axis


def _at(metadata: Any, path: str) -> Any:
    here = metadata
    for step in path.split("."):
        if isinstance(here, Mapping):
            here = here.get(step)
        elif isinstance(here, Sequence) and not isinstance(here, str) and step.isdigit():
            here = here[int(step)] if int(step) < len(here) else None
        else:
            return None
    return None if isinstance(here, float) and not math.isfinite(here) else here


def _planned(connection: Connection) -> Iterator[CoverageAxis]:
    """The factors of the protocols that stand behind episodes."""
    for document in documents_of_kind(connection, "protocol", most=_MOST_PROTOCOLS, governing=True):
        try:
            factors = Protocol.parse(document.text, suffix=".json").factors
        except CorporealError:
            continue  # Written by another version: its factors cannot be known here.
        for factor in factors:
            names = _fields(factor)
            if all(find_field(name) is not None for name in names):
                yield CoverageAxis(
                    factor.name, names, levels=factor.levels, either=len(names) > 1,
                    shares=tuple(factor.planned(level) for level in factor.levels),
                )  # fmt: skip


def _fields(factor: Factor) -> tuple[str, ...]:
    if factor.field is not None:
        return (f"metadata.{factor.field}",)
    if factor.name in _COLUMNS:
        return (factor.name,)
    return (f"metadata.{factor.name}", f"metadata.variation.{factor.name}")
