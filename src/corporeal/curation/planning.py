"""How success grows with environments: a power law with a floor, fitted to one's own evaluations.

The chance of failure in E environments is f(E) = c + (1 - c) A E^-alpha with a floor c, and k of n
trials succeed by a beta-binomial of 1 - f with correlation rho: trainings differ by more than their
trials do. A straight line through logarithms has neither the floor nor that spread, and promises
too much (`bench.planning`). The posterior is drawn by an ensemble of walkers (Goodman and Weare
2010); weak priors: c ~ Beta(1, 9), A uniform, alpha ~ N(0.5, 0.4) on (0, 2], rho ~ Beta(1, 20).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaln, expit, gammaln

from corporeal.errors import CorporealError
from corporeal.signal.track import Array

FEWEST_COUNTS, FEWEST_EACH, WIDEST = 4, 3, 4.0
_WALKERS, _WARM, _KEPT, _STRETCH = 48, 500, 700, 2.0
_LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class EvaluationCount:
    """One policy, trained on so many environments: how often it succeeded of how many trials."""

    environments: int
    successes: int
    trials: int


@dataclass(frozen=True)
class GrowthForecast:
    """Success at so many environments: the median, and the bounds that hold nine times of ten."""

    environments: int
    low: float
    middle: float
    high: float


@dataclass(frozen=True, eq=False)
class GrowthFit:
    """Draws of the law's parameters from what is known; `refusal` says why it promises nothing."""

    draws: Array
    """(N, 4): c, A, alpha, rho."""
    refusal: str = ""

    def forecast(self, environments: int) -> GrowthForecast:
        """Success at so many environments."""
        low, middle, high = np.quantile(self.success(environments), _LEVELS)
        return GrowthForecast(environments, float(low), float(middle), float(high))

    def success(self, environments: float) -> Array:
        """The success of every draw."""
        floor, scale, slope = self.draws[:, :3].T
        return np.asarray(1 - floor - (1 - floor) * scale * float(environments) ** -slope)

    def needed(self, target: float) -> tuple[float, float, float, float]:
        """Environments for this success, with bounds; last, the chance that none would be enough.

        Bounds are infinite where that chance is larger than what they leave out.
        """
        floor, scale, slope = self.draws[:, :3].T
        room = 1 - target - floor
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            count = np.where(
                room > 0, ((1 - floor) * scale / np.maximum(room, 1e-12)) ** (1 / slope), np.inf
            )
        low, middle, high = np.quantile(count, _LEVELS, method="inverted_cdf")
        return float(low), float(middle), float(high), float((room <= 0).mean())


def fit_growth(counts: Sequence[EvaluationCount], *, seed: int = 0) -> GrowthFit:
    """Fit the law; its `refusal` says what is missing where the data cannot carry a forecast."""
    _check(counts)
    draws = _sample(counts, np.random.default_rng(seed))
    return GrowthFit(draws, _refusal(counts, draws))


def _check(counts: Sequence[EvaluationCount]) -> None:
    for each in counts:
        if each.environments < 1 or not 0 <= each.successes <= each.trials or each.trials < 1:
            raise CorporealError(
                f"evaluation, got {each.successes} of {each.trials} in {each.environments} "
                "environments; expected successes up to the trials, and one environment or more."
            )
    if not counts:
        raise CorporealError("evaluations, got none; expected environments, successes and trials.")


def _refusal(counts: Sequence[EvaluationCount], draws: Array) -> str:
    every = [each.environments for each in counts]
    different = sorted(set(every))
    if len(different) < FEWEST_COUNTS:
        return (f"{len(different)} different numbers of environments; expected {FEWEST_COUNTS} or "
                "more. Train on parts of what there is.")  # fmt: skip
    thin = [number for number in different if every.count(number) < FEWEST_EACH]
    if thin:
        return (f"fewer than {FEWEST_EACH} trainings with {thin[0]} environments; expected "
                f"{FEWEST_EACH} or more of each, since trainings differ.")  # fmt: skip
    low, high = np.quantile(draws[:, 2], (_LEVELS[0], _LEVELS[-1]))
    if high / max(low, 1e-6) > WIDEST:
        return (f"the slope is anything from {low:.2f} to {high:.2f}; expected it within a factor "
                f"of {WIDEST:g}. Evaluate with more trials, or further apart.")  # fmt: skip
    return ""


