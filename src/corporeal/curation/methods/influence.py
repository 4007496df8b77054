"""Those first that a policy's successes owe most to (CUPID)."""

from __future__ import annotations

import numpy as np

from corporeal.curation.gradients import GradientTable, influence
from corporeal.curation.method import CurationMethod, MethodRefusedError, MethodScores
from corporeal.curation.pool import DemonstrationPool
from corporeal.signal.track import Array

_FEWEST = 30
_DRAWS = 200


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """CUPID (Agia et al. 2025): what rollouts that succeed owe to it, less what failures owe.

    The mean over steps of both, where the paper sums: failures run to the time limit, and long
    demonstrations would count for their length. The uncertainty is over redrawn rollouts.
    """
    table = pool.gradients
    if table is None or table.rollouts is None:
        raise MethodRefusedError("influence, got no gradients of rollouts; expected a file with "
                                 "them. Write one in your training, and give it with "
                                 "--gradients.")  # fmt: skip
    success = table.success
    if success is None or min(success.sum(), (~success).sum()) < _FEWEST:
        good = 0 if success is None else int(success.sum())
        total = 0 if success is None else len(success)
        raise MethodRefusedError(f"influence, got {good} rollouts that succeeded of {total}; "
                                 f"expected {_FEWEST} or more of either outcome.")  # fmt: skip
    owed = _by_rollout(pool, table)
    score = owed[success].mean(axis=0) - owed[~success].mean(axis=0)
    draw = np.random.default_rng(seed)
    draws = np.array([_redrawn(owed[success], draw) - _redrawn(owed[~success], draw)
                      for _ in range(_DRAWS)])  # fmt: skip
    return MethodScores(score, draws.std(axis=0), tuple(
        "its steps are not in the table of gradients" if np.isnan(each) else
        f"successes owe it {'more' if each > 0 else 'less'} than failures do ({each:+.2g})"
        for each in score
    ))  # fmt: skip


def _by_rollout(pool: DemonstrationPool, table: GradientTable) -> Array:
    """What every rollout owes to every demonstration (R, N): the mean over steps of both."""
    steps = influence(table)
    owners = np.array(table.episode)
    columns = [np.isin(owners, (each.id, each.source)) for each in pool.episodes]
    to_each = np.stack([
        steps[:, own].mean(axis=1) if own.any() else np.full(len(steps), np.nan) for own in columns
    ], axis=1)  # fmt: skip
    numbers = np.asarray(table.rollout, np.int64)
    count = len(np.asarray(table.success))
    sums = np.zeros((count, len(pool)))
    np.add.at(sums, numbers, to_each)
    return sums / np.maximum(np.bincount(numbers, minlength=count), 1)[:, None]


def _redrawn(rows: Array, draw: np.random.Generator) -> Array:
    return np.asarray(rows[draw.integers(len(rows), size=len(rows))].mean(axis=0))


METHOD = CurationMethod(judge, "what successes owe to it",
                        needs="gradients of demonstrations and of 60 rollouts")  # fmt: skip
