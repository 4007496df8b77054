"""Those first whose steps point the way of a few demonstrations that are trusted."""

from __future__ import annotations

import numpy as np

from corporeal.curation.method import CurationMethod, MethodRefusedError, MethodScores
from corporeal.curation.pool import DemonstrationPool


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """QoQ: the mean over steps of the largest cosine of its gradient with those of trusted ones."""
    del seed
    table = pool.gradients
    if table is None or table.trusted is None:
        raise MethodRefusedError("qoq, got no gradients of trusted demonstrations; expected a file "
                                 "with 'trusted' in it. Give it with --gradients.")  # fmt: skip
    rows, trusted = (
        each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12)
        for each in (table.demonstrations, table.trusted)
    )
    best = (rows @ trusted.T).max(axis=1)
    owners = np.array(table.episode)
    score, error = np.full(len(pool), np.nan), np.zeros(len(pool))
    for number, each in enumerate(pool.episodes):
        own = best[np.isin(owners, (each.id, each.source))]
        if len(own):
            score[number], error[number] = own.mean(), own.std() / np.sqrt(len(own))
    return MethodScores(score, error, tuple(
        "its steps are not in the table of gradients" if np.isnan(each) else
        f"its steps point {each:.2f} of the way of trusted ones" for each in score
    ))  # fmt: skip


METHOD = CurationMethod(judge, "steps like those of trusted ones",
                        needs="gradients of demonstrations, ten of them trusted")  # fmt: skip
