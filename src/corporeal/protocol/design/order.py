"""Which of the episodes that are left comes next: few changes of scene, and nothing confounded.

What is hard to change stays until it has had its part of what the person who records is likely to
make before somebody else does, or of the shift where nobody is named: everybody sees every level,
and it does not change from one episode to the next. A split-plot design, run as people can run it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from corporeal.protocol.design.space import PER_SHIFT, UNKNOWN, DesignSpace, Rows

# What a minute of changing, and what a level that is common in these circumstances, costs against
# one that is common altogether.
_PER_MINUTE, _CONFOUNDED = 0.5, 2.0
# What it is worth that somebody shows a level who has not, where too few people have.
_NEW_PERSON = 2.0
# Where people take turns quickly, what is hard to change stays for so many episodes of each.
_LEAST_STAY = 3
# More than anybody collects one after the other: they are only sorted.
_MOST_ORDERED = 5000


@dataclass(frozen=True)
class Scene:
    """What stands before whoever is about to record.

    `last` is the row that was recorded last at this station, `shift` those of its shift so far.
    `context` are the done rows with the same operator, in the order of recording, and with the
    same time of day: what a level occurs in too often with one of them it is confounded with.
    `part` is how many of the plan this operator is likely to make, 0 where nobody is named;
    `stretch` how many people usually record here before somebody else does, 0 if nobody knows.
    `wanted` says, by column and level, what is to be shown by more people, this one among them.
    """

    last: NDArray[np.int64] | None = None
    shift: Rows | None = None
    context: Sequence[Rows] = field(default=())
    part: int = 0
    stretch: int = 0
    wanted: Sequence[NDArray[np.bool_]] = ()


def choose_next(
    space: DesignSpace, left: Rows, done: Rows, scene: Scene, *, per_shift: int = PER_SHIFT
) -> int:
    """The place in `left`, which is not empty, of the episode to collect next."""
    fits = np.arange(len(left))
    shift = scene.shift if scene.shift is not None else left[:0]
    # Who has made more than a shift's episodes begins the next one's.
    shift = shift[len(shift) - len(shift) % per_shift :]
    shifts_left = max(1, math.ceil((len(left) + len(shift)) / per_shift))
    own, part = (scene.context[0] if scene.context else left[:0]), scene.part
    for column in _hard_first(space):
        levels = np.unique(left[fits, column])
        here = UNKNOWN if scene.last is None else int(scene.last[column])
        block = min(per_shift, part, max(scene.stretch, _LEAST_STAY * len(levels)))
        # What they have made of the block that they are in.
        stretch = own[len(own) - len(own) % block :] if block else own[:0]
        level = _stay_or_go(left[fits], shift, stretch, block, column, here, levels, shifts_left,
                            scene, space)  # fmt: skip
        fits = fits[left[fits, column] == level]
        shift = shift[shift[:, column] == level]
        own = own[own[:, column] == level]
        part = math.ceil(part * float(space.shares[column][level]))
    return int(fits[int(np.argmin(_rank(space, left[fits], done, scene)))])


def _hard_first(space: DesignSpace) -> list[int]:
    """Columns whose change takes minutes, the longest first; who demonstrates is given."""
    hard = [at for at, factor in enumerate(space.factors) if factor.change_min
            and at != space.operator]  # fmt: skip
    return sorted(hard, key=lambda at: -(space.factors[at].change_min or 0))


def _stay_or_go(
    left: Rows, shift: Rows, stretch: Rows, block: int, column: int, here: int,
    levels: NDArray[np.int64], shifts_left: int, scene: Scene, space: DesignSpace,
) -> int:  # fmt: skip
    """The level of a factor that is hard to change: the one that stands, as long as it is due."""

    def quota(level: int) -> int:
        if block:
            of_block = math.ceil(float(block * space.shares[column][level]) - 1e-9)
            return of_block - int((stretch[:, column] == level).sum())
        have = int((shift[:, column] == level).sum())
        still = int((left[:, column] == level).sum())
        return math.ceil((still + have) / shifts_left) - have

    others = [int(level) for level in levels if level != here] or [int(levels[0])]
    if here in levels and (quota(here) > 0 or max(map(quota, others)) <= 0):
        return here
    seen = [sum(int((rows[:, column] == level).sum()) for rows in scene.context)
            / max(space.shares[column][level], 1e-9) for level in others]  # fmt: skip
    due = [quota(level) for level in others]
    # What still has a part of this block, then what was seen least in these circumstances.
    order = sorted(range(len(others)), key=lambda at: (due[at] <= 0, seen[at], -due[at]))
    return others[order[0]]


def _rank(space: DesignSpace, left: Rows, done: Rows, scene: Scene) -> NDArray[np.float64]:
    """Lower is better: rare among what is done, not confounded, shown by few, soon set up."""
    rank = np.zeros(len(left))
    for column, shares in enumerate(space.shares):
        counts = np.bincount(done[done[:, column] != UNKNOWN, column], minlength=len(shares))
        rank += (counts / np.maximum(shares, 1e-9) / max(1, len(done)))[left[:, column]]
        for rows in scene.context:
            known = rows[rows[:, column] != UNKNOWN, column]
            seen = np.bincount(known, minlength=len(shares))
            often = seen / np.maximum(shares, 1e-9) / max(1, len(known))
            rank += _CONFOUNDED * often[left[:, column]]
        if scene.wanted:
            rank -= _NEW_PERSON * scene.wanted[column][left[:, column]]
        if scene.last is not None and scene.last[column] != UNKNOWN:
            minutes = space.factors[column].change_min or 0.0
            rank += _PER_MINUTE * minutes * (left[:, column] != scene.last[column])
    rank += _pair_rarity(space, left, done)
    return rank


def _pair_rarity(space: DesignSpace, left: Rows, done: Rows) -> NDArray[np.float64]:
    """How often the pairs of each row are there already, on average over its pairs."""
    rank = np.zeros(len(left))
    pairs = list(space.possible)
    for first, second in pairs:
        table = np.zeros((space.sizes[first], space.sizes[second]))
        known = done[(done[:, first] != UNKNOWN) & (done[:, second] != UNKNOWN)]
        np.add.at(table, (known[:, first], known[:, second]), 1)
        seen = table[left[:, first], left[:, second]]
        rank += seen / (1 + seen) / len(pairs)
    return rank


def put_in_order(space: DesignSpace, rows: Rows, *, per_shift: int = PER_SHIFT) -> Rows:
    """Rows as one station would collect them, shift after shift."""
    hard = _hard_first(space)
    if not hard:
        return rows
    if len(rows) > _MOST_ORDERED:
        return rows[np.lexsort([rows[:, column] for column in reversed(hard)])]
    left, ordered = rows.copy(), rows[:0]
    while len(left):
        begin = len(ordered) - len(ordered) % per_shift
        last = ordered[-1] if len(ordered) else None
        at = choose_next(space, left, ordered, Scene(last, ordered[begin:]), per_shift=per_shift)
        ordered = np.concatenate([ordered, left[at : at + 1]])
        left = np.delete(left, at, axis=0)
    return ordered


def count_changes(rows: Rows, column: int) -> int:
    """How often a factor changes its level from one row to the next."""
    return int((rows[1:, column] != rows[:-1, column]).sum())
