"""The combinations of levels that a protocol allows, as rows of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import CorporealError
from corporeal.protocol import Protocol
from corporeal.protocol.coverage import OPERATOR, Factor, Levels, as_levels

Rows = NDArray[np.int64]
"""One row for each episode, one column for each factor: the place of its level; -1 is unknown."""
UNKNOWN = -1
PER_SHIFT = 40


class DesignError(CorporealError):
    """A plan that cannot be made: rules that contradict each other, in words."""


@dataclass(frozen=True)
class Combination:
    """Some levels of some factors; `episodes` is how many there must be, 0 where it is forbidden.

    `cells` are columns with the places of the levels in them.
    """

    cells: tuple[tuple[int, frozenset[int]], ...]
    episodes: int
    words: str

    @property
    def columns(self) -> frozenset[int]:
        """The factors that it is about."""
        return frozenset(column for column, _ in self.cells)

    def holds(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows show it."""
        shown = np.ones(len(rows), bool)
        for column, levels in self.cells:
            shown &= np.isin(rows[:, column], list(levels))
        return shown


@dataclass(frozen=True)
class DesignSpace:
    """Factors with what forbids and requires combinations of them.

    `most_share` is how much of the plan one operator may make, `least_operators` how many people
    every level of every other factor needs; `refused` are scenes that cannot be done.
    """

    factors: tuple[Factor, ...]
    forbidden: tuple[Combination, ...] = ()
    required: tuple[Combination, ...] = ()
    repeats: int = 1
    most_share: float = 1.0
    least_operators: int = 1
    refused: frozenset[tuple[int, ...]] = frozenset()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many levels each factor has."""
        return tuple(len(factor.levels) for factor in self.factors)

    @cached_property
    def shares(self) -> tuple[NDArray[np.float64], ...]:
        """The planned part of every level of every factor."""
        return tuple(
            np.array([factor.planned(level) for level in factor.levels]) for factor in self.factors
        )

    @property
    def combinations(self) -> int:
        """How many there would be if nothing was forbidden."""
        return math.prod(self.sizes)

    @cached_property
    def operator(self) -> int | None:
        """The column that says who demonstrates."""
        names = [factor.name for factor in self.factors]
        return names.index(OPERATOR) if OPERATOR in names else None

    def allows(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows show nothing that is forbidden."""
        fine = np.ones(len(rows), bool)
        for combination in self.forbidden:
            fine &= ~combination.holds(rows)
        return fine

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Columns that rules tie together; each column is in one block."""
        group = list(range(len(self.factors)))
        for combination in (*self.forbidden, *self.required):
            columns = sorted(combination.columns)
            for column in columns[1:]:
                old, new = group[column], group[columns[0]]
                group = [new if each == old else each for each in group]
        found: dict[int, list[int]] = {}
        for column, name in enumerate(group):
            found.setdefault(name, []).append(column)
        return tuple(map(tuple, found.values()))

    @cached_property
    def possible(self) -> dict[tuple[int, int], NDArray[np.bool_]]:
        """For every two columns which pairs of levels can occur at all."""
        pairs = {
            (first, second): np.ones((self.sizes[first], self.sizes[second]), bool)
            for first, second in combinations(range(len(self.factors)), 2)
        }
        for block in self.blocks:
            if len(block) > 1:
                rows = self.product(block)
                for first, second in combinations(block, 2):
                    table = np.zeros((self.sizes[first], self.sizes[second]), bool)
                    table[rows[:, first], rows[:, second]] = True
                    pairs[first, second] = table
        for column, share in enumerate(self.shares):
            for (first, second), table in pairs.items():
                if column == first:
                    table[share == 0, :] = False
                elif column == second:
                    table[:, share == 0] = False
        return pairs

    def product(self, block: Sequence[int], *, is_ruled: bool = True) -> Rows:
        """Every combination of some columns that is allowed; the others stand at their first."""
        count = math.prod(self.sizes[column] for column in block)
        if count > _MOST_TIED:
            names = ", ".join(self.factors[column].name for column in block)
            raise DesignError(
                f"rules tie {names} together, {count:,} combinations; expected {_MOST_TIED:,} at "
                "most. Say it with fewer factors."
            )
        grid = np.indices([self.sizes[column] for column in block]).reshape(len(block), -1)
        rows = np.zeros((grid.shape[1], len(self.factors)), np.int64)
        rows[:, list(block)] = grid.T
        if not is_ruled:
            return rows
        ours = [each for each in self.forbidden if each.columns <= set(block)]
        return rows[replace(self, forbidden=tuple(ours)).allows(rows)]

    def encode(self, episodes: Iterable[Mapping[str, str]]) -> Rows:
        """Levels by factor as rows; a level that no factor has is unknown."""
        places = [{name: at for at, name in enumerate(each.levels)} for each in self.factors]
        rows = [
            [place.get(levels.get(factor.name, ""), UNKNOWN)
             for factor, place in zip(self.factors, places, strict=True)]
            for levels in episodes
        ]  # fmt: skip
        return np.array(rows, np.int64).reshape(-1, len(self.factors))

    def decode(self, row: Iterable[int]) -> dict[str, str]:
        """The levels of a row by factor, without those that are unknown."""
        return {
            factor.name: factor.levels[at]
            for factor, at in zip(self.factors, row, strict=True)
            if at != UNKNOWN
        }

    def without(self, rows: Iterable[Iterable[int]]) -> DesignSpace:
        """The same space without these combinations, whoever would demonstrate them."""
        return replace(self, refused=self.refused | {self.scene(row) for row in rows})

    def scene(self, row: Iterable[int]) -> tuple[int, ...]:
        """A row without who demonstrates it."""
        return tuple(int(at) for column, at in enumerate(row) if column != self.operator)

    def is_refused(self, row: Iterable[int]) -> bool:
        """Whether people said that it cannot be done."""
        return bool(self.refused) and self.scene(row) in self.refused


_MOST_TIED = 100_000


def design_space(protocol: Protocol) -> DesignSpace:
    """What a protocol varies on purpose; raises DesignError where it varies nothing."""
    if not protocol.factors:
        raise DesignError(
            f"protocol {protocol.reference} has no factors; expected one or more. Say what is "
            "varied: factors: [{name: object, levels: [cup, can]}]."
        )
    rules, factors = protocol.design, protocol.factors
    columns = {factor.name: column for column, factor in enumerate(factors)}

    def combination(levels: Mapping[str, Levels], episodes: int) -> Combination:
        cells = tuple(
            (columns[name], frozenset(factors[columns[name]].levels.index(each)
                                      for each in as_levels(names)))
            for name, names in levels.items()
        )  # fmt: skip
        words = " with ".join(
            f"{name} {' or '.join(as_levels(names))}" for name, names in levels.items()
        )
        return Combination(cells, episodes, words)

    return DesignSpace(
        factors,
        tuple(combination(each, 0) for each in (rules and rules.forbidden) or ()),
        tuple(combination(each.levels, each.episodes) for each in (rules and rules.required) or ()),
        (rules and rules.repeats) or 1,
        protocol.operators.greatest_share,
        protocol.operators.minimum_per_variant,
    )
