"""Accepted episodes by two axes as a heat table whose empty cells say what to collect next."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.catalog.query import Condition
from corporeal.errors import UnknownNameError
from corporeal.operations.coverage.axis import GRID_M, CoverageAxis, axes
from corporeal.operations.coverage.coverage import CoverageTable, LevelCount, cross
from corporeal.operations.outcome import CONDITIONS
from corporeal.operations.question import ChartChoice, Drawing, HeatCell, HeatMarks
from corporeal.operations.scope import Scope
from corporeal.words import counted

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
