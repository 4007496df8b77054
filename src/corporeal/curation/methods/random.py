"""By chance: what every method has to beat."""

from __future__ import annotations

from corporeal.curation.chance import chances
from corporeal.curation.method import CurationMethod, MethodScores, certain
from corporeal.curation.pool import DemonstrationPool


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """An order that the content of each demonstration and the seed give, whatever its name."""
    return certain(chances(pool, seed), ("by chance",) * len(pool))


METHOD = CurationMethod(judge, "by chance", is_baseline=True)
