"""Where and since when are episodes rejected? Rejected shares by week."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from sqlalchemy import Connection

from corporeal.catalog.query import Known, Not, count_of, sum_episodes
from corporeal.errors import UnknownNameError
from corporeal.operations.outcome import CONDITIONS, Column
from corporeal.operations.question import TAKE_IN, Chart, ChartChoice, Drawing, HeatCell, HeatMarks
from corporeal.operations.scope import Scope, day_columns, equals, on_days
from corporeal.words import counted, day, percent

_MOST_NAMES = 20


@dataclass(frozen=True)
class RefusalCell:
    """One group in some days from `first` on."""

    name: str | None
    first: int
    judged: int
    rejected: int

    @property
    def share(self) -> float:
        """Rejected of those judged."""
        return self.rejected / self.judged


@dataclass(frozen=True)
class RefusalHistory:
    """All moments; `days` is how many each covers, `firsts` when each column begins."""

    names: list[str | None]
    firsts: list[int]
    days: int
    moments: list[RefusalCell]


def refusal_history(connection: Connection, scope: Scope, column: Column) -> RefusalHistory:
    """The rejected shares of the groups with most episodes, by day, week or four weeks."""
    rows = sum_episodes(
        connection, scope.meeting(Known("recorded", True)),
        count_of(Not(CONDITIONS["unchecked"])), count_of(CONDITIONS["accepted"]),
        by=(column, "day"),
    )  # fmt: skip
    judged = [(name, at, count, count - good) for name, at, count, good in rows if count]
    if not judged:
        return RefusalHistory([], [], 1, [])
    numbers = [row[1] for row in judged]
    columns = day_columns(min(numbers), max(numbers), most_days=14, most_weeks=18)
    start, days = columns.start, columns.step
    sums: dict[tuple[str | None, int], list[int]] = {}
    totals: dict[str | None, int] = {}
    for name, at, count, rejected in judged:
        cell = sums.setdefault((name, start + (at - start) // days * days), [0, 0])
        cell[0] += count
        cell[1] += rejected
        totals[name] = totals.get(name, 0) + count
    kept = sorted(totals, key=lambda name: -totals[name])[:_MOST_NAMES]
    names = sorted(kept, key=lambda name: (name is None, name or ""))
    return RefusalHistory(
        names=names,
        firsts=list(columns),
        days=days,
        moments=[
            RefusalCell(name, at, count, rejected)
            for (name, at), (count, rejected) in sums.items()
            if name in kept
        ],
    )


_COLUMNS = ("station", "operator", "task", "robot", "environment")
_LEAST = 10


def draw(connection: Connection, scope: Scope, *, by: str = "station") -> Drawing:
    """The share of rejected episodes of every station (or other) in every week."""
    if by not in _COLUMNS:
        raise UnknownNameError("column", by, _COLUMNS)
    column = cast(Column, by)
    choices = (ChartChoice(name="by", label="By", value=by, options=list(_COLUMNS)),)
    history = refusal_history(connection, scope, column)
    if not history.moments:
        return Drawing(
            f"Cannot tell: no judged episode here states its {by} and when it was recorded.",
            advice=TAKE_IN,
            choices=choices,
        )
    grid = {(each.name, each.first): each for each in history.moments}
    cells = [
        [_cell(grid.get((name, first)), name, first, history.days, scope, column)
         for first in history.firsts]
        for name in history.names
    ]  # fmt: skip
    return Drawing(
        _sentence(history.moments, history.firsts),
        HeatMarks(
            row_name=by,
            column_name="day" if history.days == 1 else "from day",
            rows=[name or "not stated" for name in history.names],
            columns=[day(first)[5:] for first in history.firsts],
            cells=cells,
            most=max(0.25, *(each.share for each in history.moments)),
            tone="bad",
        ),
        notes=(f"Rejected episodes of those judged; a column is {counted(history.days, 'day')}.",),
        choices=choices,
    )


def _cell(
    moment: RefusalCell | None,
    name: str | None,
    first: int,
    days: int,
    scope: Scope,
    column: Column,
) -> HeatCell:
    where = f"{name or 'not stated'} from {day(first)}"
    if moment is None:
        return HeatCell(value=None, text="", detail=f"{where}: nothing judged")
    return HeatCell(
        value=moment.share,
        text=f"{100 * moment.share:.0f}",
        detail=f"{where}: {percent(moment.share)} of {counted(moment.judged, 'episode')} rejected",
        query=scope.query(equals(column, name), *on_days(first, days)),
    )


def _sentence(moments: list[RefusalCell], firsts: list[int]) -> str:
    large = [each for each in moments if each.judged >= _LEAST]
    if not large:
        return f"Too early to tell: no cell has {_LEAST} judged episodes."
    worst = max(large, key=lambda each: each.share)
    if not worst.rejected:
        return "Nowhere: nothing was rejected."
    latest = [each for each in large if each.first == firsts[-1]]
    now = max(latest, key=lambda each: each.share, default=None)
    said = (
        f"The worst was {worst.name or 'not stated'} from {day(worst.first)}: "
        f"{percent(worst.share)} rejected"
    )
    if now is None or now == worst:
        return f"{said}."
    return f"{said}; lately it is {now.name or 'not stated'} with {percent(now.share)}."


CHART = Chart(draw, "Where, and since when, are episodes rejected?", "Today", place=50)
