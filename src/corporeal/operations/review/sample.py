"""Draws episodes to look at: by operator, station, hour and variant, the same for the same seed."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, func, select

from corporeal.catalog.permission import Actor, sees_person
from corporeal.catalog.query import (
    PRESENT,
    And,
    Clause,
    Condition,
    OneOf,
    count_episodes,
    episode_meets,
    map_clauses,
    parse,
    pinned,
    read_fields,
)
from corporeal.catalog.tables import REVIEW, REVIEW_ITEM
from corporeal.errors import CorporealError
from corporeal.operations.review.acceptance_sampling import Stratum

STATES = ("accepted", "quarantined")
_FIELDS = ("id", "state", "operator", "station", "recorded", "task", "metadata")


def lot_condition(query: str | None) -> Condition:
    """Episodes of a query; without a word on the state, the accepted and the quarantined."""
    condition = parse(query) if query and query.strip() else None
    standing: Condition = OneOf("state", STATES)
    if condition is None:
        condition = standing
    elif not _names_state(condition):
        condition = And((condition, standing))
    return And((pinned(condition), PRESENT))


def _reviewed(lot: Condition) -> Select[tuple[str]]:
    """The episodes of a lot that somebody has reviewed, or is about to."""
    return (
        select(REVIEW_ITEM.c.episode)
        .distinct()
        .join(REVIEW, REVIEW.c.name == REVIEW_ITEM.c.review)
        .where(REVIEW_ITEM.c.decision.is_not(None) | REVIEW.c.closed_at.is_(None))
        .where(episode_meets(REVIEW_ITEM.c.episode, lot))
    )


def count_lot(connection: Connection, lot: Condition) -> int:
    """How many episodes of a lot nobody has reviewed, nor is about to."""
    reviewed = select(func.count()).select_from(_reviewed(lot).subquery())
    return count_episodes(connection, lot) - int(connection.execute(reviewed).scalar_one())


def read_lot(connection: Connection, lot: Condition) -> list[LotEpisode]:
    """The episodes of a lot that nobody has reviewed, nor is about to."""
    reviewed = set(connection.execute(_reviewed(lot)).scalars())
    rows = read_fields(connection, *_FIELDS, where=lot, order="id")
    return [read_lot_episode(*row) for row in rows if row[0] not in reviewed]


def _names_state(condition: Condition) -> bool:
    found: list[Clause] = []

    def note(clause: Clause) -> Condition:
        if getattr(clause, "field", None) == "state":
            found.append(clause)
        return clause

    map_clauses(condition, note)
    return bool(found)


FACTORS = ("operator", "station", "hour", "variant")
DEFAULT_SHARE = 0.12
_LONGEST, _MOST_PARTS = 60, 4
UNKNOWN = "unknown"
_BETWEEN, _EVERYTHING = " · ", "all"


@dataclass(frozen=True)
class LotEpisode:
    """An episode of the lot, with the levels that it is drawn by."""

    id: str
    levels: tuple[str, ...]
    state: str = "accepted"


@dataclass(frozen=True)
class DrawnSample:
    """The drawn episodes with the name of their stratum, and what they were drawn by."""

    drawn: tuple[tuple[str, str], ...]
    strata: tuple[Stratum, ...]
    by: tuple[str, ...]


def read_lot_episode(
    episode: str, state: str, operator: str | None, station: str | None, recorded_ns: int | None,
    task: str | None, metadata: Mapping[str, Any],
) -> LotEpisode:  # fmt: skip
    """An episode of the lot with its levels, of what the catalogue says of it."""
    hour = UNKNOWN
    if recorded_ns is not None:
        hour = f"{datetime.fromtimestamp(recorded_ns / 1e9, UTC):%H} h"
    levels = (operator or UNKNOWN, station or UNKNOWN, hour, variant_of(task, metadata))
    return LotEpisode(episode, levels, state)


def variant_of(task: str | None, metadata: Mapping[str, Any]) -> str:
    """The task and what was varied in it in words; measures such as a height make no variant."""
    variant = metadata.get("variant")
    if isinstance(variant, str) and variant:
        return variant[:_LONGEST]
    varied = metadata.get("variation")
    words = [
        value for _, value in sorted(varied.items()) if isinstance(value, str) and value
    ] if isinstance(varied, Mapping) else []  # fmt: skip
    return " ".join([task or UNKNOWN, *words[:_MOST_PARTS]])[:_LONGEST]


def hide_operator(stratum: str, actor: Actor) -> str:
    """The name of a stratum without whose episodes it has, where those are not shown."""
    operator, _, rest = stratum.partition(_BETWEEN)
    if stratum in ("", _EVERYTHING) or sees_person(actor, operator):
        return stratum
    return rest or "one operator"


def size_of(lot: int, share: float) -> int:
    """How many a share of the lot is, rounded up."""
    if not 0 < share <= 1:
        raise CorporealError(f"share, got {share:g}; expected more than 0 and at most 1.")
    return min(lot, math.ceil(lot * share - 1e-9))


def draw(candidates: Sequence[LotEpisode], size: int, *, seed: int = 0) -> DrawnSample:
    """Draw `size` episodes, at least one of every stratum.

    Where there are more strata than episodes to draw, the finest factor no longer parts them; the
    draw still spreads over its levels.
    """
    size = min(size, len(candidates))
    depth = len(FACTORS)
    groups = _grouped(candidates, depth)
    while len(groups) > max(size, 1):
        depth -= 1
        groups = _grouped(candidates, depth)
    chance = random.Random(f"corporeal review {seed}")
    counts = allocate({name: len(each) for name, each in groups.items()}, size, chance)
    strata, drawn = [], []
    for name in sorted(groups):
        members = groups[name]
        strata.append(Stratum(name, len(members), counts[name]))
        drawn += [(each.id, name) for each in _spread(members, counts[name], chance)]
    # In a random order, so that half of a review says something of the whole.
    chance.shuffle(drawn)
    return DrawnSample(tuple(drawn), tuple(strata), FACTORS[:depth])


def allocate(sizes: Mapping[str, int], total: int, chance: random.Random) -> dict[str, int]:
    """Shares of `total` in proportion to sizes, by the largest remainder, one at least."""
    whole = sum(sizes.values())
    if not whole or not total:
        return dict.fromkeys(sizes, 0)
    quotas = {name: total * size / whole for name, size in sorted(sizes.items())}
    counts = {name: math.floor(quota + 1e-9) for name, quota in quotas.items()}
    lot = {name: chance.random() for name in quotas}
    by_rest = sorted(quotas, key=lambda name: (counts[name] - quotas[name], lot[name]))
    for name in by_rest[: total - sum(counts.values())]:
        counts[name] += 1
    for name in [each for each in quotas if not counts[each]]:
        rich = [each for each in quotas if counts[each] > 1]
        if not rich:
            break
        richest = max(rich, key=lambda each: (counts[each] - quotas[each], counts[each]))
        counts[richest] -= 1
        counts[name] = 1
    return counts


def _grouped(candidates: Sequence[LotEpisode], depth: int) -> dict[str, list[LotEpisode]]:
    groups: dict[str, list[LotEpisode]] = {}
    for each in candidates:
        groups.setdefault(_BETWEEN.join(each.levels[:depth]) or _EVERYTHING, []).append(each)
    return groups


def _spread(members: Sequence[LotEpisode], count: int, chance: random.Random) -> list[LotEpisode]:
    """Every k-th of the members in the order of their levels, from a random one on."""
    if not count:
        return []
    order = {each.id: chance.random() for each in sorted(members, key=lambda each: each.id)}
    ranked = sorted(members, key=lambda each: (each.levels, order[each.id]))
    step = len(ranked) / count
    start = chance.random() * step
    return [ranked[min(int(start + place * step), len(ranked) - 1)] for place in range(count)]
