"""How good are the episodes? A histogram of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from corporeal.catalog.query import Comparison, Condition
from corporeal.catalog.tables import EPISODE
from corporeal.operations.question import Chart, Drawing, HistogramBin, HistogramMarks
from corporeal.operations.scope import Scope
from corporeal.words import counted, percent

# SQLite cuts off towards nought; shifted by so much every number that matters is above it.
_SHIFT = 1_000_000
# A number this close below a step was meant to be on it: 0.6 / 0.2 falls short of 3.
_CLOSE = 1e-9


class _Floor(FunctionElement[int]):
    """A number rounded down; NULL stays NULL."""

    type = Integer()
    inherit_cache = True


def whole_steps(value: ColumnElement[Any], step: float) -> ColumnElement[int]:
    """How many whole steps fit into a value, rounded down."""
    return _Floor(value / step + _CLOSE)


@compiles(_Floor, "sqlite")
def _sqlite_floor(element: _Floor, compiler: SQLCompiler, **kw: Any) -> str:
    inside = compiler.process(next(iter(element.clauses)), **kw)
    return f"(CAST({inside} + {_SHIFT}.0 AS INTEGER) - {_SHIFT})"


@compiles(_Floor, "postgresql")
def _postgres_floor(element: _Floor, compiler: SQLCompiler, **kw: Any) -> str:
    inside = compiler.process(next(iter(element.clauses)), **kw)
    return f"floor({inside})"


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
    step = whole_steps(EPISODE.c.score, 1 / BINS).label("step")
    # Inside a subquery, since PostgreSQL takes the same expression written twice for two.
    each = select(step, EPISODE.c.score).where(scope.where).subquery()
    rows = connection.execute(
        select(each.c.step, func.count(), func.sum(each.c.score)).group_by(each.c.step)
    )
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
