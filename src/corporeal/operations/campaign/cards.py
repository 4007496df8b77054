"""Cards: what a station is asked to record next, taken up or refused with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert, select, update

from corporeal.catalog.audit import Change, record, stamp_of
from corporeal.catalog.database import Database
from corporeal.catalog.people import certified_tasks, list_certificates, reason_for
from corporeal.catalog.tables import CAMPAIGN_CARD
from corporeal.episode import new_id
from corporeal.errors import UnknownNameError
from corporeal.operations.campaign.campaign import (
    Campaign,
    CampaignEpisode,
    CampaignError,
    collected,
    daypart_of,
    done_rows,
    find_campaign,
    keep_plan,
    without,
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
    DesignError,
    Rows,
    Scene,
    choose_next,
    draw_conditions,
    replan,
    shift_length,
)
from corporeal.units import SECOND_NS
from corporeal.words import counted, listed

LONGEST_WHY = 500
# What was taken up and has not come back after so long was never put in.
_PENDING = timedelta(minutes=30)
# Refusals and scenes of earlier shifts say nothing of this one.
_SHIFT = timedelta(hours=10)


@dataclass(frozen=True)
class CardRow:
    """A card as the catalogue has it."""

    id: str
    station: str | None
    operator: str | None
    state: str
    content: Mapping[str, Any]
    why: str | None
    offered_at: str
    changed_at: str

    @property
    def levels(self) -> Mapping[str, str]:
        """What it asked for."""
        levels: Mapping[str, str] = self.content["levels"]
        return levels

    def age(self, now: datetime) -> timedelta:
        """How long ago something became of it."""
        return now - datetime.fromisoformat(self.changed_at)


def next_card(
    database: Database, name: str, *, station: str | None = None, operator: str | None = None,
    now: datetime | None = None,
) -> EpisodeCard:  # fmt: skip
    """What a station is to record next; the open card again, where it has one.

    Balanced over the accepted episodes so far, rare combinations first, neither the operator nor
    the time of day confounded with the levels, and with few changes of scene. Raises CampaignError
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
    room = _Room(campaign, episodes, cards, station, operator, moment)
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


class _Room:
    """What is left of a campaign for one operator at one station."""

    def __init__(
        self,
        campaign: Campaign,
        episodes: Sequence[CampaignEpisode],
        cards: Sequence[CardRow],
        station: str | None,
        operator: str | None,
        now: datetime,
    ) -> None:
        self._campaign, self._episodes, self._operator = campaign, episodes, operator
        self._now = now
        space = campaign.space
        good = [each for each in episodes if each.outcome in ("accepted", "unchecked")]
        self.done: Rows = done_rows(campaign, good)
        self._good = good
        known = {each.card for each in episodes}
        waiting = [
            card for card in cards
            if (card.state == "open" and card.station != station)
            or (card.state == "taken" and card.id not in known and card.age(now) < _PENDING)
        ]  # fmt: skip
        self.pending: Rows = space.encode(card.levels for card in waiting)
        self._people = [each.operator for each in good] + [card.operator for card in waiting]
        mine = [card for card in cards if card.station == station and card.age(now) < _SHIFT]
        taken = sorted((card for card in mine if card.state == "taken"),
                       key=lambda card: card.changed_at)  # fmt: skip
        self._shift = space.encode(card.levels for card in taken)
        self.last: Mapping[str, str] | None = taken[-1].levels if taken else None
        self._refused = space.encode(card.levels for card in mine if card.state == "refused")
        self._ever_refused = space.encode(card.levels for card in cards if card.state == "refused")

    def choose(self) -> tuple[Sequence[int], list[Mapping[str, str]] | None]:
        """The next row, and the whole plan where it had to be made anew."""
        campaign = self._campaign
        busy = np.concatenate([self.done, self.pending])
        if len(busy) >= campaign.episodes:
            raise CampaignError(
                f"campaign {campaign.name} has all its {campaign.episodes} episodes, with "
                f"{counted(len(self.pending), 'card')} still on their way. Close it: corporeal "
                f"campaign close {campaign.name}."
            )
        self._check_share()
        left, strangers = without(campaign.rows, busy)
        plan: list[Mapping[str, str]] | None = None
        if strangers or not len(left):
            left = self._replan(busy, self._ever_refused[:0])
            plan = self._plan(busy, left)
        mine = self._for_me(left)
        if not len(mine):
            left = self._replan(busy, self._refused)
            plan, mine = self._plan(busy, left), self._for_me(left)
        if not len(mine):
            raise CampaignError(self._nothing_left(left))
        today = daypart_of(round(self._now.timestamp() * SECOND_NS))
        context = [
            done_rows(campaign, [each for each in self._good if each.operator == self._operator]),
            done_rows(campaign, [each for each in self._good if each.daypart == today]),
        ]
        last = None if self.last is None else campaign.space.encode([self.last])[0]
        scene = Scene(last, self._shift, context)
        at = choose_next(campaign.space, mine, busy, scene,
                         per_shift=shift_length(campaign.protocol))  # fmt: skip
        return mine[at].tolist(), plan

    def _replan(self, busy: Rows, refused: Rows) -> Rows:
        campaign = self._campaign
        space = campaign.space.without(refused.tolist())
        try:
            return replan(space, busy, campaign.episodes, seed=campaign.seed + len(busy))
        except DesignError as error:
            raise DesignError(f"campaign {campaign.name}: {error}") from None

    def _plan(self, busy: Rows, left: Rows) -> list[Mapping[str, str]]:
        return [self._campaign.space.decode(row) for row in (*busy, *left)]

    def _for_me(self, left: Rows) -> Rows:
        """Rows that this operator can show and that were not refused here in this shift."""
        space = self._campaign.space
        if space.operator is not None and self._operator is not None:
            names = space.factors[space.operator].levels
            if self._operator not in names:
                raise UnknownNameError("operator of this campaign", self._operator, names)
            left = left[left[:, space.operator] == names.index(self._operator)]
        here = space.without(self._refused.tolist())
        return left[[not here.is_refused(row) for row in left]] if len(left) else left

    def _check_share(self) -> None:
        """Raise where this operator has made as much of the campaign as one may."""
        share = self._campaign.protocol.operators.greatest_share
        most = max(1, math.floor(share * self._campaign.episodes + 1e-9))
        count = self._people.count(self._operator)
        if self._operator is not None and count >= most:
            raise CampaignError(
                f"{self._operator} has made {count} of {self._campaign.episodes} episodes; the "
                f"protocol lets one operator make {100 * share:.0f} %. Let somebody else record."
            )

    def _nothing_left(self, left: Rows) -> str:
        space = self._campaign.space
        if space.operator is None:
            return (
                f"every combination that is left of {self._campaign.name} was refused at this "
                "station. Mend what was in the way, or record at another one."
            )
        names = space.factors[space.operator].levels
        counts = [f"{name} {int((left[:, space.operator] == at).sum())}"
                  for at, name in enumerate(names)]  # fmt: skip
        return (
            f"nothing is left for {self._operator} in {self._campaign.name}; planned are still: "
            f"{listed(counts)}. Let one of them record."
        )


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
