"""How far a campaign is: the coverage table with its confidence, and what is still unknown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from sqlalchemy import Connection

from corporeal.catalog.people import PERSON_KEYS
from corporeal.catalog.permission import Actor, sees_everybody, sees_person, why_hidden
from corporeal.operations.campaign.campaign import (
    Campaign,
    CampaignEpisode,
    collected,
    done_rows,
)
from corporeal.operations.campaign.forecast import CampaignForecast, forecast
from corporeal.protocol.coverage import OPERATOR
from corporeal.protocol.design import CONFOUNDED, DesignJudgement, judge

_Z = 1.959964
# With fewer accepted episodes nothing is said of factors that tell each other.
_LEAST_RELATED = 12


@dataclass(frozen=True)
class LevelProgress:
    """One level of a factor: accepted of planned, and how often it succeeded where that is known.

    `low` and `high` bound the rate of success (Wilson, 95 %); None where nothing is known.
    """

    factor: str
    level: str
    accepted: int
    planned: float
    rejected: int
    unchecked: int
    successes: int
    tried: int
    low: float | None
    high: float | None


@dataclass(frozen=True)
class CampaignProgress:
    """A campaign at one moment. `told` is about accepted episodes; `context` are factors that go
    with the operator, the station or the time of day more than they should, worst first;
    `few_operators` are levels that were collected with fewer people than the protocol asks for.
    Episodes of the practice partition are only counted. `hidden` says why figures of single
    operators are not in it, where they are not."""

    campaign: Campaign
    accepted: int
    rejected: int
    unchecked: int
    practice: int
    levels: tuple[LevelProgress, ...]
    told: DesignJudgement
    context: tuple[tuple[str, str, float], ...]
    operators: Mapping[str, int]
    few_operators: tuple[tuple[str, str, int], ...]
    forecast: CampaignForecast
    hidden: str | None = None

    @property
    def share(self) -> float:
        """How much of the plan is accepted."""
        return min(1.0, self.accepted / self.campaign.episodes)

    @property
    def confounded(self) -> tuple[tuple[str, str, float], ...]:
        """Two things that tell each other, by name with Cramer's V, once enough are accepted."""
        if self.accepted < _LEAST_RELATED:
            return ()
        pairs = [(each.first, each.second, each.cramers_v) for each in self.told.confounded
                 if not each.by_rule]  # fmt: skip
        return tuple(sorted((*pairs, *self.context), key=lambda each: -each[2]))


def read_progress(
    connection: Connection, campaign: Campaign, *, now: datetime | None = None
) -> CampaignProgress:
    """The coverage of a campaign, counted on the episodes that were accepted.

    When it will be done is told as of `now`, the clock's where it is not said.
    """
    episodes = collected(connection, campaign)
    good = [each for each in episodes if each.outcome == "accepted"]
    counts = Counter(each.outcome for each in episodes)
    operators = Counter(each.operator or "not stated" for each in good)
    return CampaignProgress(
        campaign,
        counts["accepted"],
        counts["rejected"],
        counts["unchecked"],
        counts["practice"],
        tuple(_levels(campaign, episodes)),
        judge(campaign.space, done_rows(campaign, good)),
        _context(campaign, good),
        dict(operators.most_common()),
        tuple(_few_operators(campaign, good)),
        forecast(campaign.episodes, episodes, now or datetime.now(UTC)),
    )


def hide_people(told: CampaignProgress, actor: Actor) -> CampaignProgress:
    """The same without the figures of single operators that are not shown to this actor."""
    if sees_everybody(actor):
        return told
    people = _people_factors(told.campaign)
    shown = {name: count for name, count in told.operators.items() if sees_person(actor, name)}
    judged = replace(
        told.told,
        missing=tuple(each for each in told.told.missing if not {each.first, each.second} & people),
        balance=tuple(each for each in told.told.balance if each.factor not in people),
        few_operators=tuple(each for each in told.told.few_operators if each[0] not in people),
    )
    return replace(
        told,
        told=judged,
        levels=tuple(each for each in told.levels
                     if each.factor not in people or sees_person(actor, each.level)),
        operators=shown,
        few_operators=tuple(each for each in told.few_operators if each[0] not in people),
        hidden=why_hidden(actor),
    )  # fmt: skip


