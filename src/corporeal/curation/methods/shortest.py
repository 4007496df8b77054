"""Shortest first: the baseline that is most often forgotten, and hard to beat."""

from __future__ import annotations

import numpy as np

from corporeal.curation.method import CurationMethod, MethodScores, certain
from corporeal.curation.pool import DemonstrationPool


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """The shorter a demonstration, the better."""
    del seed
    seconds = np.array([each.duration_s for each in pool.episodes])
    return certain(-seconds, tuple(f"lasts {each:.1f} s" for each in seconds))


METHOD = CurationMethod(judge, "shortest first", is_baseline=True)
