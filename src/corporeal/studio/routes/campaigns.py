"""Campaigns: what is collected of a plan, level by level, and what stations are asked for."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from corporeal.catalog.query import Comparison
from corporeal.operations.campaign import (
    CampaignProgress,
    campaigns,
    find_campaign,
    hide_people,
    open_cards,
    read_progress,
    shown_levels,
)
from corporeal.operations.scope import Scope
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep
from corporeal.studio.people_view import log_view

ROUTER = APIRouter(tags=["campaigns"])
_MOST_MISSING = 200


class CampaignLine(BaseModel):
    """A campaign in one line; `query` finds its episodes."""

    name: str
    protocol: str
    episodes: int
    accepted: int
    rejected: int
    unchecked: int
    practice: int
    created_at: str
    closed_at: str | None
    query: str
    forecast: str | None = Field(description="when it will be done, in words; none once it is")
    days_left: float | None = Field(description="working days at the pace so far")
    days_low: int | None = Field(description="with 90 % confidence at least so many")
    days_high: int | None = Field(description="and at most so many; none: no bound can be told")


class CampaignLevel(BaseModel):
    """One level of a factor; success with its bounds (Wilson, 95 %) where episodes state it."""

    level: str
    accepted: int
    planned: float
    rejected: int
    unchecked: int
    successes: int
    tried: int
    low: float | None
    high: float | None


class CampaignFactor(BaseModel):
    """A factor with all of its levels."""

    name: str
    levels: list[CampaignLevel]


class MissingPair(BaseModel):
    """Two levels that no accepted episode shows together, though the rules allow it."""

    first: str
    first_level: str
    second: str
    second_level: str


class ConfoundedPair(BaseModel):
    """Two things that tell each other: Cramer's V from 0 to 1."""

    first: str
    second: str
    cramers_v: float


class StationCard(BaseModel):
    """What a station has been asked for and not begun."""

    station: str | None
    levels: dict[str, str]


class CampaignFacts(BaseModel):
    """How far a campaign is; `missing` has the first of `pairs_missing`.

    `hidden` says why figures of single operators are not shown to whoever asks.
    """

    line: CampaignLine
    factors: list[CampaignFactor]
    pairs: int
    pairs_missing: int
    missing: list[MissingPair]
    confounded: list[ConfoundedPair]
    few_operators: list[str]
    operators: dict[str, int]
    greatest_share: float
    cards: list[StationCard]
    hidden: str | None


@ROUTER.get("/campaigns")
def list_campaigns(studio: StudioDep, _: Reader) -> list[CampaignLine]:
    """Every campaign, those that go on first."""
    with studio.workspace.database.read() as connection:
        return [_line(read_progress(connection, each)) for each in campaigns(connection)]


@ROUTER.get("/campaigns/{name}")
def show_campaign(name: str, studio: StudioDep, actor: Reader) -> CampaignFacts:
    """The coverage of a campaign, counted on accepted episodes; people where they may be shown."""
    with studio.workspace.database.read() as connection:
        told = hide_people(read_progress(connection, find_campaign(connection, name)), actor)
        cards = open_cards(connection, name)
    if told.operators:
        one = next(iter(told.operators)) if told.hidden is not None else None
        log_view(studio, actor, what=f"campaign {name}", operator=one)
    factors: dict[str, list[CampaignLevel]] = {}
    for each in told.levels:
        shown = {field: getattr(each, field) for field in CampaignLevel.model_fields}
        factors.setdefault(each.factor, []).append(CampaignLevel(**shown))
    missing = told.told.missing
    return CampaignFacts(
        line=_line(told),
        factors=[CampaignFactor(name=factor, levels=rows) for factor, rows in factors.items()],
        pairs=told.told.pairs,
        pairs_missing=len(missing),
        missing=[MissingPair(**vars(each)) for each in missing[:_MOST_MISSING]],
        confounded=[
            ConfoundedPair(first=first, second=second, cramers_v=strength)
            for first, second, strength in told.confounded
        ],
        few_operators=[f"{factor} {level}" for factor, level, _ in told.few_operators],
        operators=dict(told.operators),
        greatest_share=told.campaign.protocol.operators.greatest_share,
        cards=[
            StationCard(station=station, levels=shown_levels(told.campaign, card.levels, actor))
            for station, card in cards
        ],
        hidden=told.hidden,
    )


def _line(told: CampaignProgress) -> CampaignLine:
    campaign = told.campaign
    is_over = campaign.closed_at is not None or told.forecast.left == 0
    return CampaignLine(
        name=campaign.name,
        protocol=campaign.protocol.reference,
        episodes=campaign.episodes,
        accepted=told.accepted,
        rejected=told.rejected,
        unchecked=told.unchecked,
        practice=told.practice,
        created_at=campaign.created_at,
        closed_at=campaign.closed_at,
        forecast=None if is_over else told.forecast.words,
        days_left=told.forecast.days_left,
        days_low=told.forecast.low,
        days_high=told.forecast.high,
        query=Scope().query(Comparison("metadata.card.campaign", "=", campaign.name)),
    )
