"""An envelope keeps every extreme, shows every hole, and takes little memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from corporeal.studio.plotting.byte_cache import ByteCache
from corporeal.studio.plotting.pyramid import (
    MOST_BYTES,
    Blocks,
    block_size,
    build,
    from_samples,
    merge,
    read_blocks,
)
from corporeal.studio.plotting.samples import SampleStamps, read_stamps

PERIOD_NS = 10_000_000


def steady(samples: int) -> SampleStamps:
    return read_stamps(np.arange(samples, dtype=np.int64) * PERIOD_NS, 100.0)


def blocks_of(values: np.ndarray, stamps: SampleStamps) -> Blocks:
    return from_samples(stamps.time_ns, values, stamps.gaps(0, len(stamps)))


@given(
    values=arrays(
        np.float64,
        st.tuples(st.integers(1, 200), st.integers(1, 4)),
        elements=st.floats(width=32, allow_infinity=True, allow_nan=True),
    ),
    per=st.integers(1, 40),
    holes=st.sets(st.integers(1, 199), max_size=12),
)
def test_every_run_holds_the_extremes_of_its_own_samples_exactly(
    values: Any, per: int, holes: Any
) -> None:
    waits = np.full(len(values), PERIOD_NS)
    waits[[hole for hole in holes if hole < len(values)]] *= 5
    stamps = read_stamps(np.cumsum(waits), 100.0)
    merged = merge(blocks_of(values, stamps), per, most_breaks=len(values))
    covered = 0
    for number in range(len(merged)):
        first = int(np.searchsorted(stamps.time_ns, merged.start_ns[number]))
        stop = int(np.searchsorted(stamps.time_ns, merged.end_ns[number], side="right"))
        assert first == covered
        covered = stop
        run = values[first:stop]
        np.testing.assert_array_equal(merged.low[number], np.fmin.reduce(run, axis=0))
        np.testing.assert_array_equal(merged.high[number], np.fmax.reduce(run, axis=0))
        np.testing.assert_array_equal(merged.has_nan[number], np.isnan(run).any(axis=0))
    assert covered == len(values)


def test_a_run_never_reaches_over_a_gap() -> None:
    time_ns = np.concatenate([np.arange(50), np.arange(150, 200)]) * PERIOD_NS
    stamps = read_stamps(time_ns.astype(np.int64), 100.0)
    merged = merge(blocks_of(np.zeros((100, 1)), stamps), 32, most_breaks=10)
    after = np.flatnonzero(merged.gap_ns)
    assert merged.start_ns[after].tolist() == [150 * PERIOD_NS]
    assert merged.end_ns[after - 1].tolist() == [49 * PERIOD_NS]


def test_the_longest_gaps_are_kept_when_there_are_too_many() -> None:
    waits = np.full(64, 2 * PERIOD_NS)
    waits[::2] = PERIOD_NS
    waits[33] = 40 * PERIOD_NS
    stamps = SampleStamps(np.cumsum(waits), 0, 0, round(1.5 * PERIOD_NS))
    merged = merge(blocks_of(np.zeros((64, 1)), stamps), 16, most_breaks=1)
    assert merged.gap_ns.max() == 40 * PERIOD_NS
    assert len(merged) == 5


@pytest.mark.parametrize("samples", [0, 1])
def test_nothing_and_one_sample_pass_through(samples: int) -> None:
    merged = merge(blocks_of(np.ones((samples, 2)), steady(samples)), 8, most_breaks=1)
    assert len(merged) == samples


def test_a_stream_without_samples_is_read_as_nothing() -> None:
    found = read_blocks(steady(0), lambda *_: np.zeros((0, 3)), (0, 0), per=1, rows=100)
    assert found.low.shape == (0, 3)


def test_a_stream_slower_than_it_says_is_not_all_gaps() -> None:
    stamps = read_stamps(np.arange(100, dtype=np.int64) * 2 * PERIOD_NS, 100.0)
    assert not stamps.gaps(0, 100).any()


def test_events_without_a_rate_have_no_gaps() -> None:
    stamps = read_stamps(np.array([0, 1, 10**10], np.int64), None)
    assert not stamps.gaps(0, 3).any()


def test_a_clock_that_goes_backwards_is_counted_and_can_be_searched() -> None:
    given_ns = np.array([0, 10, 20, 5, 8, 30, 30], np.int64)
    stamps = read_stamps(given_ns, None)
    assert stamps.time_ns.tolist() == [0, 10, 20, 20, 20, 30, 30]
    assert (stamps.backward, stamps.repeated) == (2, 1)
    assert stamps.last_before(25) == 4
    assert stamps.last_before(-1) == -1


def test_a_pyramid_agrees_with_the_samples_at_every_level() -> None:
    values = np.random.default_rng(0).normal(size=(400_000, 2)).astype(np.float32)
    values[1000, 0] = 99
    values[70_000:70_200, 1] = np.nan
    stamps = steady(len(values))
    pyramid = build(stamps, lambda first, stop: values[first:stop], columns=2, itemsize=4,
                    rows=50_000)  # fmt: skip
    assert len(pyramid.levels) > 1
    for level in pyramid.levels:
        assert level.high[:, 0].max() == 99
        assert level.low[:, 1][~np.isnan(level.low[:, 1])].min() == np.nanmin(values[:, 1])
        assert level.has_nan[:, 1].any()
        assert not level.has_nan[:, 0].any()
    level, first, stop = pyramid.level(0, 2000 * PERIOD_NS, 10)
    assert level.part(first, stop).high[:, 0].max() == 99


def test_the_finest_level_of_ten_hours_keeps_within_its_bytes() -> None:
    samples, columns = 36_000_000, 29
    block = block_size(samples, columns, 4)
    assert samples / block * columns * 9 <= MOST_BYTES
    assert block <= 1024


def test_a_cache_keeps_the_latest_within_its_bytes_and_makes_each_once() -> None:
    made = []

    def make(name: str) -> np.ndarray:
        made.append(name)
        return np.zeros(40, np.uint8)

    cache: ByteCache[np.ndarray] = ByteCache(100)
    for name in ("a", "b", "a", "c", "a", "b"):
        cache.get(name, partial(make, name))
    assert made == ["a", "b", "c", "b"]
    assert cache.nbytes <= 100
