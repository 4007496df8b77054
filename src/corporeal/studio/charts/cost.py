"""What does a good episode cost? Time at work, priced by stated assumptions."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.operations.figures.cost import Assumptions, Cost, cost
from corporeal.operations.figures.outcome import CONDITIONS
from corporeal.operations.scope import Scope
from corporeal.studio.chart import BigNumber, BigNumbers, Chart, ChartChoice, Drawing
from corporeal.studio.charting.wording import hours, money
from corporeal.words import counted, percent


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
    assumed = Assumptions(operator_per_hour, station_per_hour, reset_s)
    spent = cost(connection, scope, assumed)
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
            advice="Choose a longer span of days above, or take in episodes: corporeal ingest.",
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


def _sentence(spent: Cost, unit: str) -> str:
    if spent.per_accepted_episode is None or spent.per_accepted_hour is None:
        return f"Nothing is accepted yet; {money(spent.total, unit)} were spent."
    return (
        f"An accepted episode costs {money(spent.per_accepted_episode, unit)}, an accepted hour "
        f"{money(spent.per_accepted_hour, unit)}; "
        f"{percent(1 - spent.accepted / spent.episodes)} of the episodes were paid for in vain "
        "or wait."
    )


def _figures(spent: Cost, scope: Scope, unit: str) -> list[BigNumber]:
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


CHART = Chart(draw, "What does a good hour cost?", "Throughput and cost", place=20)
