"""Coverage by design: factors with levels, what has been collected, and what to collect next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

from pydantic import Field, model_validator

from corporeal.schema import Part
from corporeal.schema.document import Name


class Factor(Part):
    """Something that is varied on purpose, and the values that it takes.

    `shares` is the plan: the part of the episodes at each level; even when left out.
    """

    name: Name = Field(description="object, pose, lighting, surface, operator, approach ...")
    levels: tuple[str, ...] = Field(min_length=1)
    shares: tuple[float, ...] | None = None
    field: str | None = Field(
        default=None, description="where the metadata says it, such as variation.hand"
    )

    @model_validator(mode="after")
    def _plan_fits_levels(self) -> Self:
        if len(set(self.levels)) < len(self.levels):
            raise ValueError(f"factor {self.name!r} lists a level twice; expected each once")
        if self.shares is None:
            return self
        if len(self.shares) != len(self.levels):
            raise ValueError(
                f"factor {self.name!r} has {len(self.shares)} shares for {len(self.levels)} "
                "levels; expected one for each"
            )
        if min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-6:
            raise ValueError(f"shares of {self.name!r}, got {self.shares}; expected a sum of 1")
        return self

    def planned(self, level: str) -> float:
        """The part of the episodes that should be at this level."""
        if self.shares is None:
            return 1 / len(self.levels)
        return self.shares[self.levels.index(level)]

    def level_of(self, metadata: Mapping[str, Any]) -> str | None:
        """The level that an episode's metadata states, or None."""
        here: Any = metadata
        for step in (self.field or self.name).split("."):
            here = here.get(step) if isinstance(here, Mapping) else None
        if here is None and self.field is None:
            inner = metadata.get("variation")
            here = inner.get(self.name) if isinstance(inner, Mapping) else None
        return None if here is None else str(here)


@dataclass(frozen=True)
class Cell:
    """One level of one factor: how many episodes it has and how many it should have."""

    factor: str
    level: str
    count: int
    planned: float


def coverage(factors: Sequence[Factor], episodes: Iterable[Mapping[str, Any]]) -> tuple[Cell, ...]:
    """The coverage table: every level of every factor, from the metadata of the episodes."""
    facts = list(episodes)
    cells = []
    for factor in factors:
        counts = Counter(factor.level_of(each) for each in facts)
        for level in factor.levels:
            planned = factor.planned(level) * len(facts)
            cells.append(Cell(factor.name, level, counts[level], planned))
    return tuple(cells)


def propose(
    factors: Sequence[Factor], episodes: Iterable[Mapping[str, Any]], count: int
) -> tuple[dict[str, str], ...]:
    """The next `count` episodes to collect, by level of each factor: a balanced design.

    Each is chosen, one factor after the other, so that the levels furthest behind their plan come
    first, and of those the ones that were seen least together with the levels already chosen.
    """
    seen: list[dict[str, str]] = []
    for metadata in episodes:
        known = {factor.name: factor.level_of(metadata) for factor in factors}
        seen.append({name: level for name, level in known.items() if level is not None})
    single: Counter[tuple[str, str]] = Counter()
    pairs: Counter[tuple[tuple[str, str], tuple[str, str]]] = Counter()
    for each in seen:
        _count(each, single, pairs)
    chosen: list[dict[str, str]] = []
    for number in range(count):
        total = len(seen) + number + 1
        episode: dict[str, str] = {}
        for factor in factors:
            episode[factor.name] = _next_level(factor, episode, total, single, pairs)
        _count(episode, single, pairs)
        chosen.append(episode)
    return tuple(chosen)


def _count(
    episode: Mapping[str, str],
    single: Counter[tuple[str, str]],
    pairs: Counter[tuple[tuple[str, str], tuple[str, str]]],
) -> None:
    cells = sorted(episode.items())
    single.update(cells)
    pairs.update(combinations(cells, 2))


def _next_level(
    factor: Factor,
    chosen: Mapping[str, str],
    total: int,
    single: Counter[tuple[str, str]],
    pairs: Counter[tuple[tuple[str, str], tuple[str, str]]],
) -> str:
    def rank(level: str) -> tuple[float, int]:
        cell = (factor.name, level)
        behind = factor.planned(level) * total - single[cell]
        together = 0
        for other in chosen.items():
            first, second = sorted((cell, other))
            together += pairs[first, second]
        # Half an episode behind or more is a debt; below that, new combinations come first.
        return (-round(behind * 2) / 2, together)

    return min(factor.levels, key=rank)
