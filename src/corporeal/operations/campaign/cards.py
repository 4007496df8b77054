"""Cards: what a station is asked to record next, taken up or refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert, select, update

from corporeal.catalog.audit import Change, record, stamp_of
from corporeal.catalog.database import Database
from corporeal.catalog.people import certified_tasks, list_certificates, reason_for
from corporeal.catalog.tables import CAMPAIGN_CARD
from corporeal.episode import new_id
from corporeal.operations.campaign.allocation import Allocation, CardRow
from corporeal.operations.campaign.campaign import (
    Campaign,
    CampaignError,
    collected,
    find_campaign,
    keep_plan,
)
from corporeal.protocol import Protocol
from corporeal.protocol.card import (
    CardPlace,
    EpisodeCard,
    card_place,
    card_places,
    card_words,
    prohibitions,
)
from corporeal.protocol.coverage import OPERATOR
from corporeal.protocol.design import (
    draw_conditions,
)

LONGEST_WHY = 500


def next_card(
    database: Database, name: str, *, station: str | None = None, operator: str | None = None,
    now: datetime | None = None,
) -> EpisodeCard:  # fmt: skip
    """What a station is to record next; the open card again, where it has one.

    Balanced over the accepted episodes so far, rare combinations first, with few changes of scene,
    and so that neither the operator nor the time of day tells the levels: everybody gets all of
    them, and none is left to fewer people than the protocol asks for. Raises CampaignError
    where there is nothing for this operator to do, or where what they record would be practice;
    DesignError where the rules cannot be kept.
    What depends on the time goes by `now`, the clock's where it is not said.
    """
    moment = now or datetime.now(UTC)
    stamp = stamp_of(moment)
    with database.read() as connection:
        campaign = find_campaign(connection, name)
        _check_certificate(connection, campaign, operator, stamp)
        episodes, cards = collected(connection, campaign), _cards(connection, name)
    if campaign.closed_at is not None:
        raise CampaignError(f"campaign {name} is closed. Choose another: corporeal campaign list.")
    mine = [card for card in cards if card.station == station]
    held = next((card for card in mine if card.state == "open"), None)
    if held is not None and held.operator == operator:
        return _read_card(held.content)
    room = Allocation(campaign, episodes, cards, station, operator, moment)
    row, plan = room.choose()
    levels = campaign.space.decode(row)
    if operator is not None and OPERATOR in levels:
        levels[OPERATOR] = operator
    rng = np.random.default_rng([campaign.seed, len(cards)])
    start = draw_conditions(campaign.protocol, levels, [each.values for each in episodes], rng)
    card = EpisodeCard(
        id=new_id(),
        campaign=name,
        number=len(room.done) + len(room.pending) + 1,
        planned=campaign.episodes,
        levels=levels,
        instruction=card_words(campaign.protocol, levels),
        prohibited=prohibitions(campaign.protocol),
        changes=_changes(campaign.protocol, room.last, levels),
        asked=start.asked,
        values=start.values,
        places=card_places(campaign.protocol),
        place=card_place(campaign.protocol, levels),
    )
    with database.write() as connection:
        if held is not None:
            _move(connection, held.id, "dropped", moment)
        if plan is not None:
            keep_plan(connection, name, plan)
        connection.execute(insert(CAMPAIGN_CARD).values(
            id=card.id, campaign=name, station=station, operator=operator, state="open",
            content=asdict(card), offered_at=stamp, changed_at=stamp,
        ))  # fmt: skip
    return card


def take_card(connection: Connection, card: str, *, now: datetime | None = None) -> None:
    """A recording that follows the card has begun; its episode names the card."""
    _move(connection, card, "taken", now)


def refuse_card(
    connection: Connection, card: str, why: str, *, by: str, now: datetime | None = None
) -> None:
    """The station cannot, or will not, record this one; the reason is kept."""
    if not why.strip() or len(why) > LONGEST_WHY:
        raise CampaignError(f"reason, got {why[:40]!r}; expected 1 to {LONGEST_WHY} characters.")
    _move(connection, card, "refused", now, why=why)
    record(connection, [Change(by, "card refused", f"card:{card}", why)])


def drop_card(connection: Connection, card: str, *, now: datetime | None = None) -> None:
    """Nobody is going to record an open card: its recorder has ended."""
    _move(connection, card, "dropped", now)


def open_cards(connection: Connection, name: str) -> list[tuple[str | None, EpisodeCard]]:
    """What every station has before it."""
    cards = _cards(connection, name)
    return [(card.station, _read_card(card.content)) for card in cards if card.state == "open"]


def _check_certificate(
    connection: Connection, campaign: Campaign, operator: str | None, stamp: str
) -> None:
    """Raise CampaignError where the task asks for a certificate that this operator has not."""
    task = campaign.protocol.task.name
    rules = certified_tasks(connection)
    if task not in rules:
        return
    certificates = list_certificates(connection, operator=operator, task=task)
    reason = reason_for(task, operator, stamp, rules, certificates)
    if reason is None:
        return
    if operator is None:
        raise CampaignError(
            f"operator, got none; expected one with a certificate for {task}, or the episode would "
            "be practice. Name whoever records: --operator."
        )
    raise CampaignError(
        f"{operator}: {reason} for {task}; expected one that holds, or the episode would be "
        f"practice and fill nothing of {campaign.name}. Certify them: corporeal operator certify "
        f"{operator} {task}; or let them practise without --campaign."
    )


def _changes(
    protocol: Protocol, last: Mapping[str, str] | None, levels: Mapping[str, str]
) -> tuple[str, ...]:
    """What to change at the station, the longest work first; nothing is known of the first one."""
    if last is None:
        return ()
    hard = sorted(protocol.factors, key=lambda factor: -(factor.change_min or 0.0))
    return tuple(
        f"{factor.name}: {last[factor.name]} → {levels[factor.name]}"
        for factor in hard
        if factor.name != OPERATOR and not factor.places and factor.name in last
        and factor.name in levels and last[factor.name] != levels[factor.name]
    )  # fmt: skip


def _cards(connection: Connection, name: str) -> list[CardRow]:
    columns = [CAMPAIGN_CARD.c[each] for each in CardRow.__dataclass_fields__]
    query = select(*columns).where(CAMPAIGN_CARD.c.campaign == name)
    query = query.order_by(CAMPAIGN_CARD.c.offered_at, CAMPAIGN_CARD.c.id)
    return [CardRow(*row) for row in connection.execute(query)]


def _move(
    connection: Connection, card: str, state: str, now: datetime | None, **values: Any
) -> None:
    moved = connection.execute(
        update(CAMPAIGN_CARD)
        .where(CAMPAIGN_CARD.c.id == card, CAMPAIGN_CARD.c.state == "open")
        .values(state=state, changed_at=stamp_of(now or datetime.now(UTC)), **values)
    )
    if not moved.rowcount:
        raise CampaignError(f"card {card[:60]} is not open any more. Ask for the next one.")


def _read_card(content: Mapping[str, Any]) -> EpisodeCard:
    values = dict(content)
    values |= {name: tuple(values[name]) for name in ("prohibited", "changes")}
    values["places"] = tuple(CardPlace(**each) for each in values["places"])
    return EpisodeCard(**values)
