"""Those first that cover the most of what is not covered yet (facility location)."""

from __future__ import annotations

import numpy as np

from corporeal.curation.kernel import path_kernel
from corporeal.curation.method import CurationMethod, MethodScores, certain
from corporeal.curation.pool import DemonstrationPool


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """Greedy facility location over whole paths: the order in which each was chosen is its score.

    The gain is how much nearer, by the kernel, the pool comes to what is chosen. Alone it picks
    what is odd, faults among it: give it after `quality`.
    """
    del seed
    likeness, _ = path_kernel(pool.paths)
    count = len(pool)
    nearest, chosen = np.zeros(count), np.zeros(count, bool)
    score, gains = np.zeros(count), np.zeros(count)
    for place in range(count):
        gain = np.maximum(likeness - nearest[:, None], 0).sum(axis=0)
        gain[chosen] = -1.0
        pick = int(np.argmax(gain))
        chosen[pick], score[pick], gains[pick] = True, -place / count, gain[pick]
        nearest = np.maximum(nearest, likeness[:, pick])
    return certain(score, tuple(
        f"adds {gain / count:.1%} of what the pool has to show" for gain in gains
    ))  # fmt: skip


METHOD = CurationMethod(judge, "most diverse first")
