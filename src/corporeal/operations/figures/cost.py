"""What an accepted episode and an accepted hour cost, under assumptions that are stated."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from corporeal.catalog.database import CatalogError
from corporeal.catalog.tables import EPISODE
from corporeal.operations.figures.outcome import is_outcome, number_of, total_where
from corporeal.operations.scope import Scope


@dataclass(frozen=True)
class Assumptions:
    """What one hour of a person and of a station costs, and the work around each episode."""

    operator_per_hour: float
    station_per_hour: float
    reset_s: float

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value) or not 0 <= value <= 1e6:
                raise CatalogError(f"{name}, got {value}; expected 0 to 1000000.")

    @property
    def per_hour(self) -> float:
        """A person and their station."""
        return self.operator_per_hour + self.station_per_hour


@dataclass(frozen=True)
class Cost:
    """Time spent and what came of it; prices are None while nothing was accepted."""

    episodes: int
    accepted: int
    recorded_hours: float
    accepted_hours: float
    worked_hours: float
    total: float

    @property
    def per_accepted_episode(self) -> float | None:
        """All that was spent, over what was kept."""
        return self.total / self.accepted if self.accepted else None

    @property
    def per_accepted_hour(self) -> float | None:
        """All that was spent, over the hours that were kept."""
        return self.total / self.accepted_hours if self.accepted_hours else None


def cost(connection: Connection, scope: Scope, assumptions: Assumptions) -> Cost:
    """What the episodes in scope have cost: recorded time and a reset after each of them."""
    good = is_outcome("accepted")
    row = connection.execute(
        select(
            func.count(),
            number_of(good),
            func.coalesce(func.sum(EPISODE.c.duration_s), 0.0),
            total_where(good, EPISODE.c.duration_s),
        ).where(scope.where)
    ).one()
    episodes, accepted, recorded_s, accepted_s = row
    worked = (float(recorded_s) + int(episodes) * assumptions.reset_s) / 3600
    return Cost(
        episodes=int(episodes),
        accepted=int(accepted),
        recorded_hours=float(recorded_s) / 3600,
        accepted_hours=float(accepted_s) / 3600,
        worked_hours=worked,
        total=worked * assumptions.per_hour,
    )
