"""What is left of a campaign for one operator at one station, and which of it comes next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import UnknownNameError
from corporeal.operations.campaign.campaign import (
    Campaign,
    CampaignEpisode,
    CampaignError,
    daypart_of,
    done_rows,
    without,
)
from corporeal.protocol.design import (
    DesignError,
    Rows,
    Scene,
    choose_next,
    replan,
    shift_length,
)
from corporeal.units import SECOND_NS
from corporeal.words import counted, listed

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


class Allocation:
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
        self._now, self._station = now, station
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
        self._busy = np.concatenate([self.done, self.pending])
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
        busy = self._busy
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
        own = busy[[each == self._operator for each in self._people]] if len(busy) else busy
        then = done_rows(campaign, [each for each in self._good if each.daypart == today])
        last = None if self.last is None else campaign.space.encode([self.last])[0]
        wanted = [self._is_new(column) & (lacking > 0)
                  for column, lacking in enumerate(self._lacking(left))]  # fmt: skip
        scene = Scene(last, self._shift, [own, then], self._part(own, mine),
                      self._stretch(), wanted)  # fmt: skip
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
        """Rows that this operator can show, that no other has to, and not refused here lately."""
        space = self._campaign.space
        if space.operator is not None and self._operator is not None:
            names = space.factors[space.operator].levels
            if self._operator not in names:
                raise UnknownNameError("operator of this campaign", self._operator, names)
            left = left[left[:, space.operator] == names.index(self._operator)]
        else:
            left = left[~self._is_for_others(left)]
        here = space.without(self._refused.tolist())
        return left[[not here.is_refused(row) for row in left]] if len(left) else left

    def _part(self, own: Rows, mine: Rows) -> int:
        """How many of the plan this operator is likely to make; 0 where nobody is named."""
        if self._operator is None:
            return 0
        if self._campaign.space.operator is not None:
            return len(own) + len(mine)
        rules = self._campaign.protocol.operators
        people = len({self._operator, *self._people} - {None})
        people = max(people, rules.minimum_per_variant, math.ceil(1 / rules.greatest_share - 1e-9))
        return math.ceil(self._campaign.episodes / people)

    def _stretch(self) -> int:
        """How many episodes people usually record here one after the other; 0: nobody knows."""
        here = [each.operator for each in self._good if each.station == self._station]
        runs = [len(list(run)) for _, run in groupby(here)]
        return round(median(runs[:-1])) if len(runs) > 1 else 0

    def _shown_by(self, column: int, level: int) -> set[str]:
        at = np.flatnonzero(self._busy[:, column] == level)
        return {person for person in (self._people[place] for place in at) if person is not None}

    def _is_new(self, column: int) -> NDArray[np.bool_]:
        """Which levels of a factor this operator has not shown."""
        levels = range(self._campaign.space.sizes[column])
        return np.array([self._operator not in self._shown_by(column, at) for at in levels], bool)

    def _lacking(self, left: Rows) -> list[NDArray[np.int64]]:
        """By factor, how many more people are to show each level than have."""
        least = self._campaign.protocol.operators.minimum_per_variant
        lacking = []
        for column, size in enumerate(self._campaign.space.sizes):
            planned = [int((self._busy[:, column] == at).sum() + (left[:, column] == at).sum())
                       for at in range(size)]  # fmt: skip
            people = [len(self._shown_by(column, at)) for at in range(size)]
            lacking.append(np.array([
                0 if column == self._campaign.space.operator else max(0, min(least, count) - have)
                for count, have in zip(planned, people, strict=True)
            ], np.int64))  # fmt: skip
        return lacking

    def _is_for_others(self, left: Rows) -> NDArray[np.bool_]:
        """Rows with a level of which all that is left is needed for people who have not shown it.

        Where nobody is named, nothing is kept for others: who shows what is not known there.
        """
        others = np.zeros(len(left), bool)
        if self._operator is None:
            return others
        for column, lacking in enumerate(self._lacking(left)):
            still = np.bincount(left[:, column], minlength=len(lacking))
            others |= (~self._is_new(column) & (still <= lacking) & (lacking > 0))[left[:, column]]
        return others

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
        if space.operator is None and len(left) and self._is_for_others(left).all():
            least = self._campaign.protocol.operators.minimum_per_variant
            lacking = self._lacking(left)
            words = [
                f"{factor.name} {level}"
                for factor, counts in zip(space.factors, lacking, strict=True)
                for level, count in zip(factor.levels, counts, strict=True)
                if count
            ]
            return (
                f"nothing is left for {self._operator} in {self._campaign.name}: {least} people "
                f"are to show every level, and too few have shown {listed(words)}. Let somebody "
                "else record."
            )  # fmt: skip
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
