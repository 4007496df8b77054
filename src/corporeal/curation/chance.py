"""Chance that does not depend on names: the same content and seed draw the same number."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from corporeal.curation.pool import DemonstrationPool
from corporeal.signal.track import Array

_SCALE = float(1 << 64)
_NEAR = 8


def chances(pool: DemonstrationPool, seed: int) -> Array:
    """A number from 0 to 1 for every demonstration, from its content and the seed."""
    return np.array([
        int.from_bytes(hashlib.blake2b(f"{seed} {each.digest}".encode(), digest_size=8).digest(),
                       "big") / _SCALE
        for each in pool.episodes
    ])  # fmt: skip


def draw_alike(pool: DemonstrationPool, kept: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    """As many by chance, whose lengths are spread as those of `kept`: each has a partner.

    Every kept one, in the order of length, takes the free demonstration nearest in length; those
    equally near by chance.
    """
    seconds = np.array([each.duration_s for each in pool.episodes])
    drawn = chances(pool, seed)
    free = np.ones(len(pool), bool)
    chosen: list[int] = []
    for number in sorted(np.flatnonzero(kept), key=lambda n: (seconds[n], drawn[n])):
        away = np.abs(seconds - seconds[number])
        near = np.flatnonzero(free)[np.argsort(away[free], kind="stable")[:_NEAR]]
        pick = int(near[np.argmin(drawn[near])])
        free[pick] = False
        chosen.append(pick)
    mask = np.zeros(len(pool), bool)
    mask[chosen] = True
    return mask