def shown_levels(campaign: Campaign, levels: Mapping[str, str], actor: Actor) -> dict[str, str]:
    """The levels of one card without whoever is not shown to this actor."""
    people = _people_factors(campaign)
    return {factor: level for factor, level in levels.items()
            if factor not in people or sees_person(actor, level)}  # fmt: skip


def _people_factors(campaign: Campaign) -> set[str]:
    """The factors whose levels are people."""
    fields = ((each.name, each.field or each.name) for each in campaign.protocol.factors)
    return {name for name, field in fields
            if name in PERSON_KEYS or PERSON_KEYS & set(field.split("."))}  # fmt: skip


def wilson(successes: int, tried: int) -> tuple[float, float]:
    """The bounds between which a rate lies, with 95 % confidence (Wilson's interval)."""
    share = successes / tried
    middle = share + _Z**2 / (2 * tried)
    spread = _Z * math.sqrt(share * (1 - share) / tried + _Z**2 / (4 * tried**2))
    scale = 1 + _Z**2 / tried
    low, high = (middle - spread) / scale, (middle + spread) / scale
    # At its end the formula gives the end itself, but for the rounding.
    return (low if successes else 0.0), (high if successes < tried else 1.0)


def _levels(campaign: Campaign, episodes: Sequence[CampaignEpisode]) -> list[LevelProgress]:
    rows = []
    for factor in campaign.protocol.factors:
        for level in factor.levels:
            here = [each for each in episodes if each.levels.get(factor.name) == level
                    and each.outcome != "practice"]  # fmt: skip
            counts = Counter(each.outcome for each in here)
            judged = [each for each in here if each.success is not None]
            successes = sum(bool(each.success) for each in judged)
            low, high = wilson(successes, len(judged)) if judged else (None, None)
            rows.append(LevelProgress(
                factor.name, level, counts["accepted"], factor.planned(level) * campaign.episodes,
                counts["rejected"], counts["unchecked"], successes, len(judged), low, high,
            ))  # fmt: skip
    return rows


def _few_operators(
    campaign: Campaign, good: Sequence[CampaignEpisode]
) -> Iterator[tuple[str, str, int]]:
    """Levels with as many accepted episodes as people are asked for, shown by fewer of them."""
    least = campaign.protocol.operators.minimum_per_variant
    for factor in campaign.protocol.factors:
        for level in factor.levels if factor.name != OPERATOR else ():
            here = [each.operator for each in good if each.levels.get(factor.name) == level]
            people = len({operator for operator in here if operator is not None})
            if len(here) >= least > people:
                yield factor.name, level, people


def _context(
    campaign: Campaign, good: Sequence[CampaignEpisode]
) -> tuple[tuple[str, str, float], ...]:
    """What the operator, the station and the time of day tell of the levels, above the limit."""
    found = []
    for what in ("operator", "station", "daypart"):
        stated = [getattr(each, what) for each in good]
        for factor in campaign.protocol.factors:
            if factor.name == what:
                continue
            pairs = [(a, each.levels[factor.name]) for a, each in zip(stated, good, strict=True)
                     if a is not None and factor.name in each.levels]  # fmt: skip
            told = _relation(pairs)
            if told > CONFOUNDED:
                name = "time of day" if what == "daypart" else what
                found.append((name, factor.name, told))
    return tuple(sorted(found, key=lambda each: -each[2]))


def _relation(pairs: Sequence[tuple[str, str]]) -> float:
    """Cramer's V of two names, less what chance alone makes of so few; 0: no more than that."""
    counts = Counter(pairs)
    rows, columns = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
    if min(len(rows), len(columns)) < 2:
        return 0.0
    table = np.array([[counts[row, column] for column in columns] for row in rows], float)
    total = table.sum()
    even = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    phi2 = float(((table - even) ** 2 / even).sum()) / total
    r, k = table.shape
    # Bergsma's correction: people choose no balanced design of who works when.
    less = max(0.0, phi2 - (r - 1) * (k - 1) / (total - 1))
    smaller = min(r - (r - 1) ** 2 / (total - 1), k - (k - 1) ** 2 / (total - 1)) - 1
    return math.sqrt(less / smaller) if smaller > 0 else 0.0
