"""Designs of every kind: which episodes, how many, and what each kind leaves unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.protocol import Protocol
from corporeal.protocol.design.feasibility import fill_plan
from corporeal.protocol.design.judgement import DesignJudgement, judge, model_matrix
from corporeal.protocol.design.order import put_in_order
from corporeal.protocol.design.search import spread
from corporeal.protocol.design.space import (
    PER_SHIFT,
    DesignError,
    DesignSpace,
    Rows,
    design_space,
)
from corporeal.words import counted

Kind = Literal["full", "pairwise", "balanced", "d-optimal"]
KINDS: Final[Mapping[Kind, str]] = {
    "full": "every combination",
    "pairwise": "every two levels meet, with as few episodes as can be",
    "balanced": "every two levels meet, and no factor tells another",
    "d-optimal": "the effect of every level is known as exactly as so few episodes can",
}
_MOST_FULL = 200_000
# A balanced plan is good enough when no level is farther off, and no two factors tell more.
_OFF, _TELLS = 0.12, 0.20
# How many more episodes than the least are tried, one after the other.
_TRIES = 8
_PASSES = 6
# A search that ends badly begins anew so often.
_STARTS = 3


@dataclass(frozen=True)
class Design:
    """A plan: the levels of every episode in the order to collect them, and what it leaves."""

    kind: Kind
    space: DesignSpace
    rows: Rows
    judgement: DesignJudgement
    seed: int

    @property
    def episodes(self) -> tuple[dict[str, str], ...]:
        """Every episode by the levels of its factors."""
        return tuple(self.space.decode(row) for row in self.rows)


def make_design(
    protocol: Protocol, kind: Kind = "balanced", *, episodes: int | None = None, seed: int = 0
) -> Design:
    """A design of a kind; without `episodes` as many as it needs.

    Raises DesignError, naming the rules that contradict each other.
    """
    space = design_space(protocol)
    if episodes is not None and episodes < 1:
        raise DesignError(f"episodes, got {episodes}; expected 1 or more.")
    if kind == "full":
        rows = _full(space, episodes)
    elif kind == "pairwise":
        rows = _growing(space, seed, is_balanced=False) if episodes is None else (
            plan_rows(space, _nothing(space), episodes, seed))  # fmt: skip
    elif kind == "balanced":
        rules = protocol.design
        stated = episodes if rules is None or episodes is not None else rules.episodes
        rows = _growing(space, seed, is_balanced=True) if stated is None else (
            plan_rows(space, _nothing(space), stated, seed))  # fmt: skip
    else:
        effects = 1 + sum(size - 1 for size in space.sizes)
        start = plan_rows(space, _nothing(space), episodes or math.ceil(1.2 * effects), seed)
        rows = _d_optimal(space, start)
    rows = put_in_order(space, rows, per_shift=shift_length(protocol))
    return Design(kind, space, rows, judge(space, rows), seed)


def shift_length(protocol: Protocol) -> int:
    """Episodes of one station in one shift."""
    return (protocol.design and protocol.design.per_shift) or PER_SHIFT


def replan(space: DesignSpace, done: Rows, total: int, *, seed: int = 0) -> Rows:
    """The rows that are left of a plan of `total` after those done, in no order.

    Raises DesignError where the rules cannot be kept any more.
    """
    return plan_rows(space, done, max(0, total - len(done)), seed)


def plan_rows(space: DesignSpace, done: Rows, count: int, seed: int) -> Rows:
    """`count` rows that keep every rule and, with those done, leave as little unknown as can be."""
    best: tuple[tuple[int, float], Rows] | None = None
    for again in range(_STARTS):
        rng = np.random.default_rng([seed, again])
        rows = spread(space, done, fill_plan(space, done, count, rng), rng)
        rows = _instead_of_refused(space, done, rows, rng)
        told = judge(space, np.concatenate([done, rows]))
        rank = len(told.missing), _tells(told)
        if best is None or rank < best[0]:
            best = rank, rows
        if rank[1] <= _may_tell(space, len(done) + count) and (
            not rank[0] or len(done) + count < least_episodes(space)
        ):
            break
    assert best is not None
    return best[1]


def _instead_of_refused(
    space: DesignSpace, done: Rows, rows: Rows, rng: np.random.Generator
) -> Rows:
    """Where no exchange helps, a scene that cannot be done gives way to one like it that can."""
    for at in [place for place, row in enumerate(rows) if space.is_refused(row)]:
        everything = np.concatenate([done, rows])
        tried = [rows[at]]
        for column in rng.permutation(len(space.sizes)):
            if column != space.operator:
                options = np.repeat(rows[at : at + 1], space.sizes[column], axis=0)
                options[:, column] = np.arange(space.sizes[column])
                tried.extend(options)
        fits = _keeps_rules(space, everything, len(done) + at, np.array(tried))
        if fits.any():
            rows[at] = tried[int(fits.argmax())]
    return rows


def _may_tell(space: DesignSpace, total: int) -> float:
    """Above this a plan of so many episodes could be better; whole numbers leave some relation."""
    least = 0.0
    for first, second in space.possible:
        even = total * np.outer(space.shares[first], space.shares[second])
        rest = (even % 1) * (1 - even % 1)
        chi2 = float(np.divide(rest, even, out=np.zeros_like(even), where=even > 0).sum())
        smaller = min(even.shape) - 1
        if smaller:
            least = max(least, math.sqrt(chi2 / total / smaller))
    return max(_TELLS, 1.02 * least)


def _tells(told: DesignJudgement) -> float:
    """How much two factors tell of each other that no rule ties together."""
    return max((each.cramers_v for each in told.relations if not each.by_rule), default=0.0)


def least_episodes(space: DesignSpace) -> int:
    """No plan in which every possible pair of levels meets has fewer."""
    return space.repeats * max(
        (int(table.sum()) for table in space.possible.values()), default=max(space.sizes)
    )


def _nothing(space: DesignSpace) -> Rows:
    return np.zeros((0, len(space.factors)), np.int64)


def _full(space: DesignSpace, episodes: int | None) -> Rows:
    if space.combinations > _MOST_FULL:
        raise DesignError(
            f"the full design has {space.combinations:,} combinations; expected {_MOST_FULL:,} at "
            "most. Ask for another: --kind balanced."
        )
    rows = np.indices(space.sizes).reshape(len(space.sizes), -1).T.astype(np.int64)
    rows = np.repeat(rows[space.allows(rows)], space.repeats, axis=0)
    if episodes is not None and episodes != len(rows):
        raise DesignError(
            f"episodes, got {episodes}; expected {len(rows)}, as the full design has. Leave it "
            "out, or ask for another kind."
        )
    return rows


def _growing(space: DesignSpace, seed: int, *, is_balanced: bool) -> Rows:
    """As few episodes as every pair of levels takes, from the least that there can be."""
    count = max(least_episodes(space), _least_by_rules(space))
    best: tuple[float, Rows] | None = None
    for _ in range(_TRIES):
        rows = plan_rows(space, _nothing(space), count, seed)
        told = judge(space, rows)
        worst, off = told.worst_relation, told.worst_balance
        tells = _tells(told)
        lacks = len(told.missing)
        if not lacks and (not is_balanced or (
            tells <= _may_tell(space, count)
            and (off is None or off.off <= _OFF or off.off * off.planned < 1)
        )):  # fmt: skip
            return rows
        rank = lacks + (worst.cramers_v if worst is not None else 0.0)
        if best is None or rank < best[0]:
            best = rank, rows
        # Each further episode can show one more pair of every two factors.
        groups = max(1, math.comb(len(space.factors), 2))
        count += max(1, math.ceil(lacks / groups))
    assert best is not None
    return best[1]


def _least_by_rules(space: DesignSpace) -> int:
    """Episodes that quotas and required combinations take whatever else there is."""
    needs = [sum((factor.at_least or {}).values()) for factor in space.factors]
    needs += [each.episodes for each in space.required]
    if space.operator is not None and space.sizes[space.operator] * space.most_share < 1 - 1e-9:
        people = space.sizes[space.operator]
        raise DesignError(
            f"{counted(people, 'operator')} at {100 * space.most_share:.0f} % at most make no "
            f"whole plan; expected {math.ceil(1 / space.most_share)} or more. Name more of them, "
            "or let greatest_share be larger."
        )
    return max(needs, default=1)


def _d_optimal(space: DesignSpace, rows: Rows) -> Rows:
    """Levels exchanged one by one wherever the determinant grows and no rule is broken."""
    rows = rows.copy()
    model = model_matrix(space, rows)
    for _ in range(_PASSES):
        is_better = False
        for at in range(len(rows)):
            if abs(np.linalg.det(model.T @ model)) < 1e-9:
                return rows
            inverse = np.linalg.inv(model.T @ model)
            for column in range(len(space.sizes)):
                tried = np.repeat(rows[at : at + 1], space.sizes[column], axis=0)
                tried[:, column] = np.arange(space.sizes[column])
                gains = _growth(np.asarray(inverse), model[at], model_matrix(space, tried))
                gains[~_keeps_rules(space, rows, at, tried)] = 0
                best = int(gains.argmax())
                if gains[best] > 1 + 1e-9 and best != rows[at, column]:
                    rows[at, column] = best
                    model[at] = model_matrix(space, tried[best : best + 1])[0]
                    inverse = np.linalg.inv(model.T @ model)
                    is_better = True
        if not is_better:
            break
    return rows


def _growth(
    inverse: NDArray[np.float64], old: NDArray[np.float64], new: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The determinant after one row is exchanged for each of the new ones, over that before."""
    own = float(old @ inverse @ old)
    theirs = np.einsum("ij,jk,ik->i", new, inverse, new)
    across = new @ inverse @ old
    return np.asarray((1 + theirs) * (1 - own) + across**2)


def _keeps_rules(space: DesignSpace, rows: Rows, at: int, tried: Rows) -> NDArray[np.bool_]:
    others = np.delete(rows, at, axis=0)
    fine = space.allows(tried)
    fine &= ~np.array([space.is_refused(row) for row in tried])
    for each in space.required:
        fine &= (each.holds(others).sum() + each.holds(tried)) >= each.episodes
    most = math.floor(space.most_share * len(rows) + 1e-9)
    for column, factor in enumerate(space.factors):
        for place, level in enumerate(factor.levels):
            count = int((others[:, column] == place).sum()) + (tried[:, column] == place)
            fine &= count >= (factor.at_least or {}).get(level, 1)
            fine &= count <= (factor.at_most or {}).get(level, len(rows))
            if column == space.operator:
                fine &= count <= most
            if space.shares[column][place] == 0:
                fine &= tried[:, column] != place
    return fine
