"""How many episodes each combination gets, so that every rule holds; or which rules contradict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.protocol.design.space import DesignError, DesignSpace, Rows
from corporeal.words import counted, listed

# Seconds that the solver may think about one group of factors that rules tie together.
_LONGEST_S = 10.0
_SHOWN = 5


@dataclass(frozen=True)
class _Rule:
    """`lowest <= sum of the counts where `where` <= highest`, and how people say it."""

    where: NDArray[np.bool_]
    lowest: float
    highest: float
    words: str


def fill_plan(space: DesignSpace, done: Rows, count: int, rng: np.random.Generator) -> Rows:
    """`count` rows that, with those done, keep every rule and come as near to the shares as can be.

    Rows are in no order, and columns that no rule ties together are in no relation. Raises
    DesignError, naming the rules that contradict each other.
    """
    total = len(done) + count
    rows = np.zeros((count, len(space.factors)), np.int64)
    for block in space.blocks:
        # What was done against the rules counts as done: only what is to come must keep to them.
        options = space.product(block, is_ruled=False)
        counts = _solve(space, options, block, done, count, total)
        listed_rows = np.repeat(np.arange(len(options)), counts)
        rng.shuffle(listed_rows)
        rows[:, list(block)] = options[listed_rows][:, list(block)]
    return rows


def _solve(
    space: DesignSpace, options: Rows, block: Sequence[int], done: Rows, count: int, total: int
) -> NDArray[np.int64]:
    rules = list(_rules(space, options, block, done, total))
    result = _best(space, options, block, done, count, total, rules)
    if result is not None:
        return result
    # A least set of rules that cannot hold together: drop each that is not needed for it.
    guilty = rules
    for rule in rules:
        fewer = [each for each in guilty if each is not rule]
        if _best(space, options, block, done, count, total, fewer) is None:
            guilty = fewer
    words = [rule.words for rule in guilty[:_SHOWN]]
    more = f" and {counted(len(guilty) - _SHOWN, 'more rule')}" if len(guilty) > _SHOWN else ""
    raise DesignError(
        f"with {counted(total, 'episode')} ({len(done)} done) these rules contradict each other: "
        f"{listed(words, between='; ')}{more}. Change one of them, or the number of episodes."
    )


def _rules(
    space: DesignSpace, options: Rows, block: Sequence[int], done: Rows, total: int
) -> Iterator[_Rule]:
    inf = math.inf
    for combination in space.forbidden:
        if combination.columns <= set(block):
            yield _Rule(combination.holds(options), 0, 0, f"{combination.words} is forbidden")
    for combination in space.required:
        if combination.columns <= set(block):
            have = int(combination.holds(done).sum())
            need = counted(combination.episodes, "episode")
            yield _Rule(
                combination.holds(options),
                combination.episodes - have,
                inf,
                f"{combination.words} needs {need}",
            )
    for column in block:
        factor, size = space.factors[column], space.sizes[column]
        most = math.floor(space.most_share * total + 1e-9)
        for at, level in enumerate(factor.levels):
            where, have = options[:, column] == at, int((done[:, column] == at).sum())
            low, high = (factor.at_least or {}).get(level), (factor.at_most or {}).get(level)
            name = f"{factor.name} {level}"
            if low is not None:
                yield _Rule(where, low - have, inf, f"{name} needs {low} at least")
            elif total >= size and space.shares[column][at] > 0:
                yield _Rule(where, 1 - have, inf, f"{name} is a level, and needs an episode")
            if high is not None:
                yield _Rule(where, 0, max(0, high - have), f"{name} may have {high} at most")
            if column == space.operator:
                share = f"{100 * space.most_share:.0f} %"
                yield _Rule(where, 0, max(0, most - have),
                            f"{name} may make {share} at most ({most} of {total})")  # fmt: skip


def _best(
    space: DesignSpace, options: Rows, block: Sequence[int], done: Rows, count: int, total: int,
    rules: Sequence[_Rule],
) -> NDArray[np.int64] | None:  # fmt: skip
    """The counts nearest to the shares under the rules; None where there are none."""
    levels = [(column, at) for column in block for at in range(space.sizes[column])]
    size, extra = len(options), len(levels)
    # Variables: how often each option, then how far each level is off its share.
    matrix, lows, highs = [], [], []

    def constrain(options_part: NDArray[np.float64], off: int | None, sign: float,
                  low: float, high: float) -> None:  # fmt: skip
        line = np.zeros(size + extra)
        line[:size] = options_part
        if off is not None:
            line[size + off] = sign
        matrix.append(scipy.sparse.csr_array(line[None]))
        lows.append(low)
        highs.append(high)

    constrain(np.ones(size), None, 0, count, count)
    costs = np.zeros(size + extra)
    for off, (column, at) in enumerate(levels):
        known = done[:, column]
        wanted = space.shares[column][at] * total - int((known == at).sum())
        part = (options[:, column] == at).astype(float)
        constrain(part, off, 1.0, wanted, math.inf)
        constrain(part, off, -1.0, -math.inf, wanted)
        costs[size + off] = 1 / max(space.shares[column][at] * total, 0.5)
    for rule in rules:
        constrain(rule.where.astype(float), None, 0, rule.lowest, rule.highest)
    # A planned share of nothing is a level that is not collected.
    ceiling = np.full(size + extra, math.inf)
    for column, at in levels:
        if space.shares[column][at] == 0:
            ceiling[:size][options[:, column] == at] = 0
    solution = scipy.optimize.milp(
        costs,
        constraints=scipy.optimize.LinearConstraint(scipy.sparse.vstack(matrix), lows, highs),
        integrality=np.concatenate([np.ones(size), np.zeros(extra)]),
        bounds=scipy.optimize.Bounds(0, ceiling),
        options={"time_limit": _LONGEST_S, "mip_rel_gap": 1e-3},
    )
    if solution.x is None:
        return None
    counts: NDArray[np.int64] = np.round(solution.x[:size]).astype(np.int64)
    assert counts.sum() == count
    return counts
