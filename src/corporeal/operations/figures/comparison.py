"""Operators, stations and tasks side by side, and which of them stands out from chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, func, select

from corporeal.catalog.tables import EPISODE
from corporeal.operations.figures.outcome import OUTCOMES, Outcome, is_outcome, number_of
from corporeal.operations.scope import Scope

Column = Literal["operator", "station", "task", "session", "robot", "environment"]
# As rare as this by chance, over all groups together, stands out.
_RARE = 0.01


@dataclass(frozen=True)
class Group:
    """One operator, station or task; `name` is None for episodes that state none."""

    name: str | None
    outcomes: dict[Outcome, int]
    hours: float

    @property
    def episodes(self) -> int:
        """All of its episodes."""
        return sum(self.outcomes.values())

    @property
    def judged(self) -> int:
        """Those that gates or people have judged."""
        return self.episodes - self.outcomes["not judged"]

    @property
    def refused(self) -> int:
        """Those that were judged and not accepted."""
        return self.judged - self.outcomes["accepted"]

    @property
    def refused_share(self) -> float:
        """Refused episodes of those judged; 0 where none was."""
        return self.refused / self.judged if self.judged else 0.0


@dataclass(frozen=True)
class StandOut:
    """A group that is refused more often than the others, and their share."""

    group: Group
    elsewhere: float
    chance: float


def groups(connection: Connection, scope: Scope, column: Column) -> list[Group]:
    """Every value of a column with its outcomes, the one refused most often first."""
    counts = [number_of(is_outcome(outcome)) for outcome in OUTCOMES]
    hours = func.coalesce(func.sum(EPISODE.c.duration_s), 0.0) / 3600
    rows = connection.execute(
        select(EPISODE.c[column], hours, *counts).where(scope.where).group_by(EPISODE.c[column])
    )
    found = [
        Group(name, dict(zip(OUTCOMES, map(int, numbers), strict=True)), float(time))
        for name, time, *numbers in rows
    ]
    return sorted(found, key=lambda each: (-each.refused_share, -each.episodes, each.name or ""))


def stand_out(found: Sequence[Group]) -> StandOut | None:
    """The group whose refusals chance explains worst, if it explains them badly enough."""
    from scipy import stats

    judged, refused = sum(each.judged for each in found), sum(each.refused for each in found)
    best: StandOut | None = None
    for each in found:
        others = judged - each.judged
        if not others or not each.refused:
            continue
        share = (refused - each.refused) / others
        # Exact, given how many were refused in all: small groups need no approximation.
        chance = float(stats.hypergeom.sf(each.refused - 1, judged, refused, each.judged))
        chance = min(1.0, chance * len(found))
        if each.refused_share > share and (best is None or chance < best.chance):
            best = StandOut(each, share, chance)
    return best if best is not None and best.chance < _RARE else None
