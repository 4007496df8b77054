"""Which levels meet: rows whose values are exchanged until every two factors are in no relation.

Exchanging the values of two rows keeps how often each level occurs, so quotas and shares hold all
the time. The sum of chi-squares over all pairs of factors is, to second order, what the determinant
of a D-optimal design loses; a pair of levels that never meets costs extra.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from corporeal.protocol.design.space import UNKNOWN, DesignSpace, Rows

Table = NDArray[np.float64]
# What a pair that never meets costs, against a Cramer's V squared of 1 over all pairs.
_MISSING = 3.0
# Moves for each value that can be moved, at most so many; what they may lose at first.
_MOVES, _MOST_MOVES, _WARM = 6, 3000, 0.1
# So many rows are looked at for one move: its cost does not grow with the plan.
_LOOKED_AT = 48


@dataclass
class _Meetings:
    """How often the levels of every two factors meet, and what that costs."""

    tables: dict[tuple[int, int], Table]
    wanted: dict[tuple[int, int], Table]
    weight: dict[tuple[int, int], float]
    possible: dict[tuple[int, int], NDArray[np.bool_]]
    total: int
    repeats: int
    steps: dict[tuple[int, int], tuple[Table, Table]] = field(default_factory=dict)

    def step_costs(self, pair: tuple[int, int]) -> tuple[Table, Table]:
        """What one more, and one fewer, in each cell of a pair of factors changes the cost by."""
        if pair not in self.steps:
            table = self.tables[pair]
            now = self.costs(pair, table)
            self.steps[pair] = (
                self.costs(pair, table + 1) - now,
                self.costs(pair, table - 1) - now,
            )
        return self.steps[pair]

    def costs(self, pair: tuple[int, int], table: Table) -> Table:
        """The cost of every cell of a pair of factors, if it was as in `table`."""
        wanted = self.wanted[pair]
        off = (table - wanted) ** 2 / np.where(wanted > 0, wanted, 1.0) * self.weight[pair]
        lacking = np.clip(self.repeats - table, 0, None) * (_MISSING / self.total)
        return np.where(self.possible[pair], off + lacking, 0.0)

    def sum(self) -> float:
        """The cost of everything."""
        return float(sum(self.costs(pair, self.tables[pair]).sum() for pair in self.tables
                         if pair[0] < pair[1]))  # fmt: skip

    def move(self, column: int, old: int, new: int, row: NDArray[np.int64]) -> None:
        """A row changes its level in one column."""
        for other in range(len(row)):
            if other != column:
                self.steps.pop((column, other), None)
                self.steps.pop((other, column), None)
                for level, by in ((old, -1), (new, 1)):
                    self.tables[column, other][level, row[other]] += by
                    self.tables[other, column][row[other], level] += by


def spread(space: DesignSpace, done: Rows, rows: Rows, rng: np.random.Generator) -> Rows:
    """The rows with their values exchanged so that they and those done leave little unknown."""
    if len(rows) < 2 or len(space.factors) < 2:
        return rows
    rows = _around_refused(space, rows.copy(), rng)
    seen = _count(space, np.concatenate([done, rows]))
    units: list[tuple[int, ...]] = [(column,) for column in range(len(space.factors))]
    units += [block for block in space.blocks if len(block) > 1]
    tied = {column for block in space.blocks if len(block) > 1 for column in block}
    lowest = cost = seen.sum()
    best = rows.copy()
    moves = min(_MOST_MOVES, _MOVES * rows.size)
    for move in range(moves):
        warmth = _WARM / len(rows) * (1 - move / moves)
        unit = units[int(rng.integers(len(units)))]
        some = (np.arange(len(rows)) if len(rows) <= _LOOKED_AT
                else rng.choice(len(rows), _LOOKED_AT, replace=False))  # fmt: skip
        gains = _gains(space, seen, rows[some], unit, is_tied=set(unit) <= tied and len(unit) == 1)
        noisy = gains - warmth * rng.gumbel(size=gains.shape)
        first, second = divmod(int(np.argmin(noisy)), len(some))
        gain = float(gains[first, second])
        is_worse = gain > 0 and rng.random() > np.exp(-min(gain, 1e6) / max(warmth, 1e-12))
        if is_worse or not np.isfinite(gain):
            continue
        one, other = int(some[first]), int(some[second])
        if _exchange(space, done, rows, seen, unit, one, other):
            cost += gain
            if cost < lowest - 1e-12:
                lowest, best = cost, rows.copy()
    return best


def _count(space: DesignSpace, rows: Rows) -> _Meetings:
    total = max(1, len(rows))
    tables, wanted, weight, possible = {}, {}, {}, {}
    for first, second in combinations(range(len(space.factors)), 2):
        known = rows[(rows[:, first] != UNKNOWN) & (rows[:, second] != UNKNOWN)]
        table = np.zeros((space.sizes[first], space.sizes[second]))
        np.add.at(table, (known[:, first], known[:, second]), 1)
        open_cells = space.possible[first, second]
        even = total * _fitted(space.shares[first], space.shares[second], open_cells)
        smaller = max(1, min(table.shape) - 1)
        for pair, turn in (((first, second), False), ((second, first), True)):
            tables[pair] = table.T.copy() if turn else table.copy()
            wanted[pair] = even.T if turn else even
            possible[pair] = open_cells.T if turn else open_cells
            weight[pair] = 1 / (total * smaller)
    return _Meetings(tables, wanted, weight, possible, total, space.repeats)


def _fitted(first: Table, second: Table, possible: NDArray[np.bool_]) -> Table:
    """The shares of pairs with these margins and nothing where a pair is impossible."""
    table = np.outer(first, second) * possible
    if possible.all():
        return table
    for _ in range(60):
        for axis, margin in ((1, first), (0, second)):
            sums = table.sum(axis=axis)
            factor = np.divide(margin, sums, out=np.zeros_like(sums), where=sums > 0)
            table = table * (factor[:, None] if axis == 1 else factor[None, :])
    return table


def _gains(
    space: DesignSpace, seen: _Meetings, rows: Rows, unit: tuple[int, ...], *, is_tied: bool
) -> Table:
    """What every exchange between two of the rows changes the cost by; infinite: not allowed."""
    count = len(rows)
    gains = np.zeros((count, count))
    same = np.ones((count, count), bool)
    for column in unit:
        here = rows[:, column]
        unlike = here[:, None] != here
        same &= ~unlike
        change = np.zeros((count, count))
        for other in range(len(space.factors)):
            if other in unit:
                continue
            more, fewer = seen.step_costs((column, other))
            there = rows[:, other]
            # What row i gains by the level of row j, once the one and once the other way.
            one_way = fewer[here, there][:, None] + more.T[there][:, here]
            change += (there[:, None] != there) * (one_way + one_way.T)
        gains += change * unlike
    gains[same] = np.inf
    if is_tied:
        (column,) = unit
        fits = np.zeros((count, space.sizes[column]), bool)
        for level in range(space.sizes[column]):
            tried = rows.copy()
            tried[:, column] = level
            fits[:, level] = space.allows(tried)
        may = fits[:, rows[:, column]]
        gains[~(may & may.T)] = np.inf
    return gains


def _exchange(
    space: DesignSpace, done: Rows, rows: Rows, seen: _Meetings, unit: tuple[int, ...],
    one: int, other: int,
) -> bool:  # fmt: skip
    """Exchange what two rows have in some columns; False, and nothing done, against a rule."""
    before = rows[[one, other]].copy()
    columns = list(unit)
    rows[one, columns], rows[other, columns] = before[1, columns], before[0, columns]
    touched = [each for each in space.required if each.columns & set(unit)]
    is_broken = any(
        each.holds(np.concatenate([done, rows])).sum() < each.episodes for each in touched
        if not each.columns <= set(unit)
    ) or any(space.is_refused(rows[at]) for at in (one, other))  # fmt: skip
    after = rows[[one, other]].copy()
    rows[[one, other]] = before
    if is_broken:
        return False
    for at, target in ((one, after[0]), (other, after[1])):
        for column in columns:
            old, new = int(rows[at, column]), int(target[column])
            if old != new:
                seen.move(column, old, new, rows[at])
                rows[at, column] = new
    return True


def _around_refused(space: DesignSpace, rows: Rows, rng: np.random.Generator) -> Rows:
    """Exchange whole blocks until no row is one that people refused, as far as that goes."""
    for _ in range(200):
        bad = [at for at in range(len(rows)) if space.is_refused(rows[at])]
        if not bad:
            break
        for at in bad:
            block = list(space.blocks[int(rng.integers(len(space.blocks)))])
            other = int(rng.integers(len(rows)))
            rows[at, block], rows[other, block] = rows[other, block].copy(), rows[at, block].copy()
    return rows
