"""The supervisor's board: every station at a glance, what is wrong, and what a day costs.

What the catalogue knows; what stations do at this second, their recorders say themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.query import (
    PRESENT,
    And,
    Comparison,
    Condition,
    Date,
    Known,
    MetadataField,
    count_of,
    least_of,
    most_of,
    read_fields,
    sum_episodes,
    sum_of,
)
from corporeal.operations.campaign import campaigns, open_cards
from corporeal.operations.cost import CollectionCost, CostAssumptions, compute_cost
from corporeal.operations.monitoring.alarm_log import read_alarm_log
from corporeal.operations.monitoring.stations import Station, held_query, read_stations
from corporeal.operations.outcome import CONDITIONS
from corporeal.operations.scope import Scope
from corporeal.units import SECOND_NS

LATEST = 10
_USUAL_COST = CostAssumptions(30.0, 10.0, 30.0)
_SHOWN_DAYS = 14
_MOST_STATIONS, _MOST_ALARMS, _MOST_CAMPAIGNS = 100, 30, 6
AlarmKind = Literal["halt", "creep", "figure"]


@dataclass(frozen=True)
class BoardAssumptions:
    """What is compared with: demonstrations that a station should make in an hour, and prices."""

    per_hour: float | None = None
    cost: CostAssumptions = _USUAL_COST
    currency: str = "EUR"


@dataclass(frozen=True)
class BoardTake:
    """One of the last takes of a station: the number of its episode, and what became of it."""

    number: int | None
    outcome: str


@dataclass(frozen=True)
class BoardStation:
    """A station as the catalogue has it today; `operator` is who made its last take.

    `per_hour` counts takes from the first of today to now or, where it rests, to the last one.
    `left` is what its campaign still lacks altogether, `next_levels` what it has been asked for.
    """

    name: str
    robot: str | None
    task: str | None
    operator: str | None
    today: int
    accepted: int
    per_hour: float | None
    last_at: str | None
    latest: tuple[BoardTake, ...]
    calibration: str | None
    calibration_state: str | None
    checked_at: str | None
    campaign: str | None
    left: int | None
    next_levels: Mapping[str, str] | None
    today_query: str


@dataclass(frozen=True)
class BoardAlarm:
    """Something that is wrong now, in a sentence, with the page that shows why."""

    kind: AlarmKind
    station: str | None
    at: str | None
    sentence: str
    link: str
    query: str | None = None


@dataclass(frozen=True)
class BoardCampaign:
    """A campaign that goes on: accepted of planned, and how many of them today."""

    name: str
    episodes: int
    accepted: int
    today: int


@dataclass(frozen=True)
class FloorBoard:
    """A floor today: `per_hour` is takes of a station in an hour that it worked, on average."""

    day: str
    stations: tuple[BoardStation, ...]
    alarms: tuple[BoardAlarm, ...]
    campaigns: tuple[BoardCampaign, ...]
    episodes: int
    accepted: int
    rejected: int
    unchecked: int
    recorded_h: float
    station_h: float
    per_hour: float | None
    kept_per_hour: float | None
    cost: CollectionCost
    assumed: BoardAssumptions
    today_query: str


def read_assumptions(settings: Mapping[str, Any]) -> BoardAssumptions:
    """What a workspace's corporeal.toml says: [board] per_hour, and [dashboards.cost]."""
    board, dashboards = (settings.get(name) or {} for name in ("board", "dashboards"))
    own = dashboards.get("cost", {}) if isinstance(dashboards, Mapping) else {}
    target = board.get("per_hour") if isinstance(board, Mapping) else None
    if target is not None and (not _is_number(target) or not 0 < target <= 1000):
        raise CatalogError(
            f"corporeal.toml: board.per_hour, got {target!r:.80}; expected 0 to 1000 "
            "demonstrations that a station makes in an hour."
        )
    usual = BoardAssumptions()
    prices = {name: float(own[name]) if _is_number(own.get(name)) else value
              for name, value in vars(usual.cost).items()}  # fmt: skip
    return BoardAssumptions(None if target is None else float(target), CostAssumptions(**prices),
                            str(own.get("currency", usual.currency))[:8])  # fmt: skip


