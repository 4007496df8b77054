"""Which combinations have been recorded, how often, and which are still empty."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection

from corporeal.catalog.query import Condition
from corporeal.operations.coverage.axis import CoverageAxis
from corporeal.operations.coverage.layout import Place, lay_out
from corporeal.operations.scope import Scope

MOST_LEVELS = 40


@dataclass(frozen=True)
class LevelCount:
    """One level of an axis: its words, the query that finds it if there is one, its episodes."""

    words: str
    condition: Condition | None
    episodes: int


@dataclass(frozen=True)
class CoverageTable:
    """Episodes by two axes; `counts[row][column]` are all, `accepted` the good ones of them.

    `unplaced` episodes state no level of one axis or the other; `left_out` levels are beyond what
    a table can show.
    """

    rows: tuple[LevelCount, ...]
    columns: tuple[LevelCount, ...]
    counts: tuple[tuple[int, ...], ...]
    accepted: tuple[tuple[int, ...], ...]
    unplaced: int
    left_out: int

    @property
    def empty(self) -> list[tuple[int, int]]:
        """Cells without an accepted episode: those to collect next."""
        return [
            (row, column)
            for row, line in enumerate(self.accepted)
            for column, count in enumerate(line)
            if not count
        ]


def cross(
    connection: Connection, scope: Scope, rows: CoverageAxis, columns: CoverageAxis
) -> CoverageTable:
    """Count the episodes in scope by two axes, in one pass."""
    return _table(rows, columns, lay_out(connection, scope, (rows, columns)))


def _table(
    rows: CoverageAxis, columns: CoverageAxis, found: Counter[tuple[bool, tuple[Place, ...]]]
) -> CoverageTable:
    counts: Counter[tuple[str, str]] = Counter()
    accepted: Counter[tuple[str, str]] = Counter()
    places: tuple[dict[str, Place], dict[str, Place]] = ({}, {})
    totals: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    unplaced = 0
    for (is_good, parts), count in found.items():
        names = [axis.words(part) for axis, part in zip((rows, columns), parts, strict=True)]
        if names[0] is None or names[1] is None:
            unplaced += count
            continue
        cell = (names[0], names[1])
        counts[cell] += count
        accepted[cell] += count if is_good else 0
        for side, place in enumerate(parts):
            places[side].setdefault(cell[side], place)
            totals[side][cell[side]] += count
    down = _levels(rows, places[0], totals[0])
    across = _levels(columns, places[1], totals[1])
    hidden = sum(
        len(seen.keys() - {each.words for each in shown})
        for seen, shown in zip(places, (down, across), strict=True)
    )
    return CoverageTable(
        rows=down,
        columns=across,
        counts=tuple(tuple(counts[r.words, c.words] for c in across) for r in down),
        accepted=tuple(tuple(accepted[r.words, c.words] for c in across) for r in down),
        unplaced=unplaced,
        left_out=hidden,
    )


def _levels(
    axis: CoverageAxis, seen: dict[str, Place], totals: Counter[str]
) -> tuple[LevelCount, ...]:
    """Planned levels first, as planned; then the commonest of the others, in their own order."""
    others = sorted(seen.keys() - set(axis.levels), key=lambda name: (-totals[name], name))
    kept = others[: max(0, MOST_LEVELS - len(axis.levels))]
    kept.sort(key=lambda name: name if axis.step is None else seen[name])
    names = [*axis.levels, *kept][:MOST_LEVELS]
    return tuple(
        LevelCount(name, axis.condition(seen.get(name, (name,))), totals[name]) for name in names
    )
