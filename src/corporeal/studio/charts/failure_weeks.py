"""Where and since when are episodes refused? Refused shares by week."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection

from corporeal.errors import UnknownNameError
from corporeal.operations.figures.comparison import Column
from corporeal.operations.figures.refusal_history import Moment, refusal_history
from corporeal.operations.scope import Scope, equals, on_days
from corporeal.studio.chart import Chart, ChartChoice, Drawing, HeatCell, HeatMarks
from corporeal.studio.charting.wording import day
from corporeal.words import counted, percent

_COLUMNS = ("station", "operator", "task", "robot", "environment")
_LEAST = 10


def draw(connection: Connection, scope: Scope, *, by: str = "station") -> Drawing:
    """The share of refused episodes of every station (or other) in every week."""
    if by not in _COLUMNS:
        raise UnknownNameError("column", by, _COLUMNS)
    column = cast(Column, by)
    choices = (ChartChoice(name="by", label="By", value=by, options=list(_COLUMNS)),)
    history = refusal_history(connection, scope, column)
    if not history.moments:
        return Drawing(
            f"Cannot tell: no judged episode here states its {by} and when it was recorded.",
            advice="Choose a longer span of days above, or take in episodes: corporeal ingest.",
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
        notes=(f"Refused episodes of those judged; a column is {counted(history.days, 'day')}.",),
        choices=choices,
    )


def _cell(
    moment: Moment | None, name: str | None, first: int, days: int, scope: Scope, column: Column
) -> HeatCell:
    where = f"{name or 'not stated'} from {day(first)}"
    if moment is None:
        return HeatCell(value=None, text="", detail=f"{where}: nothing judged")
    return HeatCell(
        value=moment.share,
        text=f"{100 * moment.share:.0f}",
        detail=f"{where}: {percent(moment.share)} of {counted(moment.judged, 'episode')} refused",
        query=scope.query(equals(column, name), *on_days(first, days)),
    )


def _sentence(moments: list[Moment], firsts: list[int]) -> str:
    large = [each for each in moments if each.judged >= _LEAST]
    if not large:
        return f"Too early to tell: no cell has {_LEAST} judged episodes."
    worst = max(large, key=lambda each: each.share)
    if not worst.refused:
        return "Nowhere: nothing was refused."
    latest = [each for each in large if each.first == firsts[-1]]
    now = max(latest, key=lambda each: each.share, default=None)
    said = (
        f"The worst was {worst.name or 'not stated'} from {day(worst.first)}: "
        f"{percent(worst.share)} refused"
    )
    if now is None or now == worst:
        return f"{said}."
    return f"{said}; lately it is {now.name or 'not stated'} with {percent(now.share)}."


CHART = Chart(draw, "Where, and since when, are episodes refused?", "Failures", place=20)