def read_board(
    connection: Connection, *, now: datetime, assumed: BoardAssumptions | None = None
) -> FloorBoard:
    """Everything that a supervisor looks at, for the day (local time) that `now` lies in."""
    begin = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    today = Scope((_since(begin),))
    calibrations = {station.name: station for station in read_stations(connection, now=now)}
    plans = _campaigns(connection, today)
    stations = _stations(connection, today, begin, now, calibrations, plans)
    ((episodes, recorded_s, accepted, unchecked),) = sum_episodes(
        connection, today.condition, count_of(), sum_of("duration_s"),
        count_of(CONDITIONS["accepted"]), count_of(CONDITIONS["unchecked"]),
    )  # fmt: skip
    timed = [station for station in stations if station.per_hour]
    hours = sum(station.today / (station.per_hour or 1.0) for station in timed)
    prices = assumed or BoardAssumptions()
    return FloorBoard(
        day=f"{begin:%Y-%m-%d}",
        stations=tuple(stations),
        alarms=tuple(_alarms(connection, calibrations, stations)),
        campaigns=tuple(plan for plan, _ in plans),
        episodes=episodes,
        accepted=accepted,
        rejected=episodes - accepted - unchecked,
        unchecked=unchecked,
        recorded_h=(recorded_s or 0.0) / 3600,
        station_h=hours,
        per_hour=sum(station.today for station in timed) / hours if hours else None,
        kept_per_hour=sum(station.accepted for station in timed) / hours if hours else None,
        cost=compute_cost(connection, today, prices.cost),
        assumed=prices,
        today_query=today.query(),
    )


def _stations(
    connection: Connection, today: Scope, begin: datetime, now: datetime,
    calibrations: Mapping[str, Station], plans: Sequence[tuple[BoardCampaign, Any]],
) -> list[BoardStation]:  # fmt: skip
    recent = And((PRESENT, Known("station", True), _since(begin - timedelta(days=_SHOWN_DAYS))))
    names = sorted(str(row[0]) for row in sum_episodes(connection, recent, count_of(),
                                                      by=("station",)))  # fmt: skip
    done = {
        name: (count, accepted, first, last)
        for name, count, accepted, first, last in sum_episodes(
            connection, today.meeting(Known("station", True)), count_of(),
            count_of(CONDITIONS["accepted"]), least_of("recorded"), most_of("recorded"),
            by=("station",))
    }  # fmt: skip
    cards = {card_station: (plan, card) for plan, opened in plans
             for card_station, card in opened if card_station}  # fmt: skip
    by_name = {plan.name: plan for plan, _ in plans}
    stations = []
    for name in names[:_MOST_STATIONS]:
        mine = Comparison("station", "=", name)
        rows = list(read_fields(
            connection, "number", "verdict", "state", "robot", "task", "operator", "calibration",
            "recorded", "duration_s", MetadataField("card.campaign"), where=And((recent, mine)),
            order="-recorded", most=LATEST,
        ))  # fmt: skip
        _, _, _, robot, task, operator, calibration, last_ns, last_s, followed = rows[0]
        count, accepted, first_ns, _ = done.get(name, (0, 0, None, None))
        held = calibrations.get(str(calibration).partition("@")[0]) if calibration else None
        plan, card = cards.get(name, (by_name.get(followed), None))
        stations.append(BoardStation(
            name=name, robot=robot, task=task, operator=operator, today=count, accepted=accepted,
            per_hour=_rate(count, first_ns, last_ns, last_s or 0.0, now),
            last_at=_stamp(last_ns),
            latest=tuple(BoardTake(number, _outcome(verdict, state))
                         for number, verdict, state, *_ in reversed(rows)),
            calibration=calibration, calibration_state=_state(held),
            checked_at=next((entry.at for entry in held.checks if entry.what == "check"), None)
            if held else None,
            campaign=plan.name if plan else None,
            left=plan.episodes - plan.accepted if plan else None,
            next_levels=dict(card.levels) if card else None,
            today_query=today.query(mine),
        ))  # fmt: skip
    return stations


