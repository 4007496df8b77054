"""How much data is there? The totals on top of every page of the dashboards."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from corporeal.catalog.query import Within, count_of, sum_episodes, sum_of
from corporeal.operations.outcome import CONDITIONS, OUTCOMES
from corporeal.operations.question import TAKE_IN, BigNumber, BigNumbers, Chart, Drawing
from corporeal.operations.scope import Scope
from corporeal.words import counted, hours, percent

_WEEK = 7


def draw(connection: Connection, scope: Scope) -> Drawing:
    """All episodes in scope by what became of them, and the last week against the one before."""
    counts = [count_of(CONDITIONS[outcome]) for outcome in OUTCOMES]
    ((episodes, seconds, *numbers),) = sum_episodes(
        connection, scope.condition, count_of(), sum_of("duration_s"), *counts
    )
    if not episodes:
        return Drawing("Cannot tell: there are no episodes here.", advice=TAKE_IN)
    spent = hours(float(seconds or 0) / 3600)
    figures = [
        BigNumber(label="episodes", value=f"{episodes:,}", detail=f"{spent} recorded",
                  query=scope.query())
    ]  # fmt: skip
    for outcome, number in zip(OUTCOMES, numbers, strict=True):
        query = scope.query(CONDITIONS[outcome]) if number else None
        figures.append(BigNumber(label=outcome, value=f"{int(number):,}",
                                 detail=percent(number / episodes), query=query))  # fmt: skip
    figures.append(_last_week(connection, scope))
    accepted = numbers[OUTCOMES.index("accepted")]
    return Drawing(
        f"{counted(int(episodes), 'episode')}, {spent}, {percent(accepted / episodes)} accepted.",
        BigNumbers(figures=figures),
    )


def _last_week(connection: Connection, scope: Scope) -> BigNumber:
    """Episodes of the last seven days beside those of the seven days before."""
    recent = replace(scope, parts=(*scope.parts, Within("recorded", _WEEK, "days")))
    both = replace(scope, parts=(*scope.parts, Within("recorded", 2 * _WEEK, "days")))
    now, earlier = (_count(connection, each) for each in (recent, both))
    before = f"{earlier - now:,} in the 7 days before"
    return BigNumber(label="last 7 days", value=f"{now:,}", detail=before, query=recent.query())


def _count(connection: Connection, scope: Scope) -> int:
    ((number,),) = sum_episodes(connection, scope.condition, count_of())
    return int(number)


CHART = Chart(draw, "How much data is there?", "Today", place=0)
