"""How scores are spread."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from corporeal.catalog.tables import EPISODE
from corporeal.operations.figures.whole_steps import whole_steps
from corporeal.operations.scope import Scope

BINS = 20


@dataclass(frozen=True)
class Spread:
    """Episodes in `BINS` equal steps from 0 to 1; the last one holds 1 as well."""

    counts: tuple[int, ...]
    mean: float | None
    unscored: int

    @property
    def scored(self) -> int:
        """Episodes with a score."""
        return sum(self.counts)


def score_spread(connection: Connection, scope: Scope) -> Spread:
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
    return Spread(tuple(counts), total / scored if scored else None, unscored)
