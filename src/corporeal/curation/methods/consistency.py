"""Those first that do in like states what the others do."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.curation.method import CurationMethod, MethodRefusedError, MethodScores
from corporeal.curation.pool import DemonstrationPool, reduce
from corporeal.signal.track import Array

_NEIGHBOURS, _AXES, _MOST_STEPS, _FEWEST = 10, 12, 60_000, 5


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """How far an action is from those of the nearest states of other demonstrations of the task.

    Of the ten nearest the half whose actions are nearer counts, so that a second good way is no
    fault; distances are over their median within the task. Of more than 60,000 steps some are
    left out evenly.
    """
    del seed
    if len(pool) < _FEWEST:
        raise MethodRefusedError(f"consistency, got {len(pool)} demonstrations; expected "
                                 f"{_FEWEST} or more to compare.")  # fmt: skip
    step = max(1, len(pool.owner) // _MOST_STEPS)
    rows = np.arange(0, len(pool.owner), step)
    states, actions = reduce(pool.states, _AXES)[rows], pool.actions[rows]
    owner, task = pool.owner[rows], pool.tasks[pool.owner[rows]]
    distance = np.full(len(rows), np.nan)
    for each in np.unique(task):
        inside = np.flatnonzero(task == each)
        distance[inside] = _distances(states[inside], actions[inside], owner[inside])
    means = np.array([_mean(distance[owner == number]) for number in range(len(pool))])
    errors = np.array([_error(distance[owner == number]) for number in range(len(pool))])
    return MethodScores(-means, errors, tuple(
        "no other demonstration of its task" if np.isnan(mean) else
        f"{mean:.2f} times the usual distance from what others do" for mean in means
    ))  # fmt: skip


def _distances(states: Array, actions: Array, owner: NDArray[np.int64]) -> Array:
    if len(np.unique(owner)) < 2:
        return np.full(len(states), np.nan)
    # Neighbours of the same demonstration are left out, so more are asked for.
    count = min(len(states), _NEIGHBOURS * 4)
    _, nearest = scipy.spatial.cKDTree(states).query(states, k=count)
    result = np.full(len(states), np.nan)
    for row in range(len(states)):
        others = nearest[row][owner[nearest[row]] != owner[row]][:_NEIGHBOURS]
        if len(others) >= 3:
            away = np.linalg.norm(actions[others] - actions[row], axis=1)
            # Near the half that is nearer: two ways of doing it are both good.
            result[row] = np.sort(away)[: (len(away) + 1) // 2].mean()
    usual = np.nanmedian(result)
    return result / usual if usual > 0 else result


def _mean(values: Array) -> float:
    good = values[np.isfinite(values)]
    return float(good.mean()) if len(good) else np.nan


def _error(values: Array) -> float:
    good = values[np.isfinite(values)]
    return float(good.std() / np.sqrt(len(good))) if len(good) > 1 else 0.0


METHOD = CurationMethod(judge, "what others do in like states")
