"""Is quality getting worse? Batches on a control chart."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Connection

from corporeal.errors import UnknownNameError
from corporeal.operations.monitoring.batch_line import (
    FIGURES,
    MOST_POINTS,
    Figure,
    batch_line,
    batch_sentence,
    batch_series,
    find_grouping,
)
from corporeal.operations.monitoring.control_chart import ChartRules
from corporeal.operations.question import Chart, ChartChoice, Drawing, Unit
from corporeal.operations.scope import Scope

_UNITS: dict[Figure, Unit] = {
    "acceptance_rate": "share",
    "failure_rate": "share",
    "score_mean": "number",
    "findings_per_episode": "number",
}


def draw(connection: Connection, scope: Scope, *, figure: str = "acceptance_rate") -> Drawing:
    """The chosen figure of every batch, with limits from the first ones."""
    if figure not in FIGURES:
        raise UnknownNameError("figure", figure, FIGURES)
    chosen: Figure = figure
    choices = (ChartChoice(name="figure", label="Metric", value=chosen, options=list(FIGURES)),)
    by = find_grouping(connection, scope)
    if by is None:
        return Drawing(
            "Cannot tell: no episode here names its batch or its session.",
            advice="Record with `session` or `batch` in the metadata, or ask for other episodes.",
            choices=choices,
        )
    series = batch_series(connection, scope, chosen, by)
    if not len(series):
        return Drawing(
            f"Cannot tell: no {by} here has episodes with this figure.",
            advice="Judge episodes with corporeal ingest or corporeal check.",
            choices=choices,
        )
    good: Literal["up", "down"] = "up" if chosen in ("acceptance_rate", "score_mean") else "down"
    notes = [
        f"Limits come from the first {ChartRules().first} of these (hollow points); Shewhart, EWMA "
        "and CUSUM charts judge the later ones, as corporeal watch does."
    ]
    if len(series) > MOST_POINTS:
        notes.append(f"The last {MOST_POINTS} of {len(series)} are shown.")
    return Drawing(
        batch_sentence(series, good=good),
        batch_line(series, scope, _UNITS[chosen]),
        notes=tuple(notes),
        choices=choices,
    )


CHART = Chart(draw, "Is quality getting worse?", "Quality", place=10, wide=True)
