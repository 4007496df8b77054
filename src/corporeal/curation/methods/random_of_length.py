"""By chance, with lengths spread as in what another method keeps: is it more than length?"""

from __future__ import annotations

import numpy as np

from corporeal.curation.chance import chances
from corporeal.curation.method import CurationMethod, MethodScores, certain
from corporeal.curation.pool import DemonstrationPool

_BINS = 8


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """Chance within eight bins by length, so that every length is there in its share."""
    order = np.argsort([each.duration_s for each in pool.episodes], kind="stable")
    drawn = chances(pool, seed)
    bins = np.empty(len(pool), np.int64)
    bins[order] = np.arange(len(pool)) * _BINS // max(1, len(pool))
    ranks = np.zeros(len(pool))
    for number in range(_BINS):
        members = np.flatnonzero(bins == number)
        ranks[members] = (np.argsort(np.argsort(drawn[members])) + 0.5) / max(1, len(members))
    return certain(ranks, tuple(f"by chance among those of length {n + 1}/{_BINS}" for n in bins))


METHOD = CurationMethod(judge, "by chance, lengths in their share", is_baseline=True)
