"""How good are the episodes? A histogram of scores."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from corporeal.catalog.query import (
    Comparison,
    Condition,
    FieldStep,
    count_of,
    sum_episodes,
    sum_of,
)
from corporeal.operations.question import Chart, Drawing, HistogramBin, HistogramMarks
from corporeal.operations.scope import Scope
from corporeal.words import counted, percent

BINS = 20


@dataclass(frozen=True)
class ScoreSpread:
    """Episodes in `BINS` equal steps from 0 to 1; the last one holds 1 as well."""

    counts: tuple[int, ...]
    mean: float | None
    unscored: int

    @property
    def scored(self) -> int:
        """Episodes with a score."""
        return sum(self.counts)


def count_scores(connection: Connection, scope: Scope) -> ScoreSpread:
    """Count the scores of the episodes in scope."""
    rows = sum_episodes(
        connection, scope.condition, count_of(), sum_of("score"),
        by=(FieldStep("score", 1 / BINS),),
    )  # fmt: skip
    counts, total, unscored = [0] * BINS, 0.0, 0
    for place, count, added in rows:
        if place is None:
            unscored += int(count)
            continue
        counts[min(max(int(place), 0), BINS - 1)] += int(count)
        total += float(added)
    scored = sum(counts)
    return ScoreSpread(tuple(counts), total / scored if scored else None, unscored)


_LOW = 0.5


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Scores in twenty steps from 0 to 1."""
    spread = count_scores(connection, scope)
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
