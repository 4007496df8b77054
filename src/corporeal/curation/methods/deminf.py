"""Those first whose actions follow from their states: mutual information, step by step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from corporeal.curation.method import CurationMethod, MethodRefusedError, MethodScores
from corporeal.curation.pool import DemonstrationPool, reduce, standardise
from corporeal.signal.track import Array

_STATE_AXES, _ACTION_AXES, _CHUNK = 12, 6, 4
_BATCH, _PASSES, _NEIGHBOURS = 1024, 4, (5, 6, 7)
_FEWEST_STEPS = 500
_CLIP = (1.0, 99.0)


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """DemInf (Hejna et al. 2025): the KSG estimate of how much an action says of its state.

    States and chunks of four actions are put on their principal axes (12 and 6), where the paper
    trains an auto-encoder. Steps without a whole chunk are left out. Batches of 1,024 steps in an
    order that the seed draws, each step in four of them, with the fifth to seventh neighbour.
    """
    steps = _whole_chunks(pool)
    if len(steps) < _FEWEST_STEPS:
        raise MethodRefusedError(f"deminf, got {len(steps)} steps; expected {_FEWEST_STEPS} or "
                                 "more. Give it more demonstrations.")  # fmt: skip
    states = standardise(reduce(pool.states[steps], _STATE_AXES))
    chunks = np.concatenate([pool.actions[steps + ahead] for ahead in range(_CHUNK)], axis=1)
    actions = standardise(reduce(chunks, _ACTION_AXES))
    information = _information(states, actions, np.random.default_rng(seed))
    low, high = np.percentile(information, _CLIP)
    clipped = np.clip(information, low, high)
    clipped = (clipped - clipped.mean()) / max(float(clipped.std()), 1e-9)
    owner = pool.owner[steps]
    score, error = np.full(len(pool), np.nan), np.zeros(len(pool))
    for number in range(len(pool)):
        own = clipped[owner == number]
        if len(own):
            score[number], error[number] = own.mean(), own.std() / np.sqrt(len(own))
    return MethodScores(score, error, tuple(
        "too short" if np.isnan(each) else
        f"its actions follow its states {each:+.2f} spreads from the mean" for each in score
    ))  # fmt: skip


def _whole_chunks(pool: DemonstrationPool) -> NDArray[np.int64]:
    """Steps that have a whole chunk of actions before their demonstration ends."""
    owner = pool.owner
    steps = np.arange(len(owner) - _CHUNK + 1)
    return np.asarray(steps[owner[steps] == owner[steps + _CHUNK - 1]])


def _information(states: Array, actions: Array, draw: np.random.Generator) -> Array:
    """KSG (Kraskov et al. 2004, the first estimator) for every step, in nats up to a constant."""
    total, counts = np.zeros(len(states)), np.zeros(len(states))
    batch = min(_BATCH, len(states))
    for _ in range(_PASSES):
        order = draw.permutation(len(states))
        for first in range(0, len(states), batch):
            rows = order[first : first + batch]
            if len(rows) <= max(_NEIGHBOURS):
                continue
            total[rows] += information_of(states[rows], actions[rows])
            counts[rows] += 1
    return np.asarray(total / np.maximum(counts, 1))


def information_of(states: Array, actions: Array) -> Array:
    """What each step of one batch adds: minus the mean over k of psi(n_s + 1) + psi(n_a + 1)."""
    apart_s, apart_a = _apart(states), _apart(actions)
    both = np.sort(np.maximum(apart_s, apart_a), axis=1)
    result = np.zeros(len(states))
    for k in _NEIGHBOURS:
        radius = both[:, k - 1 : k]
        near_s = (apart_s < radius).sum(axis=1)
        near_a = (apart_a < radius).sum(axis=1)
        result -= digamma(near_s + 1) + digamma(near_a + 1)
    return np.asarray(result / len(_NEIGHBOURS))


def _apart(rows: Array) -> Array:
    squares = (rows**2).sum(axis=1)
    apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0))
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart)


METHOD = CurationMethod(judge, "actions that follow from states")
