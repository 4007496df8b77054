"""What a set of episodes leaves unknown: pairs never seen, factors confounded, levels behind."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from corporeal.protocol.design.space import UNKNOWN, DesignSpace, Rows

CONFOUNDED = 0.2
"""Cramer's V above which two factors are said to be confounded."""
_MOST_TRIPLES = 2_000_000


@dataclass(frozen=True)
class LevelPair:
    """Two levels of two factors."""

    first: str
    first_level: str
    second: str
    second_level: str


@dataclass(frozen=True)
class Relation:
    """How far one factor tells another: 0 not at all, 1 wholly.

    `by_rule` says that combinations that are forbidden or required make it so.
    """

    first: str
    second: str
    cramers_v: float
    by_rule: bool = False


@dataclass(frozen=True)
class LevelBalance:
    """A level with its episodes and those that its share of the plan would be."""

    factor: str
    level: str
    count: int
    planned: float

    @property
    def off(self) -> float:
        """How far it is from its plan, as a share of that."""
        return abs(self.count - self.planned) / self.planned if self.planned else 0.0


@dataclass(frozen=True)
class DesignJudgement:
    """`pairs` are those that rules leave possible; `missing` have fewer episodes than asked for.

    `d_efficiency` is 1 where every factor's effect is known as exactly as so many episodes can.
    `few_operators` are levels with the number of people who showed them, where that is too few.
    """

    episodes: int
    pairs: int
    missing: tuple[LevelPair, ...]
    relations: tuple[Relation, ...]
    balance: tuple[LevelBalance, ...]
    d_efficiency: float
    triples: float | None
    few_operators: tuple[tuple[str, str, int], ...]

    @property
    def worst_relation(self) -> Relation | None:
        """The two factors that tell most of each other."""
        return max(self.relations, key=lambda each: each.cramers_v, default=None)

    @property
    def confounded(self) -> tuple[Relation, ...]:
        """Factors that tell each other, worst first."""
        above = [each for each in self.relations if each.cramers_v > CONFOUNDED]
        return tuple(sorted(above, key=lambda each: -each.cramers_v))

    @property
    def worst_balance(self) -> LevelBalance | None:
        """The level farthest from its share."""
        return max(self.balance, key=lambda each: each.off, default=None)


def judge(space: DesignSpace, rows: Rows) -> DesignJudgement:
    """Judge episodes, planned or done, by the levels that they have."""
    names = [factor.name for factor in space.factors]
    missing: list[LevelPair] = []
    relations: list[Relation] = []
    pairs = 0
    for first, second in combinations(range(len(names)), 2):
        possible = space.possible[first, second]
        table = _table(space, rows, first, second)
        pairs += int(possible.sum())
        for one, other in np.argwhere(possible & (table < space.repeats)):
            missing.append(LevelPair(
                names[first], space.factors[first].levels[one],
                names[second], space.factors[second].levels[other],
            ))  # fmt: skip
        by_rule = any({first, second} <= each.columns for each in space.required)
        relations.append(Relation(names[first], names[second], cramers_v(table),
                                  by_rule or not possible.all()))  # fmt: skip
    balance = []
    for factor, known in zip(space.factors, rows.T, strict=True):
        total = int((known != UNKNOWN).sum())
        for at, level in enumerate(factor.levels):
            count = int((known == at).sum())
            balance.append(LevelBalance(factor.name, level, count, factor.planned(level) * total))
    return DesignJudgement(
        len(rows), pairs, tuple(missing), tuple(relations), tuple(balance),
        d_efficiency(space, rows), _triples(space, rows), _few_operators(space, rows),
    )  # fmt: skip


def _table(space: DesignSpace, rows: Rows, first: int, second: int) -> NDArray[np.int64]:
    known = rows[(rows[:, first] != UNKNOWN) & (rows[:, second] != UNKNOWN)]
    table = np.zeros((space.sizes[first], space.sizes[second]), np.int64)
    np.add.at(table, (known[:, first], known[:, second]), 1)
    return table


def cramers_v(table: NDArray[np.int64]) -> float:
    """How far rows tell columns, 0 to 1; levels that never occur do not count."""
    seen = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(seen.shape, default=0) < 2:
        return 0.0
    total = seen.sum()
    even = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / total
    chi2 = float(((seen - even) ** 2 / even).sum())
    return float(np.sqrt(chi2 / (total * (min(seen.shape) - 1))))


def model_matrix(space: DesignSpace, rows: Rows) -> NDArray[np.float64]:
    """A constant and the main effects of all factors, such that a balanced design is the unit."""
    columns = [np.ones((len(rows), 1))]
    for column, size in enumerate(space.sizes):
        if size > 1:
            columns.append(_contrasts(size)[rows[:, column]])
    return np.concatenate(columns, axis=1)


def _contrasts(size: int) -> NDArray[np.float64]:
    basis = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, : size - 1]]))[0]
    return np.asarray(basis[:, 1:] * np.sqrt(size))


def d_efficiency(space: DesignSpace, rows: Rows) -> float:
    """The determinant of the information per episode, a mean over effects; 0: some unknown."""
    known = rows[(rows != UNKNOWN).all(axis=1)]
    if not len(known):
        return 0.0
    model = model_matrix(space, known)
    sign, log = np.linalg.slogdet(model.T @ model / len(known))
    # Rounding leaves a determinant that is nothing just above it.
    return float(np.exp(log / model.shape[1])) if sign > 0 and log > -60 else 0.0


def _triples(space: DesignSpace, rows: Rows) -> float | None:
    """The part of all triples of levels that occur; None where there are too many to count."""
    groups = list(combinations(range(len(space.sizes)), 3))
    sizes = [int(np.prod([space.sizes[column] for column in group])) for group in groups]
    if not groups or sum(sizes) > _MOST_TRIPLES:
        return None
    seen = 0
    for group in groups:
        known = rows[(rows[:, group] != UNKNOWN).all(axis=1)][:, group]
        seen += len(np.unique(known, axis=0))
    return seen / sum(sizes)


def _few_operators(space: DesignSpace, rows: Rows) -> tuple[tuple[str, str, int], ...]:
    column = space.operator
    if column is None:
        return ()
    few = []
    for other, factor in enumerate(space.factors):
        if other == column:
            continue
        for at, level in enumerate(factor.levels):
            people = len(
                np.unique(rows[(rows[:, other] == at) & (rows[:, column] != UNKNOWN), column])
            )
            if people < space.least_operators:
                few.append((factor.name, level, people))
    return tuple(few)
