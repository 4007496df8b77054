"""What does a good episode cost? Time at work, priced by stated assumptions."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.query import count_of, sum_episodes, sum_of
from corporeal.operations.outcome import CONDITIONS
from corporeal.operations.question import (
    TAKE_IN,
    BigNumber,
    BigNumbers,
    Chart,
    ChartChoice,
    Drawing,
)
from corporeal.operations.scope import Scope
from corporeal.words import counted, hours, money, percent


@dataclass(frozen=True)
class CostAssumptions:
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
class CollectionCost:
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


def compute_cost(
    connection: Connection, scope: Scope, assumptions: CostAssumptions
) -> CollectionCost:
    """What the episodes in scope have cost: recorded time and a reset after each of them."""
    good = CONDITIONS["accepted"]
    ((episodes, accepted, recorded_s, accepted_s),) = sum_episodes(
        connection, scope.condition, count_of(), count_of(good), sum_of("duration_s"),
        sum_of("duration_s", good),
    )  # fmt: skip
    worked = (recorded_s + episodes * assumptions.reset_s) / 3600
    return CollectionCost(
        episodes=episodes,
        accepted=accepted,
        recorded_hours=recorded_s / 3600,
        accepted_hours=accepted_s / 3600,
        worked_hours=worked,
        total=worked * assumptions.per_hour,
    )


def draw(
    connection: Connection,
    scope: Scope,
    *,
    operator_per_hour: float = 30.0,
    station_per_hour: float = 10.0,
    reset_s: float = 30.0,
    currency: str = "EUR",
) -> Drawing:
    """Price of an accepted episode and of an accepted hour."""
    assumed = CostAssumptions(operator_per_hour, station_per_hour, reset_s)
    spent = compute_cost(connection, scope, assumed)
    unit = currency[:8]
    choices = (
        ChartChoice(name="operator_per_hour", label="Operator", value=f"{operator_per_hour:g}",
               unit=f"{unit} per hour"),
        ChartChoice(name="station_per_hour", label="Station", value=f"{station_per_hour:g}",
               unit=f"{unit} per hour"),
        ChartChoice(name="reset_s", label="Reset", value=f"{reset_s:g}", unit="s per episode"),
    )  # fmt: skip
    if not spent.episodes:
        return Drawing(
            "Cannot tell: there are no episodes here.",
            advice=TAKE_IN,
            choices=choices,
        )
    return Drawing(
        _sentence(spent, unit),
        BigNumbers(figures=_figures(spent, scope, unit)),
        notes=(
            f"Assumed: {operator_per_hour:g} {unit} for an hour of an operator, "
            f"{station_per_hour:g} {unit} for an hour of a station, {reset_s:g} s of work around "
            "every recording. Set your own here, or for all in [dashboards.cost] of "
            "corporeal.toml.",
        ),
        choices=choices,
    )


def _sentence(spent: CollectionCost, unit: str) -> str:
    if spent.per_accepted_episode is None or spent.per_accepted_hour is None:
        return f"Nothing is accepted yet; {money(spent.total, unit)} were spent."
    return (
        f"An accepted episode costs {money(spent.per_accepted_episode, unit)}, an accepted hour "
        f"{money(spent.per_accepted_hour, unit)}; "
        f"{percent(1 - spent.accepted / spent.episodes)} of the episodes were "
        "rejected or wait."
    )


def _figures(spent: CollectionCost, scope: Scope, unit: str) -> list[BigNumber]:
    good = scope.query(CONDITIONS["accepted"])
    each, hour = spent.per_accepted_episode, spent.per_accepted_hour
    return [
        BigNumber(
            label="per accepted hour",
            value="none yet" if hour is None else money(hour, unit),
            detail=f"{hours(spent.accepted_hours)} accepted of {hours(spent.recorded_hours)}",
            query=good,
        ),
        BigNumber(
            label="per accepted episode",
            value="none yet" if each is None else money(each, unit),
            detail=f"{spent.accepted:,} accepted of {counted(spent.episodes, 'episode')}",
            query=good,
        ),
        BigNumber(
            label="spent in all",
            value=money(spent.total, unit),
            detail=f"{hours(spent.worked_hours)} at work, resets included",
            query=scope.query(),
        ),
    ]


CHART = Chart(draw, "What does an accepted hour cost?", "Coverage and cost", place=50)
