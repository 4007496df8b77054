"""What episodes cost: time at work and what is done with each, priced by stated assumptions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.query import count_of, sum_episodes, sum_of
from corporeal.operations.outcome import CONDITIONS
from corporeal.operations.scope import Scope


@dataclass(frozen=True)
class CostAssumptions:
    """What an hour of a person and of a station costs, and the work around each episode.

    `supervisor_per_hour` is the part of a supervisor that an hour of one station takes. Checking by
    people is of every episode, annotation of the accepted ones, storage of every gigabyte.
    """

    operator_per_hour: float
    station_per_hour: float
    reset_s: float
    supervisor_per_hour: float = 0.0
    review_per_episode: float = 0.0
    annotation_per_episode: float = 0.0
    storage_per_gb: float = 0.0

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            if not math.isfinite(value) or not 0 <= value <= 1e6:
                raise CatalogError(f"{name}, got {value}; expected 0 to 1000000.")

    @property
    def per_hour(self) -> float:
        """A person, their station, and whoever looks after both."""
        return self.operator_per_hour + self.station_per_hour + self.supervisor_per_hour


@dataclass(frozen=True)
class CollectionCost:
    """Time spent and what came of it; prices are None while nothing was accepted."""

    episodes: int
    accepted: int
    recorded_hours: float
    accepted_hours: float
    worked_hours: float
    total: float
    annotation: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def per_accepted_episode(self) -> float | None:
        """All that was spent, over what was kept."""
        return self.total / self.accepted if self.accepted else None

    def needed_share(self, target: float) -> float | None:
        """The share that must be accepted for this price of one; None where none would do."""
        if not self.episodes or not self.accepted:
            return None
        per_recorded = (self.total - self.annotation) / self.episodes
        room = target - self.annotation / self.accepted
        return per_recorded / room if room > 0 and per_recorded <= room else None

    def saved_by(self, more: float) -> float | None:
        """What an accepted one would cost less with so much more accepted of all, 0.1 for 10 %."""
        if not self.accepted:
            return None
        share = self.accepted / self.episodes
        per_recorded = (self.total - self.annotation) / self.episodes
        return per_recorded / share - per_recorded / min(1.0, share + more)

    @property
    def per_accepted_hour(self) -> float | None:
        """All that was spent, over the hours that were kept."""
        return self.total / self.accepted_hours if self.accepted_hours else None


def compute_cost(
    connection: Connection, scope: Scope, assumptions: CostAssumptions
) -> CollectionCost:
    """What the episodes in scope have cost: time at work, and what is done with each of them."""
    good = CONDITIONS["accepted"]
    ((episodes, accepted, recorded_s, accepted_s, size),) = sum_episodes(
        connection, scope.condition, count_of(), count_of(good), sum_of("duration_s"),
        sum_of("duration_s", good), sum_of("bytes"),
    )  # fmt: skip
    worked = (recorded_s + episodes * assumptions.reset_s) / 3600
    parts = {
        "operators": worked * assumptions.operator_per_hour,
        "stations": worked * assumptions.station_per_hour,
        "supervisors": worked * assumptions.supervisor_per_hour,
        "checking": episodes * assumptions.review_per_episode,
        "annotation": accepted * assumptions.annotation_per_episode,
        "storage": size / 1e9 * assumptions.storage_per_gb,
    }
    return CollectionCost(
        episodes=episodes,
        accepted=accepted,
        recorded_hours=recorded_s / 3600,
        accepted_hours=accepted_s / 3600,
        worked_hours=worked,
        total=sum(parts.values()),
        annotation=parts["annotation"],
        parts=parts,
    )
