"""Only what succeeded, then by chance."""

from __future__ import annotations

from corporeal.curation.chance import chances
from corporeal.curation.method import CurationMethod, MethodRefusedError, MethodScores, certain
from corporeal.curation.pool import DemonstrationPool


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """Successes in an order that their content and the seed give; whoever failed comes last."""
    known = [each.success for each in pool.episodes]
    if all(each is None for each in known):
        raise MethodRefusedError("success, got no episode that says its outcome; expected some. "
                                 "Label the outcomes, or choose by another method.")  # fmt: skip
    rank = chances(pool, seed) + [1.0 if each else 0.0 for each in known]
    words = {True: "succeeded", False: "failed", None: "outcome not known"}
    return certain(rank, tuple(words[each] for each in known))


METHOD = CurationMethod(judge, "successes, by chance", needs="outcomes", is_baseline=True)
