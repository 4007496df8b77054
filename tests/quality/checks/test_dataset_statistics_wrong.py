"""The statistics stated for the set are those of its episodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.quality.demonstrations import STATE, batch_of, demonstration

from corporeal.errors import NotAssessed
from corporeal.quality.batch import Batch
from corporeal.quality.checks.dataset_statistics_wrong import find

Array = NDArray[np.float64]
Claims = dict[str, Array]

EPISODES = tuple(demonstration(seed, motion_s=4.0 + seed) for seed in range(5))
PARTS = [np.asarray(each.signals[STATE][:]) for each in EPISODES]
SHARES = (1, 10, 50, 90, 99)


def _true() -> Claims:
    everything = np.concatenate(PARTS)
    claims = {
        "mean": everything.mean(axis=0),
        "std": everything.std(axis=0),
        "min": everything.min(axis=0),
        "max": everything.max(axis=0),
        "count": np.array([len(everything)], float),
    }
    return claims | {f"q{each:02d}": np.quantile(everything, each / 100, 0) for each in SHARES}


def _batch(claims: Claims, **facts: object) -> Batch:
    return batch_of(*EPISODES, statistics={STATE: claims}, facts=facts)


def test_passes_on_true_statistics() -> None:
    assert not list(find(_batch(_true(), total_episodes=5)))


def test_passes_on_quantiles_that_are_means_of_the_episodes() -> None:
    total = sum(map(len, PARTS))
    means = {
        f"q{each:02d}": sum(len(part) / total * np.quantile(part, each / 100, 0) for part in PARTS)
        for each in SHARES
    }
    assert not list(find(_batch(_true() | {key: np.asarray(each) for key, each in means.items()})))


@pytest.mark.parametrize(("statistic", "sign"), [("q01", -1), ("q99", 1)])
def test_a_quantile_half_a_deviation_beyond_all_episodes_is_found(
    statistic: str, sign: int
) -> None:
    claims = _true()
    claims[statistic] = claims[statistic] + sign * 0.5 * claims["std"]
    (finding,) = find(_batch(claims, total_episodes=5))
    assert finding.stream == STATE
    assert f"state {statistic} " in finding.message


@pytest.mark.parametrize(
    ("statistic", "change"),
    [
        ("mean", lambda claims: claims | {"mean": claims["mean"] * 1.01}),
        ("std", lambda claims: claims | {"std": claims["std"] * 1.05}),
        ("min", lambda claims: claims | {"min": claims["min"] - 0.01}),
        ("max", lambda claims: claims | {"max": claims["max"] + 0.01}),
        ("q01", lambda claims: claims | {"q01": claims["q90"]}),
        ("q99", lambda claims: claims | {"q99": claims["q10"]}),
        ("count", lambda claims: claims | {"count": claims["count"] - 470}),
    ],
)
def test_finds_the_statistic_that_is_wrong(
    statistic: str, change: Callable[[Claims], Claims]
) -> None:
    (found,) = find(_batch(change(_true())))
    assert found.stream == STATE
    assert statistic in found.message


def test_statistics_of_episodes_that_are_not_here_cannot_be_judged() -> None:
    with pytest.raises(NotAssessed, match="5 of the 100"):
        list(find(_batch(_true(), total_episodes=100)))
    with pytest.raises(NotAssessed, match="states no statistics"):
        list(find(batch_of(*EPISODES)))
