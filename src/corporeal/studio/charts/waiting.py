"""What is waiting for a person? Quarantine, reviews, and the pace of decisions."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.figures.waiting import PACE_DAYS, Waiting, decided_lately, waiting
from corporeal.operations.scope import Scope
from corporeal.studio.chart import Chart, Drawing, TableMarks, TableRow
from corporeal.words import counted


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Everything that somebody must look at, and since when it waits."""
    found = waiting(connection, scope)
    if not found:
        return Drawing("Nothing: no episode is in quarantine, unjudged or under review.",
                       advice="Draw a sample to look at on the page Review.")  # fmt: skip
    table = TableMarks(
        columns=["What", "Episodes", "Oldest since"],
        rows=[_row(each, scope) for each in found],
    )
    return Drawing(_sentence(found, decided_lately(connection, scope)), table)


def _row(each: Waiting, scope: Scope) -> TableRow:
    return TableRow(
        cells=[each.what, f"{each.episodes:,}", (each.since or "not stated")[:10]],
        tone="warn",
        query=None if each.condition is None else scope.query(each.condition),
        address=None if each.review is None else "/review",
    )


def _sentence(found: list[Waiting], decided: int) -> str:
    first = max(found, key=lambda each: each.episodes)
    said = f"{counted(first.episodes, 'episode')} {first.what}"
    reviewing = sum(each.episodes for each in found if each.review is not None)
    if reviewing and decided:
        days = reviewing / decided * PACE_DAYS
        return (
            f"{said}. People decided {decided:,} in the last {PACE_DAYS} days: at that pace the "
            f"open reviews take {counted(max(1, round(days)), 'day')}."
        )
    return f"{said}."


CHART = Chart(draw, "What is waiting for a person?", "Alerts", place=20, wide=True)
