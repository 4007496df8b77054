"""The statistics stated for an episode are those of its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.quality.demonstrations import STATE, demonstration, edited, rows

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.episode_statistics_wrong import find

Array = NDArray[np.float64]
Claims = dict[str, Array]


def _true(values: Array) -> Claims:
    claims = {
        "mean": values.mean(axis=0),
        "std": values.std(axis=0),
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "count": np.array([len(values)], float),
    }
    shares = (1, 10, 50, 90, 99)
    return claims | {f"q{each:02d}": np.quantile(values, each / 100, axis=0) for each in shares}


def _subject(change: Callable[[Claims], Claims]) -> Subject:
    good = demonstration()
    values = np.asarray(good.signals[STATE][:])
    return Subject(replace(good, claims={STATE: change(_true(values))}))


def test_passes_on_true_statistics() -> None:
    assert not list(find(_subject(lambda claims: claims)))


def test_passes_on_statistics_made_in_single_precision_or_divided_by_one_less() -> None:
    values = np.asarray(demonstration().signals[STATE][:])
    single = {key: np.float32(value).astype(float) for key, value in _true(values).items()}
    assert not list(find(_subject(lambda _: single)))
    assert not list(find(_subject(lambda claims: claims | {"std": values.std(axis=0, ddof=1)})))


def test_passes_where_a_constant_column_got_a_little_spread_from_cancellation() -> None:
    still = rows(demonstration(), np.zeros(300, np.int64))
    constant = np.full((300, 8), 1.7452)
    claims = _true(constant) | {"std": np.full(8, 0.0035)}
    assert not list(find(Subject(replace(edited(still, STATE, constant), claims={STATE: claims}))))


@pytest.mark.parametrize(
    ("statistic", "change"),
    [
        ("mean", lambda claims: claims | {"mean": claims["mean"] * 1.01}),
        ("std", lambda claims: claims | {"std": claims["std"] * 1.05}),
        ("min", lambda claims: claims | {"min": claims["min"] - 0.01}),
        ("max", lambda claims: claims | {"max": claims["max"] * 0.98}),
        ("q01", lambda claims: claims | {"q01": claims["q99"]}),
        ("q99", lambda claims: claims | {"q99": claims["q50"]}),
        ("count", lambda claims: claims | {"count": claims["count"] + 1}),
    ],
)
def test_finds_the_statistic_that_is_wrong(
    statistic: str, change: Callable[[Claims], Claims]
) -> None:
    (found,) = find(_subject(change))
    assert found.stream == STATE
    assert statistic in found.message


def test_statistics_of_other_data_are_one_finding_of_a_stream() -> None:
    def spoil(claims: Claims) -> Claims:
        return claims | {name: claims[name] * 1.2 for name in ("mean", "std", "max")}

    (found,) = find(_subject(spoil))
    assert "state mean" in found.message
    assert "; std and max are wrong as well" in found.message


def test_names_the_column() -> None:
    def spoil(claims: Claims) -> Claims:
        mean = claims["mean"].copy()
        mean[3] += 0.02
        return claims | {"mean": mean}

    (found,) = find(_subject(spoil))
    assert "left_elbow_joint" in found.message


def test_finds_statistics_of_another_width() -> None:
    (found,) = find(_subject(lambda claims: claims | {"mean": np.zeros(5)}))
    assert "width of mean of 5" in found.message


def test_without_claims_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(find(Subject(demonstration())))
