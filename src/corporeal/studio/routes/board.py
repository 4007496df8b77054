"""The supervisor's board: all stations today, what is wrong, and what a day brings and costs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from corporeal.catalog.permission import sees_everybody, sees_person, why_hidden
from corporeal.catalog.workspace import read_settings
from corporeal.operations.monitoring import read_assumptions, read_board
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep
from corporeal.studio.people_view import log_view

ROUTER = APIRouter(tags=["board"])


class BoardTakeFacts(BaseModel):
    """One of the last takes: the number of its episode, and what became of it."""

    number: int | None
    outcome: str


class BoardStationFacts(BaseModel):
    """A station today; `operator` is null where single people are not shown to whoever asks."""

    name: str
    robot: str | None
    task: str | None
    operator: str | None
    today: int
    accepted: int
    per_hour: float | None
    last_at: str | None
    latest: list[BoardTakeFacts]
    calibration: str | None
    calibration_state: str | None
    checked_at: str | None
    campaign: str | None
    left: int | None
    next_levels: dict[str, str] | None
    today_query: str


class BoardAlarmFacts(BaseModel):
    """What is wrong; `link` is the page that shows why, `query` the episodes it is about."""

    kind: Literal["halt", "creep", "figure"]
    station: str | None
    at: str | None
    sentence: str
    link: str
    query: str | None


class BoardCampaignFacts(BaseModel):
    """A campaign that goes on; `today` are the episodes accepted today."""

    name: str
    episodes: int
    accepted: int
    today: int


class BoardFacts(BaseModel):
    """A floor today. `people` says whether names of operators may be shown to whoever asks.

    `target_per_hour` is what corporeal.toml asks of a station; `cost_per_kept` has every price.
    """

    now: str
    day: str
    people: bool
    me: str | None
    hidden: str | None
    stations: list[BoardStationFacts]
    alarms: list[BoardAlarmFacts]
    campaigns: list[BoardCampaignFacts]
    episodes: int
    accepted: int
    rejected: int
    unchecked: int
    recorded_h: float
    per_hour: float | None
    kept_per_hour: float | None
    target_per_hour: float | None
    cost_per_kept: float | None
    currency: str
    today_query: str


@ROUTER.get("/board")
def show_board(studio: StudioDep, actor: Reader) -> BoardFacts:
    """Everything at a glance, by the catalogue; what stations do now, their recorders say."""
    assumed = read_assumptions(read_settings(studio.workspace.root))
    now = studio.settings.clock()
    with studio.workspace.database.read() as connection:
        board = read_board(connection, now=now, assumed=assumed)
    people = sees_everybody(actor)
    if people:
        log_view(studio, actor, what="board", operator=None)
    return BoardFacts(
        now=now.astimezone().isoformat(timespec="seconds"),
        day=board.day,
        people=people,
        me=actor.operator if sees_person(actor, actor.operator) else None,
        hidden=None if people else why_hidden(actor),
        stations=[
            BoardStationFacts(**asdict(station) | {
                "operator": station.operator if sees_person(actor, station.operator) else None,
            }) for station in board.stations
        ],
        alarms=[BoardAlarmFacts(**vars(alarm)) for alarm in board.alarms],
        campaigns=[BoardCampaignFacts(**vars(campaign)) for campaign in board.campaigns],
        target_per_hour=board.assumed.per_hour,
        cost_per_kept=board.cost.per_accepted_episode,
        currency=board.assumed.currency,
        episodes=board.episodes,
        accepted=board.accepted,
        rejected=board.rejected,
        unchecked=board.unchecked,
        recorded_h=board.recorded_h,
        per_hour=board.per_hour,
        kept_per_hour=board.kept_per_hour,
        today_query=board.today_query,
    )  # fmt: skip