def _campaigns(connection: Connection, today: Scope) -> list[tuple[BoardCampaign, Any]]:
    made: list[tuple[BoardCampaign, Any]] = []
    good = CONDITIONS["accepted"]
    for campaign in campaigns(connection):
        if campaign.closed_at is not None or len(made) == _MOST_CAMPAIGNS:
            break
        ((accepted,),) = sum_episodes(connection, campaign.condition, count_of(good))
        ((new,),) = sum_episodes(connection, today.meeting(campaign.condition), count_of(good))
        made.append((BoardCampaign(campaign.name, campaign.episodes, accepted, new),
                     open_cards(connection, campaign.name)))  # fmt: skip
    return made


def _alarms(
    connection: Connection, calibrations: Mapping[str, Station], stations: Sequence[BoardStation]
) -> list[BoardAlarm]:
    """What stands: halts first, then what creeps, then figures that left their limits."""
    owners = {(each.calibration or "").partition("@")[0]: each.name for each in stations}
    halts, creeps, figures = list[BoardAlarm](), list[BoardAlarm](), list[BoardAlarm]()
    for station in calibrations.values():
        owner = owners.get(station.name)
        if (halt := station.open_halt) is not None:
            references = [version.reference for version in station.versions]
            halts.append(BoardAlarm("halt", halt.station or owner, halt.at, halt.why,
                                    "/calibrations", held_query(halt, references)))  # fmt: skip
        creeps += [
            BoardAlarm("creep", owner, station.checks[0].at,
                       f"{'' if owner else f'{station.name}: '}{creep.camera} creeps: "
                       f"{creep.marker} is not where it was, by its {creep.axis}.",
                       "/calibrations")
            for creep in station.creeps if creep.is_alarming
        ]  # fmt: skip
    for logged in read_alarm_log(connection):
        if logged.over_at is None:
            grouping = logged.grouping if logged.grouping in ("batch", "session") else None
            inside = (Scope().query(Comparison(grouping, "=", logged.subject))
                      if logged.subject and grouping else None)  # fmt: skip
            figures.append(BoardAlarm("figure", None, logged.at, logged.sentence,
                                      "/dashboards", inside))  # fmt: skip
    return [*halts, *creeps, *figures][:_MOST_ALARMS]


def _rate(
    count: int, first_ns: int | None, last_ns: int | None, last_s: float, now: datetime
) -> float | None:
    """Takes in an hour, over the time from the first take of today to the end of the last."""
    if not count or first_ns is None or last_ns is None:
        return None
    end_s = min(last_ns / SECOND_NS + last_s, now.timestamp())
    hours = (end_s - first_ns / SECOND_NS) / 3600
    return count / hours if count > 1 and hours > 0 else None


def _outcome(verdict: str | None, state: str) -> str:
    return state if state in ("accepted", "quarantined", "failed") else verdict or "unchecked"


def _state(station: Station | None) -> str | None:
    if station is None:
        return None
    if station.open_halt is not None:
        return "halted"
    if any(creep.is_alarming for creep in station.creeps):
        return "creeps"
    return None if station.standing is None else station.standing.state


def _since(begin: datetime) -> Condition:
    at = round(begin.timestamp() * SECOND_NS)
    return Comparison("recorded", ">=", Date(at, at + 1))


def _stamp(time_ns: int | None) -> str | None:
    if time_ns is None:
        return None
    return datetime.fromtimestamp(time_ns / SECOND_NS).astimezone().isoformat(timespec="seconds")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
