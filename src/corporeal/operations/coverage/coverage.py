"""Which combinations have been recorded, how often, and which empty ones to collect next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from corporeal.catalog.query import Condition, MetadataField, read_fields
from corporeal.errors import UnknownNameError
from corporeal.operations.coverage.axis import GRID_M, NOTED, CoverageAxis, axes
from corporeal.operations.coverage.metadata_cache import find_cache
from corporeal.operations.outcome import CONDITIONS
from corporeal.operations.question import Chart, ChartChoice, Drawing, HeatCell, HeatMarks
from corporeal.operations.scope import Scope
from corporeal.words import counted

Place = tuple[Any, ...]
"""What one episode has along one axis: a value for each of its fields."""
# A number this close below a step was meant to be on it: 0.6 / 0.2 falls short of 3.
_CLOSE = 1e-9


def lay_out(
    connection: Connection, scope: Scope, used: Sequence[CoverageAxis]
) -> Counter[tuple[bool, tuple[Place, ...]]]:
    """How many episodes, accepted or not, lie at each combination of places."""
    fields = dict.fromkeys(name for axis in used for name in axis.fields)
    plain = [name for name in fields if not name.startswith(NOTED)]
    rows = list(
        read_fields(connection, "id", CONDITIONS["accepted"], *plain, where=scope.condition)
    )
    if not rows:
        return Counter()
    ids, goods, *columns = zip(*rows, strict=True)
    values: dict[str, Sequence[Any]] = dict(zip(plain, columns, strict=True))
    steps = {name: axis.step for axis in used for name in axis.fields}
    noted = [name for name in fields if name not in values]
    wanted = [
        MetadataField(name.removeprefix(NOTED), "text" if steps[name] is None else "number")
        for name in noted
    ]
    found = find_cache(connection).of(connection, ids, wanted) if noted else []
    for name, column in zip(noted, found, strict=True):
        step = steps[name]
        values[name] = column if step is None else [_band(value, step) for value in column]
    return Counter(zip(map(bool, goods), zip(*(_places(a, values) for a in used), strict=True),
                       strict=True))  # fmt: skip


def _band(value: float | None, step: float) -> int | None:
    if value is None or not math.isfinite(value):
        return None
    return math.floor(value / step + _CLOSE)


def _places(axis: CoverageAxis, values: dict[str, Sequence[Any]]) -> list[Place]:
    columns = [values[name] for name in axis.fields]
    if axis.either:
        return [
            (next((value for value in each if value is not None), None),)
            for each in zip(*columns, strict=True)
        ]
    return list(zip(*columns, strict=True))


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


_NEXT = 3
_ADVICE = (
    "Coverage needs episodes that say what they show: task, operator, and object and pose in the "
    "metadata (or a protocol with factors)."
)


def coverage_table(connection: Connection, scope: Scope, rows: str, columns: str) -> Drawing:
    """The table of two axes by name; an axis that nobody states is said to be missing."""
    known = axes(connection, scope)
    options = sorted(known)
    choices = tuple(
        ChartChoice(name=name, label=label, value=value,
               options=options if value in known else [*options, value])
        for name, label, value in (("rows", "Rows", rows), ("columns", "Columns", columns))
    )  # fmt: skip
    for name in (rows, columns):
        if name not in known:
            if name not in ("task", "object", "pose", "operator") and known:
                raise UnknownNameError("axis of coverage", name, options)
            return Drawing(f"Cannot tell: no episode here states its {name}.", advice=_ADVICE,
                           choices=choices)  # fmt: skip
    table = cross(connection, scope, known[rows], known[columns])
    if not table.rows or not table.columns:
        return Drawing(f"Cannot tell: no episode here states both {rows} and {columns}.",
                       advice=_ADVICE, choices=choices)  # fmt: skip
    return Drawing(
        _sentence(table, rows, columns),
        _heat(table, rows, columns, scope),
        notes=_notes(table, known[rows], known[columns]),
        choices=choices,
    )


def chart_coverage(default_rows: str, default_columns: str, title: str, *, place: int) -> Chart:
    """The chart of two axes, unless others are chosen."""

    def draw(
        connection: Connection, scope: Scope, *, rows: str = default_rows,
        columns: str = default_columns,
    ) -> Drawing:  # fmt: skip
        return coverage_table(connection, scope, rows, columns)

    return Chart(draw, title, "Coverage and cost", place, wide=True)


def _heat(table: CoverageTable, rows: str, columns: str, scope: Scope) -> HeatMarks:
    good = CONDITIONS["accepted"]
    cells = []
    for r, row in enumerate(table.rows):
        line = []
        for c, column in enumerate(table.columns):
            count, accepted = table.counts[r][c], table.accepted[r][c]
            query = _query(scope, row, column, *([good] if accepted else []))
            line.append(_cell(f"{row.words}, {column.words}", count, accepted, query))
        cells.append(line)
    most = max((each for line in table.accepted for each in line), default=0)
    return HeatMarks(
        row_name=rows,
        column_name=columns,
        rows=[each.words for each in table.rows],
        columns=[each.words for each in table.columns],
        cells=cells,
        most=float(max(1, most)),
        empty_means="collect this next" if table.empty else "",
    )


def _cell(where: str, count: int, accepted: int, query: str | None) -> HeatCell:
    if accepted:
        rest = f", {count - accepted:,} more not accepted" if count > accepted else ""
        said = f"{where}: {counted(accepted, 'accepted episode')}{rest}"
    elif count:
        said = f"{where}: {counted(count, 'episode')}, none accepted; collect this next"
    else:
        said = f"{where}: none; collect this next"
    return HeatCell(value=float(accepted), text=f"{accepted:,}" if accepted else "", detail=said,
                empty=not accepted, query=query if count else None)  # fmt: skip


def _query(scope: Scope, row: LevelCount, column: LevelCount, *more: Condition) -> str | None:
    if row.condition is None or column.condition is None:
        return None
    return scope.query(row.condition, column.condition, *more)


def _sentence(table: CoverageTable, rows: str, columns: str) -> str:
    size = len(table.rows) * len(table.columns)
    empty = table.empty
    if not empty:
        least = min(each for line in table.accepted for each in line)
        return (f"None: all {size} combinations of {rows} and {columns} have accepted episodes, "
                f"at least {least:,}.")  # fmt: skip
    # Where both levels are well covered otherwise, a gap is the likeliest to matter.
    order = sorted(
        empty, key=lambda at: -table.rows[at[0]].episodes - table.columns[at[1]].episodes
    )
    said = [f"{table.rows[r].words} / {table.columns[c].words}" for r, c in order[:_NEXT]]
    more = f" and {len(empty) - _NEXT} more" if len(empty) > _NEXT else ""
    what = "; ".join(said) + more
    return f"{len(empty)} of {size} combinations lack an accepted episode: {what}."


def _notes(table: CoverageTable, *used: CoverageAxis) -> tuple[str, ...]:
    notes = []
    if table.unplaced:
        notes.append(f"{counted(table.unplaced, 'episode')} do not state both.")
    if table.left_out:
        notes.append(f"{counted(table.left_out, 'rarer level')} left out.")
    unasked = [axis.name for axis in used if not axis.is_asked]
    if unasked:
        notes.append(
            f"These cells open no episodes: {' and '.join(unasked)} is told in a list of the "
            "metadata, for which there is no query."
        )
    if any(axis.step for axis in used):
        notes.append(f"Positions are counted in squares of {GRID_M} m, in the robot's frame.")
    return tuple(notes)
