"""Control charts call what they should, as late and as wrongly as theory says."""

from __future__ import annotations

import numpy as np
import pytest
from bench.control_charts import (
    cusum_theory,
    estimated_target,
    ewma_theory,
    known_target,
)
from hypothesis import given
from hypothesis import strategies as st

from corporeal.catalog.database import CatalogError
from corporeal.operations.monitoring.control_chart import (
    ChartRules,
    ControlChart,
    Kind,
    Unjudged,
    chart,
    cusum,
    estimate_baseline,
    ewma,
    ewma_spread,
)

RNG_SEED = 4


def _chart(values: object, **options: object) -> ControlChart:
    made = chart(values, **options)  # type: ignore[arg-type]
    assert isinstance(made, ControlChart)
    return made


def _noise(count: int, level: float = 0.8, spread: float = 0.03) -> np.ndarray:
    return np.random.default_rng(RNG_SEED).normal(level, spread, count)


def test_ewma_and_cusum_follow_their_recursions() -> None:
    z = np.array([1.0, -2.0, 3.0])
    assert ewma(z, 0.2) == pytest.approx([0.2, -0.24, 0.408])
    high, low = cusum(z, 0.5, 5.0)
    assert high == pytest.approx([0.5, 0.0, 2.5])
    assert low == pytest.approx([0.0, -1.5, 0.0])
    assert ewma_spread(1, 0.2)[0] == pytest.approx(0.2)
    assert ewma_spread(500, 0.2)[-1] == pytest.approx((0.2 / 1.8) ** 0.5)


def test_the_theory_of_the_bench_gives_the_published_run_lengths() -> None:
    assert cusum_theory(0.5, 5, 0) == pytest.approx(465, abs=1)
    assert cusum_theory(0.5, 5, 1) == pytest.approx(10.4, abs=0.05)
    assert cusum_theory(0.5, 4, 0) == pytest.approx(168, abs=1)
    assert ewma_theory(0.2, 2.962, 0) == pytest.approx(500, abs=1)
    assert ewma_theory(0.2, 2.962, 1) == pytest.approx(10.5, abs=0.05)
    assert ewma_theory(0.2, 2.86, 0) == pytest.approx(370, abs=2)


@pytest.mark.slow
def test_simulated_run_lengths_agree_with_theory() -> None:
    for row in known_target(runs=500):
        if row["theory"] is not None:
            assert abs(row["mean"] - row["theory"]) < 4 * row["error"] + 0.05, row


@pytest.mark.slow
def test_a_reference_of_twenty_batches_gives_few_false_alarms_and_finds_shifts() -> None:
    found = estimated_target(120, cases=[("value", 20, 1), ("rate", 20, 40), ("count", 20, 40)])
    rows = {(row["kind"], row["reference"], row["shift"]): row for row in found}
    for kind in ("value", "rate", "count"):
        assert rows[kind, 20, 0.0]["within 20"] < 0.2, kind
        assert rows[kind, 20, 2.0]["mean"] < 7, kind


def test_a_series_in_order_is_not_called() -> None:
    assert not _chart(_noise(60)).signal.any()


@pytest.mark.parametrize("step", [0.25, -0.25])
def test_a_large_step_is_called_at_once_on_its_side(step: float) -> None:
    values = _noise(40)
    values[30:] += step
    made = _chart(values)
    assert not made.signal[:30].any()
    assert made.signal[30] == np.sign(step)
    assert made.change_point(32) in (29, 30)


def test_a_small_step_is_called_by_the_sums_before_shewhart() -> None:
    values = _noise(60)
    values[25:] += 0.045
    made = _chart(values)
    assert not made.out["shewhart"].any()
    assert made.out["cusum"][30:60].any()
    assert made.out["ewma"][30:60].any()


def test_a_departure_is_forgotten_soon_after_it_is_over() -> None:
    values = np.concatenate([_noise(30), np.full(30, 1.1), np.full(20, 0.8)])
    signal = _chart(values).signal
    assert signal[32:60].all()
    assert not signal[70:].any()


def test_one_batch_far_off_is_called_alone() -> None:
    values = _noise(40)
    values[25] = 5.0
    assert np.flatnonzero(_chart(values).signal).tolist() == [25]


def test_too_few_batches_cannot_tell() -> None:
    made = chart(_noise(7))
    assert isinstance(made, Unjudged)
    assert made.reason == "cannot tell: 7 batches to compare with; expected 8"


