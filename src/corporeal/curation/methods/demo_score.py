"""Those first that look like rollouts which succeed, told by a classifier of single states."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import expit

from corporeal.curation.method import CurationMethod, MethodRefusedError, MethodScores
from corporeal.curation.pool import Demonstration, DemonstrationPool
from corporeal.signal.track import Array

_FEWEST, _AXES, _WAVES, _STIFFNESS = 15, 12, 128, 1e-2
_MOST_STEPS = 40_000


def judge(pool: DemonstrationPool, seed: int) -> MethodScores:
    """Demo-SCORE (Chen et al. 2025): the mean chance of success of a demonstration's states.

    A classifier learns from single states of rollouts with known outcomes, both outcomes weighed
    alike: a logistic regression on 128 random waves of 12 principal axes, where the paper trains a
    small network. Two are learnt, each from half the rollouts, and what they differ by is the
    uncertainty. It cannot see a fault that does not change which states are visited.
    """
    good = [each for each in pool.rollouts if each.success is True]
    bad = [each for each in pool.rollouts if each.success is False]
    if len(good) < _FEWEST or len(bad) < _FEWEST:
        raise MethodRefusedError(
            f"demo_score, got {len(good)} rollouts that succeeded and {len(bad)} that failed; "
            f"expected {_FEWEST} or more of each. Roll a policy out, and give them with --rollouts."
        )
    width = pool.episodes[0].state.shape[1]
    if any(each.state.shape[1] != width for each in (*good, *bad)):
        raise MethodRefusedError(
            f"demo_score, got rollouts whose state has not the {width} columns of the "
            "demonstrations; expected the same streams of the same robot."
        )
    draw = np.random.default_rng(seed)
    features = _Waves(pool.states, pool, draw)
    halves = [(good[n::2], bad[n::2]) for n in (0, 1)]
    weights = [_learn(features, *half) for half in halves]
    chances = [[_chance(features, each.state, w) for each in pool.episodes] for w in weights]
    first, second = map(np.array, chances)
    score = (first + second) / 2
    held_out = [
        _chance(features, each.state, weights[n])
        for n in (0, 1) for each in (*halves[1 - n][0], *halves[1 - n][1])
    ]  # fmt: skip
    return MethodScores(
        score, np.abs(first - second) / 2,
        tuple(f"its states are those of rollouts that succeed in {each:.0%}" for each in score),
        figures={"mean of rollouts that were not learnt from": float(np.mean(held_out))},
    )  # fmt: skip


class _Waves:
    """States as cosines of random directions, which a linear model bends (random features)."""

    def __init__(self, states: Array, pool: DemonstrationPool, draw: np.random.Generator) -> None:
        raw = np.concatenate([each.state for each in pool.episodes]).astype(np.float64)
        self._mean, spread = raw.mean(axis=0), raw.std(axis=0)
        self._scale = np.where(spread > 1e-6, spread, np.inf)
        moments, axes = np.linalg.eigh(states.T @ states / len(states))
        order = np.argsort(moments)[::-1][:_AXES]
        self._axes = axes[:, order] / np.sqrt(np.maximum(moments[order], 1e-9))
        self._waves = draw.normal(size=(len(order), _WAVES)) / np.sqrt(len(order))
        self._phases = draw.uniform(0, 2 * np.pi, _WAVES)

    def __call__(self, states: NDArray[np.floating[Any]]) -> Array:
        flat = (np.asarray(states, np.float64) - self._mean) / self._scale @ self._axes
        waves = np.cos(flat @ self._waves + self._phases)
        return np.column_stack([waves, np.ones(len(flat))])


def _learn(features: _Waves, good: list[Demonstration], bad: list[Demonstration]) -> Array:
    rows = [features(each.state) for each in (*good, *bad)]
    x = np.concatenate(rows)
    y = np.concatenate([np.full(len(row), n < len(good)) for n, row in enumerate(rows)])
    # Every rollout counts alike, and so do both outcomes: failures run to the time limit.
    weight = np.concatenate([np.full(len(row), 1 / len(row)) for row in rows])
    for outcome in (True, False):
        weight[y == outcome] /= weight[y == outcome].sum()
    step = max(1, len(x) // _MOST_STEPS)
    x, y, weight = x[::step], y[::step], weight[::step]

    def cost(flat: Array) -> tuple[float, Array]:
        chance = expit(x @ flat)
        known = np.where(y, chance, 1 - chance)
        value = -(weight * np.log(np.maximum(known, 1e-12))).sum() + _STIFFNESS * flat @ flat
        return float(value), x.T @ (weight * (chance - y)) + 2 * _STIFFNESS * flat

    return np.asarray(scipy.optimize.minimize(
        cost, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 300}
    ).x)  # fmt: skip


def _chance(features: _Waves, states: NDArray[np.floating[Any]], weights: Array) -> float:
    return float(expit(features(states) @ weights).mean())


METHOD = CurationMethod(judge, "states of rollouts that succeed",
                        needs="rollouts with outcomes, 15 or more of each")  # fmt: skip
