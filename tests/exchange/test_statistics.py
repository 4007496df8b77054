"""Statistics equal what numpy says of all values at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from corporeal.errors import EpisodeError
from corporeal.exchange import statistics
from corporeal.exchange.statistics import (
    QUANTILES,
    ColumnMoments,
    Summary,
    summarise,
    summarise_blocks,
    summarise_histogram,
)

NAMES = ("q01", "q10", "q50", "q90", "q99")
finite = st.floats(-1e6, 1e6, width=32)
columns = arrays(np.float32, array_shapes(min_dims=1, max_dims=3, max_side=12), elements=finite)
gappy = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=9),
    elements=st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))),
)
counts_of = arrays(np.int64, (3, 256), elements=st.integers(0, 3), fill=st.just(0)).filter(
    lambda counts: bool(counts.sum(axis=1).all())
)


def agrees(summary: Summary, values: NDArray[Any], *, rel: float = 1e-12) -> None:
    """Compare with numpy, entry by entry, over the first axis."""
    flat = np.asarray(values, np.float64)
    scale = 1e-12 * max(1.0, float(np.abs(flat).max(initial=0.0)))
    wanted = {
        "min": flat.min(axis=0),
        "max": flat.max(axis=0),
        "mean": flat.mean(axis=0),
        "std": flat.std(axis=0),
    }
    for name, value in wanted.items():
        got = summary[name]
        assert got.shape == value.shape
        np.testing.assert_allclose(
            got, value, rtol=rel, atol=1e4 * scale if name == "std" else scale
        )
    for name, value in zip(NAMES, np.quantile(flat, QUANTILES, axis=0), strict=True):
        np.testing.assert_allclose(summary[name], value, rtol=rel, atol=scale)


@given(columns)
def test_a_column_is_summed_up_as_numpy_does(values: NDArray[np.float32]) -> None:
    summary = summarise(values)
    agrees(summary, values)


@given(gappy)
def test_what_is_not_a_number_is_left_out(values: NDArray[np.float64]) -> None:
    summary = summarise(values)
    for entry, column in enumerate(values.T):
        numbers = column[~np.isnan(column)]
        found = [values[entry] for values in summary.values()]
        if not len(numbers):
            assert np.isnan(found).all()
            continue
        wanted = [numbers.min(), numbers.max(), numbers.mean(), numbers.std()]
        np.testing.assert_allclose(
            found, [*wanted, *np.quantile(numbers, QUANTILES)], rtol=1e-9, atol=1e-6
        )


def test_a_small_spread_far_from_zero_is_kept() -> None:
    values = 1e9 + np.random.default_rng(0).normal(0, 1e-3, (5000, 2))
    exact = [float(np.std(column - 1e9)) for column in values.T]
    assert summarise(values)["std"] == pytest.approx(exact, rel=1e-6)
    blocks = np.split(values, 50)
    assert summarise_blocks(blocks, (2,))["std"] == pytest.approx(exact, rel=1e-3)


def test_infinite_values_neither_warn_nor_hide() -> None:
    summary = summarise(np.array([[1.0, 2.0], [np.inf, 3.0]]))
    assert summary["max"].tolist() == [np.inf, 3.0]
    assert (summary["mean"][1], summary["std"][1]) == (2.5, 0.5)


def test_truth_values_and_whole_numbers_are_numbers() -> None:
    assert summarise(np.array([True, False]))["mean"] == 0.5
    assert summarise(np.arange(5, dtype=np.int64))["q50"] == 2.0


@pytest.mark.parametrize("of", [summarise, lambda values: summarise_blocks([values], (2,))])
def test_no_rows_is_an_error(of: Any) -> None:
    with pytest.raises(EpisodeError, match="no rows"):
        of(np.zeros((0, 2)))


@settings(max_examples=40, deadline=None)
@given(values=columns, spill=st.integers(1, 6), data=st.data())
def test_blocks_say_the_same_however_they_are_cut(
    values: NDArray[np.float32], spill: int, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=5)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "_SPILL_VALUES", spill * math.prod(values.shape[1:]))
        summary = summarise_blocks(iter(np.split(values, cuts)), values.shape[1:])
    agrees(summary, values)


@given(gappy, st.integers(0, 9))
def test_moments_merge(values: NDArray[np.float64], cut: int) -> None:
    merged, whole = (
        ColumnMoments.of(values[:cut]) + ColumnMoments.of(values[cut:]),
        ColumnMoments.of(values),
    )
    assert np.array_equal(merged.count, whole.count)
    assert np.array_equal(merged.min, whole.min)
    assert np.array_equal(merged.max, whole.max)
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(merged.std, whole.std, rtol=1e-9, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(counts_of)
def test_counts_of_levels_stand_for_every_pixel(counts: NDArray[np.int64]) -> None:
    summary = summarise_histogram(counts)
    for channel, often in enumerate(counts):
        pixels = np.repeat(np.arange(256), often) / 255
        found = [summary["min"], summary["max"], summary["mean"], summary["std"]]
        found += [summary[name] for name in NAMES]
        assert all(each.shape == (3, 1, 1) for each in found)
        wanted = [pixels.min(), pixels.max(), pixels.mean(), pixels.std()]
        wanted += np.quantile(pixels, QUANTILES).tolist()
        np.testing.assert_allclose([each[channel, 0, 0] for each in found], wanted, atol=1e-12)


def test_a_histogram_of_a_whole_dataset_does_not_overflow() -> None:
    counts = np.zeros((3, 256), np.int64)
    counts[:, [0, 255]] = 1 << 50
    summary = summarise_histogram(counts)
    assert summary["mean"].ravel().tolist() == [0.5] * 3
    assert summary["std"].ravel().tolist() == [0.5] * 3


@pytest.mark.parametrize("counts", [np.zeros((3, 256), np.int64), np.ones((1, 256), np.int64)])
def test_counts_without_pixels_are_an_error(counts: NDArray[np.int64]) -> None:
    with pytest.raises(EpisodeError, match="three channels"):
        summarise_histogram(counts)


def test_statistics_stand_in_the_order_of_lerobot() -> None:
    scalar = summarise(np.arange(3.0))
    assert scalar["mean"] == 1.0
    assert tuple(scalar) == ("min", "max", "mean", "std", *NAMES)
    assert summarise(np.arange(6.0).reshape(3, 2))["q50"].tolist() == [2.0, 3.0]
    image = summarise_histogram(np.ones((3, 256), np.int64))
    assert image["max"].shape == (3, 1, 1)