def _sample(counts: Sequence[EvaluationCount], draw: np.random.Generator) -> Array:
    """Draws (N, 4) by stretch moves of half the walkers beside the other half."""
    data = np.array([(each.environments, each.successes, each.trials) for each in counts], float)
    walkers = draw.normal(size=(_WALKERS, 4)) * (0.5, 0.7, 0.2, 0.7) + (-2.5, 0.5, 0.6, -3.0)
    walkers[:, 2] = np.clip(walkers[:, 2], 0.05, 1.9)
    value = _density(walkers, data)
    kept = []
    half = _WALKERS // 2
    for step in range(_WARM + _KEPT):
        for part, other in (
            (slice(0, half), slice(half, None)),
            (slice(half, None), slice(0, half)),
        ):
            reach = (1 + draw.random(half) * (_STRETCH - 1)) ** 2 / _STRETCH
            partners = walkers[other][draw.integers(half, size=half)]
            moved = partners + reach[:, None] * (walkers[part] - partners)
            new = _density(moved, data)
            taken = np.log(draw.random(half)) < 3 * np.log(reach) + new - value[part]
            walkers[part] = np.where(taken[:, None], moved, walkers[part])
            value[part] = np.where(taken, new, value[part])
        if step >= _WARM and step % 5 == 0:
            kept.append(walkers.copy())
    raw = np.concatenate(kept)
    return np.column_stack([expit(raw[:, 0]), expit(raw[:, 1]), raw[:, 2], expit(raw[:, 3])])


def _density(raw: Array, data: Array) -> Array:
    """The log posterior of walkers (W, 4), their shares on the scale of their odds."""
    floor, scale, slope, spread = expit(raw[:, 0]), expit(raw[:, 1]), raw[:, 2], expit(raw[:, 3])
    inside = (slope > 0) & (slope <= 2) & (np.abs(raw[:, (0, 1, 3)]) < 12).all(axis=1)
    safe = np.where(inside, slope, 1.0)
    environments, good, trials = data.T
    fail = floor[:, None] + (1 - floor)[:, None] * scale[:, None] * environments ** -safe[:, None]
    success = np.clip(1 - fail, 1e-9, 1 - 1e-9)
    weight = ((1 - spread) / np.maximum(spread, 1e-9))[:, None]
    a, b = success * weight, (1 - success) * weight
    choose = gammaln(trials + 1) - gammaln(good + 1) - gammaln(trials - good + 1)
    known = (choose + betaln(good + a, trials - good + b) - betaln(a, b)).sum(axis=1)
    # Priors times the slope of the change to odds: x (1 - x).
    prior = (
        8 * np.log1p(-floor) + np.log(floor * (1 - floor)) + np.log(scale * (1 - scale))
        - 0.5 * ((slope - 0.5) / 0.4) ** 2 + 19 * np.log1p(-spread) + np.log(spread * (1 - spread))
    )  # fmt: skip
    return np.where(inside, known + prior, -np.inf)


def best_purchase(
    fit: GrowthFit, environments: int, *, environment_cost: float, count: int = 1
) -> dict[str, Any]:
    """What so many more environments would add, per unit of cost, and how sure that is."""
    gain = fit.success(environments + count) - fit.success(environments)
    cost = environment_cost * count
    low, middle, high = np.quantile(gain, _LEVELS)
    return {
        "environments": count, "cost": cost, "gain": float(middle), "gain_low": float(low),
        "gain_high": float(high), "gain_per_cost": float(middle) / cost if cost else None,
    }  # fmt: skip
