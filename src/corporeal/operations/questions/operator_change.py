"""Whose quality changed? Every operator's episodes over time, and a test that says since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from corporeal.catalog.query import DAY_NS, Known, read_fields
from corporeal.errors import UnknownNameError
from corporeal.operations.monitoring.change import (
    CERTAIN,
    LevelChange,
    NoChange,
    TooFew,
    find_change,
)
from corporeal.operations.outcome import CONDITIONS
from corporeal.operations.question import TAKE_IN, Chart, ChartChoice, Drawing, HeatCell, HeatMarks
from corporeal.operations.scope import Scope, day_columns, equals, on_days
from corporeal.words import counted, day, percent

Metric = Literal["score", "acceptance"]
METRICS: tuple[Metric, ...] = get_args(Metric)
_MOST = 20


@dataclass(frozen=True)
class OperatorHistory:
    """Episodes of one operator in order of time: when (days since 1970), and how good."""

    name: str
    days: tuple[int, ...]
    values: tuple[float, ...]
    result: LevelChange | NoChange | TooFew


def read_histories(connection: Connection, scope: Scope, metric: Metric) -> list[OperatorHistory]:
    """Every operator with the metric of each episode, whoever changed most surely first."""
    value = "score" if metric == "score" else CONDITIONS["accepted"]
    judged = "score" if metric == "score" else "verdict"
    inside = scope.meeting(Known("operator", True), Known("recorded", True), Known(judged, True))
    read = read_fields(connection, "operator", "recorded", value, where=inside)
    rows = sorted(((str(name), int(at), float(how)) for name, at, how in read))
    groups = {name: list(some) for name, some in groupby(rows, key=itemgetter(0))}
    made = []
    for name, some in groups.items():
        values = tuple(row[2] for row in some)
        result = find_change(np.array(values), series=len(groups))
        made.append(OperatorHistory(name, tuple(row[1] // DAY_NS for row in some), values, result))
    return sorted(made, key=lambda each: (_chance(each), -len(each.values), each.name))


def _chance(history: OperatorHistory) -> float:
    return 2.0 if isinstance(history.result, TooFew) else history.result.chance


def draw(connection: Connection, scope: Scope, *, metric: str = "score") -> Drawing:
    """The mean of every operator in every week, and whose changed."""
    if metric not in METRICS:
        raise UnknownNameError("metric", metric, METRICS)
    choices = (ChartChoice(name="metric", label="Metric", value=metric, options=list(METRICS)),)
    histories = read_histories(connection, scope, metric)
    if not histories:
        return Drawing(
            f"Cannot tell: no episode here states its operator, when it was recorded and its "
            f"{metric}.",
            advice=TAKE_IN,
            choices=choices,
        )
    notes = [
        "A change is said where less than one order in a hundred of the same episodes shows as "
        "strong a step (permutation test, for all operators together). Another task, robot or "
        "station changes the figure as well: ask for one of them above to tell them apart.",
    ]
    if len(histories) > _MOST:
        notes.append(f"The first {_MOST} of {len(histories)} operators are shown.")
    return Drawing(
        change_sentence(histories, metric),
        _marks(histories[:_MOST], scope, metric),
        notes=tuple(notes),
        choices=choices,
    )


def change_sentence(histories: Sequence[OperatorHistory], metric: str) -> str:
    """Whose figure changed, from what to what and since when; else what can be told instead."""
    changed = [each for each in histories if isinstance(each.result, LevelChange)]
    if changed:
        said = "; ".join(_told(each, each.result, metric) for each in changed
                         if isinstance(each.result, LevelChange))  # fmt: skip
        return f"{said}."
    able = [each for each in histories if isinstance(each.result, NoChange)]
    few = [each for each in histories if isinstance(each.result, TooFew)]
    waiting = ", ".join(
        f"{each.name} {counted(each.result.missing, 'more')}".removesuffix("s")
        for each in few[:5] if isinstance(each.result, TooFew)
    )  # fmt: skip
    if not able:
        return f"Too early to tell: a change can be seen with more episodes ({waiting})."
    names = "1 operator" if len(able) == 1 else f"{len(able)} operators"
    said = f"Nobody's: no change of {metric} that chance does not explain, of {names}"
    return f"{said}; too early to tell for others ({waiting})." if few else f"{said}."


def _told(history: OperatorHistory, change: LevelChange, metric: str) -> str:
    later = len(history.values) - change.at
    return (
        f"{history.name}: {_figure(change.before, metric)} -> {_figure(change.after, metric)} "
        f"since {day(history.days[change.at])} ({counted(later, 'episode')}, p < "
        f"{0.001 if change.chance < 0.001 else CERTAIN})"
    )


def _figure(value: float, metric: str) -> str:
    return f"{value:.2f}" if metric == "score" else percent(value)


def _marks(histories: Sequence[OperatorHistory], scope: Scope, metric: str) -> HeatMarks:
    numbers = [number for each in histories for number in each.days]
    columns = day_columns(min(numbers), max(numbers), most_days=14, most_weeks=18)
    return HeatMarks(
        row_name="operator",
        column_name="day" if columns.step == 1 else "from day",
        rows=[each.name for each in histories],
        columns=[day(first)[5:] for first in columns],
        cells=[
            [_cell(each, sums, first, columns.step, scope, metric) for first in columns]
            for each, sums in ((one, _by_column(one, columns)) for one in histories)
        ],
        most=1.0,
        as_lines=True,
        empty_means="nothing recorded",
    )


def _by_column(history: OperatorHistory, columns: range) -> Mapping[int, list[float]]:
    cells: dict[int, list[float]] = {}
    for number, value in zip(history.days, history.values, strict=True):
        first = columns.start + (number - columns.start) // columns.step * columns.step
        cells.setdefault(first, []).append(value)
    return cells


def _cell(
    history: OperatorHistory,
    sums: Mapping[int, list[float]],
    first: int,
    days: int,
    scope: Scope,
    metric: str,
) -> HeatCell:
    values = sums.get(first)
    where = f"{history.name} from {day(first)}"
    if values is None:
        return HeatCell(value=None, text="", detail=f"{where}: nothing recorded", empty=True)
    mean = sum(values) / len(values)
    return HeatCell(
        value=mean,
        text=f"{mean:.2f}" if metric == "score" else f"{100 * mean:.0f}",
        detail=f"{where}: {metric} {_figure(mean, metric)}, {counted(len(values), 'episode')}",
        query=scope.query(equals("operator", history.name), *on_days(first, days)),
    )


CHART = Chart(
    draw, "Whose quality changed?", "Today", place=10, wide=True, people=True, of_one=True
)
