"""What does a good episode cost? Time at work, priced by stated assumptions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

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

_MORE = 0.1


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


def draw(
    connection: Connection,
    scope: Scope,
    *,
    operator_per_hour: float = 30.0,
    station_per_hour: float = 10.0,
    reset_s: float = 30.0,
    supervisor_per_hour: float = 5.0,
    review_per_episode: float = 0.2,
    annotation_per_episode: float = 1.0,
    storage_per_gb: float = 0.3,
    target: float = 10.0,
    currency: str = "EUR",
) -> Drawing:
    """Price of an accepted episode and of an accepted hour."""
    assumed = CostAssumptions(operator_per_hour, station_per_hour, reset_s, supervisor_per_hour,
                              review_per_episode, annotation_per_episode,
                              storage_per_gb)  # fmt: skip
    spent = compute_cost(connection, scope, assumed)
    unit = currency[:8]
    choices = (
        ChartChoice(name="operator_per_hour", label="Operator", value=f"{operator_per_hour:g}",
               unit=f"{unit} per hour"),
        ChartChoice(name="station_per_hour", label="Station", value=f"{station_per_hour:g}",
               unit=f"{unit} per hour"),
        ChartChoice(name="reset_s", label="Reset", value=f"{reset_s:g}", unit="s per episode"),
        ChartChoice(name="supervisor_per_hour", label="Supervisor",
               value=f"{supervisor_per_hour:g}", unit=f"{unit} per hour of a station"),
        ChartChoice(name="review_per_episode", label="Checking", value=f"{review_per_episode:g}",
               unit=f"{unit} per episode"),
        ChartChoice(name="annotation_per_episode", label="Annotation",
               value=f"{annotation_per_episode:g}", unit=f"{unit} per accepted episode"),
        ChartChoice(name="storage_per_gb", label="Storage", value=f"{storage_per_gb:g}",
               unit=f"{unit} per GB"),
        ChartChoice(name="target", label="Target", value=f"{target:g}",
               unit=f"{unit} per accepted episode"),
    )  # fmt: skip
    if not spent.episodes:
        return Drawing(
            "Cannot tell: there are no episodes here.",
            advice=TAKE_IN,
            choices=choices,
        )
    return Drawing(
        _sentence(spent, unit, target),
        BigNumbers(figures=[*_figures(spent, scope, unit), *_aims(spent, unit, target)]),
        notes=(
            f"Assumed: {operator_per_hour:g} {unit} for an hour of an operator, "
            f"{station_per_hour:g} {unit} for an hour of a station and {supervisor_per_hour:g} for "
            f"its part of a supervisor, {reset_s:g} s of work around every recording, "
            f"{review_per_episode:g} {unit} for checking an episode, {annotation_per_episode:g} "
            f"for annotating an accepted one, {storage_per_gb:g} for keeping a GB. Set your own "
            "here, or for all in [dashboards.cost] of corporeal.toml.",
        ),
        choices=choices,
    )


def _aims(spent: CollectionCost, unit: str, target: float) -> list[BigNumber]:
    """The price against the target, and what more acceptance would save."""
    saved, share = spent.saved_by(_MORE), spent.needed_share(target)
    if saved is None or spent.per_accepted_episode is None:
        return []
    now = percent(spent.accepted / spent.episodes)
    is_met = spent.per_accepted_episode <= target
    need = "no share of acceptance reaches it" if share is None else (
        f"{percent(share)} accepted would do, {now} are")  # fmt: skip
    return [
        BigNumber(label="target per accepted episode",
                  value=f"{money(target, unit)}, {'met' if is_met else 'missed'}", detail=need),
        BigNumber(label="saved by 10 % more acceptance", value=money(saved, unit),
                  detail="per accepted episode, with ten more of a hundred accepted; "
                  f"{money(saved * spent.accepted, unit)} for those there are"),
    ]  # fmt: skip


def _sentence(spent: CollectionCost, unit: str, target: float) -> str:
    if spent.per_accepted_episode is None or spent.per_accepted_hour is None:
        return f"Nothing is accepted yet; {money(spent.total, unit)} were spent."
    above = "" if spent.per_accepted_episode <= target else (
        f", above the target of {money(target, unit)}")  # fmt: skip
    return (
        f"An accepted episode costs {money(spent.per_accepted_episode, unit)}{above}, an accepted "
        f"hour {money(spent.per_accepted_hour, unit)}; "
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
            detail=f"{hours(spent.worked_hours)} at work, resets included: "
            + ", ".join(
                f"{name} {money(part, unit)}" for name, part in spent.parts.items() if part
            ),
            query=scope.query(),
        ),
    ]


CHART = Chart(draw, "What does an accepted hour cost?", "Coverage and cost", place=50)
