"""How good are the episodes? A histogram of scores."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.catalog.query import Comparison, Condition
from corporeal.operations.figures.score_spread import BINS, score_spread
from corporeal.operations.scope import Scope
from corporeal.studio.chart import Chart, Drawing, HistogramBin, HistogramMarks
from corporeal.words import counted, percent

_LOW = 0.5


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Scores in twenty steps from 0 to 1."""
    spread = score_spread(connection, scope)
    if spread.mean is None:
        return Drawing(
            "Cannot tell: none of these episodes has a score.",
            advice="Scores come with corporeal ingest, which judges episodes as it takes them in.",
        )
    low = sum(spread.counts[: round(_LOW * BINS)])
    bins = []
    for place, count in enumerate(spread.counts):
        begin, end = place / BINS, (place + 1) / BINS
        last = place == BINS - 1
        limits: tuple[Condition, ...] = (Comparison("score", ">=", begin),)
        if not last:
            limits += (Comparison("score", "<", end),)
        if not place:
            limits = limits[1:]
        said = f"score {begin:.2f} to {end:.2f}: {counted(count, 'episode')}"
        found = scope.query(*limits)
        bins.append(HistogramBin(low=begin, high=end, count=count, detail=said, query=found))
    notes = (f"{counted(spread.unscored, 'episode')} without a score.",) if spread.unscored else ()
    return Drawing(
        f"The mean score is {spread.mean:.2f}; {percent(low / spread.scored)} of "
        f"{counted(spread.scored, 'episode')} are below {_LOW}.",
        HistogramMarks(name="score", bins=bins, mean=spread.mean),
        notes=notes,
    )


CHART = Chart(draw, "How good are the episodes?", "Quality", place=20)
