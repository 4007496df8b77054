"""Collection without a plan, for comparison: people show what comes to their hands."""

from __future__ import annotations

import numpy as np

from corporeal.protocol.design import DesignSpace, Rows


def unplanned_rows(
    space: DesignSpace, people: int, count: int, *, seed: int, habit: float = 0.0, stay: float = 0.0
) -> Rows:
    """Levels of `count` episodes that people choose in turns of twenty.

    With `habit` 0 every level is as likely; with 1 a person's usual levels are drawn from a flat
    Dirichlet distribution, so that most have favourites. With `stay` a take keeps each level of the
    take before it with that chance, since changing a scene is work.
    """
    rng = np.random.default_rng([seed, 29])
    usual = [
        [(1 - habit) / size + habit * rng.dirichlet(np.ones(size)) for size in space.sizes]
        for _ in range(people)
    ]
    rows = np.zeros((count, len(space.sizes)), np.int64)
    for at in range(count):
        person = usual[at // 20 % people]
        drawn = [rng.choice(len(shares), p=shares) for shares in person]
        keeps = rng.random(len(drawn)) < stay if at % 20 else np.zeros(len(drawn), bool)
        rows[at] = np.where(keeps, rows[at - 1], drawn)
    return rows


def coverage_reached(space: DesignSpace, rows: Rows, least: int) -> int | None:
    """After how many episodes every possible pair of levels is there `least` times; None: never."""
    last = 0
    for (first, second), possible in space.possible.items():
        for one, other in np.argwhere(np.asarray(possible)):
            hits = np.flatnonzero((rows[:, first] == one) & (rows[:, second] == other))
            if len(hits) < least:
                return None
            last = max(last, int(hits[least - 1]) + 1)
    return last
