"""What does a good episode cost? Time at work, priced by stated assumptions."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.cost import CollectionCost as CollectionCost
from corporeal.operations.cost import CostAssumptions as CostAssumptions
from corporeal.operations.cost import compute_cost as compute_cost
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