def test_too_few_episodes_cannot_tell() -> None:
    made = chart(np.ones(10), kind="rate", sizes=np.full(10, 2.0))
    assert isinstance(made, Unjudged)
    assert "20 episodes" in made.reason


def test_outliers_in_the_reference_do_not_widen_the_limits() -> None:
    values = _noise(40)
    clean = _chart(values).reference
    values[[3, 11]] = 0.1, 2.0
    spoilt = _chart(values).reference
    assert spoilt.left_out == 2
    assert spoilt.target == pytest.approx(clean.target, abs=0.01)
    assert spoilt.spread < 1.4 * clean.spread


def test_a_declared_reference_is_used_instead_of_the_first_batches() -> None:
    values = np.concatenate([np.full(15, 0.2) + _noise(15, 0, 0.01), _noise(30)])
    inside = np.arange(45) >= 15
    inside[35:] = False
    made = _chart(values, reference=inside)
    assert made.reference.target == pytest.approx(0.8, abs=0.03)
    assert made.begin == 35
    assert not made.signal.any()
    assert _chart(values, rules=ChartRules(first=15)).signal[15:].all()


def test_a_figure_that_never_varied_is_called_when_it_does() -> None:
    made = _chart(np.concatenate([np.zeros(20), [0.0, 0.0, 0.4]]))
    assert made.signal.tolist()[20:] == [0, 0, 1]


def test_limits_of_a_rate_are_wider_for_smaller_batches() -> None:
    sizes = np.where(np.arange(40) % 2, 20.0, 200.0)
    made = _chart(np.full(40, 0.9), kind="rate", sizes=sizes)
    assert made.lower[1] < made.lower[0] < 0.9
    assert (made.upper <= 1).all()


def test_the_same_rate_is_called_in_a_large_batch_and_not_in_a_small_one() -> None:
    rates, sizes = np.full(22, 0.9), np.full(22, 100.0)
    rates[20:], sizes[20] = 0.7, 10.0
    made = _chart(rates, kind="rate", sizes=sizes)
    assert made.out["shewhart"].tolist()[20:] == [0, -1]


def test_batches_that_scatter_more_than_chance_get_wider_limits() -> None:
    rng = np.random.default_rng(RNG_SEED)
    rates = rng.binomial(200, np.clip(rng.normal(0.8, 0.08, 40), 0, 1)) / 200
    made = _chart(rates, kind="rate", sizes=np.full(40, 200.0))
    assert made.reference.spread > 2
    assert not made.out["shewhart"].any()


def test_a_perfect_reference_calls_a_batch_of_failures() -> None:
    rates = np.concatenate([np.ones(20), [1.0, 0.5]])
    made = _chart(rates, kind="rate", sizes=np.full(22, 30.0))
    assert made.signal.tolist()[20:] == [0, -1]


@given(st.integers(1, 300), st.floats(0.01, 0.99), st.sampled_from(["rate", "count"]))
def test_a_point_is_outside_its_limits_exactly_when_it_is_called(
    size: int, target: float, kind: Kind
) -> None:
    counts = np.arange(size + 1, dtype=float)
    sizes = np.full(size + 1, float(size))
    known = estimate_baseline(np.full(20, target), kind, np.full(20, 500.0))
    assert not isinstance(known, str)
    lower, upper = known.limits(3.5, sizes)
    rates = counts / sizes
    outside = (rates < lower) | (rates > upper)
    assert (outside == (np.abs(known.standardise(rates, sizes)) > 3.5)).all()


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        ([1.0, float("nan")], {}, "finite"),
        ([0.5] * 20, {"kind": "rate"}, "no sizes"),
        ([1.5] * 20, {"kind": "rate", "sizes": [10] * 20}, "values of a rate"),
        ([0.5] * 20, {"kind": "rate", "sizes": [0] * 20}, "to have episodes"),
        ([0.5] * 20, {"sizes": [10] * 19}, "one for each"),
        ([0.5] * 20, {"reference": [True]}, "yes or no"),
    ],
)
def test_what_cannot_be_charted_is_refused(
    values: list[float], options: dict[str, object], words: str
) -> None:
    with pytest.raises(CatalogError, match=words):
        chart(values, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options", [{"ewma_weight": 0}, {"cusum_limit": -1}, {"first": 5, "least": 8}]
)
def test_rules_that_make_no_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(CatalogError, match="expected"):
        ChartRules(**options)  # type: ignore[arg-type]
