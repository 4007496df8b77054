"""A campaign: a protocol with its plan of episodes, kept in the catalogue; what it has so far."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np
from sqlalchemy import Connection, insert, select, update

from corporeal.catalog.audit import Change, now, record, stamp_of
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import DocumentRow, find_document, keep_document
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.query import (
    PRESENT,
    And,
    Comparison,
    Condition,
    Known,
    MetadataField,
    read_fields,
)
from corporeal.catalog.tables import CAMPAIGN
from corporeal.errors import UnknownNameError
from corporeal.operations.outcome import CONDITIONS
from corporeal.protocol import Protocol
from corporeal.protocol.coverage import OPERATOR, Factor
from corporeal.protocol.design import DesignSpace, Rows, design_space, make_design
from corporeal.units import SECOND_NS

Outcome = Literal["accepted", "rejected", "unchecked", "practice"]
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
MORNING, AFTERNOON = "morning", "afternoon"
_NOON = 13
"""The hour at which the afternoon begins: the break in the middle of a day lies before it."""


class CampaignError(CatalogError):
    """Something that a campaign cannot do, and what to do instead."""


@dataclass(frozen=True)
class Campaign:
    """A campaign as the catalogue has it; `plan` are the levels of all its episodes by factor."""

    name: str
    protocol: Protocol
    episodes: int
    seed: int
    plan: tuple[Mapping[str, str], ...]
    created_by: str
    created_at: str
    closed_at: str | None

    @cached_property
    def space(self) -> DesignSpace:
        """The factors of its protocol, with their rules."""
        return design_space(self.protocol)

    @cached_property
    def rows(self) -> Rows:
        """The plan as rows."""
        return self.space.encode(self.plan)

    @property
    def condition(self) -> Condition:
        """The episodes that followed a card of this campaign."""
        return And((PRESENT, Comparison("metadata.card.campaign", "=", self.name)))


@dataclass(frozen=True)
class CampaignEpisode:
    """An episode of a campaign by its levels.

    Of outcome practice is what was recorded without the certificate that its task asks for: it
    counts for nothing, whatever became of it.
    """

    levels: Mapping[str, str]
    values: Mapping[str, Mapping[str, float]]
    card: str | None
    operator: str | None
    station: str | None
    recorded_ns: int | None
    outcome: Outcome
    success: bool | None

    @property
    def daypart(self) -> str | None:
        """Whether it was recorded in the morning or the afternoon, by the clock on this wall."""
        return None if self.recorded_ns is None else daypart_of(self.recorded_ns)


def daypart_of(time_ns: int) -> str:
    """Morning or afternoon, by the local time."""
    hour = datetime.fromtimestamp(time_ns / SECOND_NS).hour
    return MORNING if hour < _NOON else AFTERNOON


def create_campaign(
    connection: Connection, by: Actor, name: str, protocol: Protocol, *,
    episodes: int | None = None, seed: int = 0, at: datetime | None = None,
) -> Campaign:  # fmt: skip
    """Plan a campaign; raises DesignError where the rules of its protocol contradict each other.

    `at` is when it begins, if that is not now.
    """
    require(by, "judge")
    if not _NAME.fullmatch(name):
        raise CampaignError(
            f"campaign, got {name[:80]!r}; expected up to 64 small letters, digits, points and "
            "dashes, such as kitchen-autumn."
        )
    if connection.execute(select(CAMPAIGN.c.name).where(CAMPAIGN.c.name == name)).first():
        raise CampaignError(f"campaign {name} is there already. Choose another name.")
    plan = make_design(protocol, "balanced", episodes=episodes, seed=seed).episodes
    keep_document(connection, DocumentRow(
        protocol.hash, protocol.kind, protocol.name, protocol.version, protocol.canonical()
    ))  # fmt: skip
    stamp = now() if at is None else stamp_of(at)
    connection.execute(insert(CAMPAIGN).values(
        name=name, protocol=protocol.hash, episodes=len(plan), seed=seed, plan=list(plan),
        created_by=by.name, created_at=stamp,
    ))  # fmt: skip
    details = {"protocol": protocol.reference, "episodes": len(plan), "seed": seed}
    record(connection, [
        Change(by.name, "campaign created", f"campaign:{name}", details=details)
    ])  # fmt: skip
    return Campaign(name, protocol, len(plan), seed, plan, by.name, stamp, None)


def find_campaign(connection: Connection, name: str) -> Campaign:
    """The campaign of this name; raises UnknownNameError."""
    row = connection.execute(select(CAMPAIGN).where(CAMPAIGN.c.name == name)).mappings().first()
    if row is None:
        names = connection.execute(select(CAMPAIGN.c.name).order_by(CAMPAIGN.c.name).limit(50))
        raise UnknownNameError("campaign", name[:80], names.scalars())
    return _campaign(connection, row)


def campaigns(connection: Connection) -> list[Campaign]:
    """All campaigns, those that go on first, then the newest."""
    query = select(CAMPAIGN).order_by(
        CAMPAIGN.c.closed_at.is_not(None), CAMPAIGN.c.created_at.desc(), CAMPAIGN.c.name
    )
    return [_campaign(connection, row) for row in connection.execute(query).mappings().all()]


def close_campaign(connection: Connection, by: Actor, name: str) -> Campaign:
    """No more cards are handed out; what was collected stays."""
    require(by, "judge")
    campaign = find_campaign(connection, name)
    if campaign.closed_at is not None:
        raise CampaignError(f"campaign {name} was closed at {campaign.closed_at[:16]} already.")
    stamp = now()
    connection.execute(update(CAMPAIGN).where(CAMPAIGN.c.name == name).values(closed_at=stamp))
    record(connection, [Change(by.name, "campaign closed", f"campaign:{name}")], at=stamp)
    return find_campaign(connection, name)


def keep_plan(connection: Connection, name: str, plan: Sequence[Mapping[str, str]]) -> None:
    """Write down the plan as it is now, inside a transaction."""
    connection.execute(
        update(CAMPAIGN).where(CAMPAIGN.c.name == name).values(plan=list(map(dict, plan)))
    )


def collected(connection: Connection, campaign: Campaign) -> list[CampaignEpisode]:
    """Every episode that followed a card of the campaign, in the order of recording."""
    return list(_collected(connection, campaign))


def done_rows(campaign: Campaign, episodes: Sequence[CampaignEpisode]) -> Rows:
    """The levels of episodes as rows."""
    return campaign.space.encode(each.levels for each in episodes)


def _collected(connection: Connection, campaign: Campaign) -> Iterator[CampaignEpisode]:
    factors, spreads = campaign.protocol.factors, campaign.protocol.continuous or ()
    texts = [MetadataField(path) for factor in factors for path in _paths(factor)]
    numbers = [MetadataField(f"{each.name}.{axis}", "number") for each in spreads
               for axis in each.axes]  # fmt: skip
    rejected = [CONDITIONS["quarantined"], CONDITIONS["failed"]]
    rows = read_fields(
        connection, "operator", "station", "recorded", "success", Known("practice", True),
        CONDITIONS["accepted"], *rejected, MetadataField("card.id"), *texts, *numbers,
        where=campaign.condition, order="recorded",
    )  # fmt: skip
    for row in rows:
        operator, station, recorded_ns, success, *judged, card = row[:9]
        values = iter(row[9:])
        levels: dict[str, str] = {}
        for factor in factors:
            stated = [next(values) for _ in _paths(factor)]
            level = next((each for each in stated if each is not None), None)
            if factor.name == OPERATOR and operator is not None:
                level = operator
            if level is not None:
                levels[factor.name] = str(level)
        placed = {each.name: {axis: next(values) for axis in each.axes} for each in spreads}
        yield CampaignEpisode(levels, placed, card, operator, station, recorded_ns,
                              _outcome(*judged), None if success is None else bool(success)
                              )  # fmt: skip


def _outcome(is_practice: bool, is_good: bool, is_quarantined: bool, is_failed: bool) -> Outcome:
    if is_practice:
        return "practice"
    if is_good:
        return "accepted"
    return "rejected" if is_quarantined or is_failed else "unchecked"


def _paths(factor: Factor) -> tuple[str, ...]:
    if factor.field is not None:
        return (factor.field,)
    return (factor.name, f"variation.{factor.name}")


def _campaign(connection: Connection, row: Mapping[Any, Any]) -> Campaign:
    document = find_document(connection, row["protocol"])
    assert document is not None
    return Campaign(
        row["name"], Protocol.parse(document.text, suffix=".json"), row["episodes"], row["seed"],
        tuple(row["plan"]), row["created_by"], row["created_at"], row["closed_at"],
    )  # fmt: skip


def without(rows: Rows, others: Rows) -> tuple[Rows, int]:
    """Rows less as many of each as `others` has, and how many of those were not among them."""
    ours, theirs = (Counter(map(tuple, each.tolist())) for each in (rows, others))
    left = list((ours - theirs).elements())
    strangers = sum((theirs - ours).values())
    return np.array(left, np.int64).reshape(-1, rows.shape[1]), strangers
