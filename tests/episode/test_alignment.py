"""Alignment gives what a slow and obvious reading of its rules gives, and never makes data up."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from corporeal.episode import Episode
from corporeal.episode.alignment import Aligned, AlignedColumn, align
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.geometry import slerp
from corporeal.schema import Stream
from corporeal.schema.stream import Method

MS = 1_000_000
QUATERNION = ("qw", "qx", "qy", "qz")


@dataclass(frozen=True)
class Signal:
    """A stream in memory."""

    spec: Stream
    time_ns: NDArray[np.int64]
    values: Any

    def __getitem__(self, selection: Any) -> Any:
        return self.values[selection]

    def __len__(self) -> int:
        return len(self.time_ns)


def _signal(times: list[int], values: Any, **spec: Any) -> Signal:
    data = np.asarray(values)
    what = {"name": "a", "group": "observations", "dtype": data.dtype.name,
            "shape": data.shape[1:], "rate_hz": 100.0}  # fmt: skip
    stream = Stream.model_validate(what | spec)
    return Signal(stream, np.array(times, np.int64), data)


@dataclass(frozen=True)
class Row:
    """What the rules say about one moment."""

    value: Any
    valid: bool
    extrapolated: bool
    index: int


NOTHING = Row(None, False, False, -1)


def _expected(signal: Signal, now: int, method: Method, gap_periods: float) -> Row:
    time = signal.time_ns.tolist()
    rate_hz = signal.spec.rate_hz
    if rate_hz is not None:
        period = 1e9 / rate_hz
    elif len(time) > 1:
        period = float(np.median(np.diff(time)))
    else:
        period = np.inf
    events = not np.isfinite(period)
    earlier = [i for i, t in enumerate(time) if t <= now]
    later = [i for i, t in enumerate(time) if t > now]
    if not earlier or (not later and time[-1] != now):
        index = earlier[-1] if earlier else 0
        if (method == "hold" and not earlier) or abs(now - time[index]) > period:
            return NOTHING
        return Row(signal.values[index], True, not earlier or not events, index)
    low = earlier[-1]
    if time[low] == now:
        return Row(signal.values[low], True, False, low)
    high = later[0]
    if method == "hold":
        fresh = events or now - time[low] <= gap_periods * period
        return Row(signal.values[low], True, False, low) if fresh else NOTHING
    nearest = low if now - time[low] <= time[high] - now else high
    is_gap = not events and time[high] - time[low] > gap_periods * period
    if method == "nearest":
        close = abs(now - time[nearest]) <= period / 2
        return Row(signal.values[nearest], True, False, nearest) if close or not is_gap else NOTHING
    if is_gap:
        return NOTHING
    fraction = (now - time[low]) / (time[high] - time[low])
    start, end = signal.values[low], signal.values[high]
    value = slerp(start, end, fraction) if method == "slerp" else start + fraction * (end - start)
    return Row(value, True, False, nearest)


steps = st.integers(1, 12 * MS) | st.just(10 * MS) | st.integers(20 * MS, 40 * MS) | st.just(0)
clocks = st.lists(steps, max_size=25).map(lambda found: np.cumsum([0, *found]).tolist())
rates = st.sampled_from([100.0, 30.0, 250.0, None])
methods: st.SearchStrategy[Method] = st.sampled_from(["hold", "linear", "nearest", "slerp"])
seeds = st.integers(0, 2**32 - 1)


def _aligned(aligned: Aligned) -> AlignedColumn:
    return aligned.column("a")


@given(clocks, rates, methods, seeds, st.sampled_from([1.0, 2.5, 4.0]),
       st.sampled_from([50.0, 100.0, 333.0]), st.integers(-30 * MS, 30 * MS))  # fmt: skip
def test_every_row_is_what_the_rules_say(
    times: list[int],
    rate_hz: float | None,
    method: Method,
    seed: int,
    gap_periods: float,
    grid_hz: float,
    shift: int,
) -> None:
    values = np.random.default_rng(seed).normal(size=(len(times), 4))
    signal = _signal(times, values, rate_hz=rate_hz, components=QUATERNION)
    span = (times[0] + shift, times[-1] + abs(shift) + 20 * MS)
    aligned = align({"a": signal}, grid_hz, methods={"a": method}, span_ns=span,
                    gap_periods=gap_periods)  # fmt: skip
    column = _aligned(aligned)
    assert column.values is not None
    for number, now in enumerate(aligned.time_ns.tolist()):
        row = _expected(signal, now, method, gap_periods)
        found = (bool(column.valid[number]), bool(column.extrapolated[number]))
        assert found == (row.valid, row.extrapolated), (now, row)
        assert column.index[number] == row.index
        if not row.valid:
            assert np.isnan(column.values[number]).all()
            continue
        value = row.value
        if method == "slerp":
            value = value / np.linalg.norm(value)
            assert abs(np.linalg.norm(column.values[number]) - 1) < 1e-9
        np.testing.assert_allclose(column.values[number], value, atol=1e-9)
        assert column.age_ns[number] == now - times[row.index]


@given(clocks, methods, seeds, st.integers(0, 30 * MS))
def test_ages_never_lie(times: list[int], method: Method, seed: int, shift: int) -> None:
    values = np.random.default_rng(seed).normal(size=(len(times), 4))
    signal = _signal(times, values, components=QUATERNION)
    span = (times[0] - shift, times[-1] + shift)
    aligned = align({"a": signal, "b": signal}, 200.0, methods={"a": method}, span_ns=span)
    column = _aligned(aligned)
    if method == "hold":
        assert (column.age_ns[column.valid] >= 0).all()
    assert (aligned.skew_ns >= 0).all()
    assert not (column.extrapolated & ~column.valid).any()
    assert (column.index[~column.valid] == -1).all()
    assert (aligned.complete <= column.valid).all()


@given(clocks, seeds, st.sampled_from(["float32", "float64"]))
def test_a_line_stays_between_its_ends(times: list[int], seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    values = (rng.normal(size=len(times)) * 10.0 ** rng.integers(-6, 6)).astype(dtype)
    signal = _signal(times, values)
    aligned = align({"a": signal}, 777.0)
    column = _aligned(aligned)
    assert column.values is not None
    low = np.searchsorted(signal.time_ns, aligned.time_ns, side="right") - 1
    ends = np.stack([values[low], values[np.minimum(low + 1, len(values) - 1)]])
    slack = 4 * np.finfo(dtype).eps * np.abs(ends).max(0)
    inside = (ends.min(0) - slack <= column.values) & (column.values <= ends.max(0) + slack)
    assert inside[column.valid].all()


@given(clocks, st.sampled_from(["linear", "slerp"]), seeds)
def test_nothing_is_made_up_inside_a_gap(times: list[int], method: Method, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(len(times), 4))
    signal = _signal(times, values, components=QUATERNION)
    aligned = align({"a": signal}, 1000.0, methods={"a": method})
    for start, end in pairwise(times):
        if end - start > 25 * MS:
            inside = (aligned.time_ns > start) & (aligned.time_ns < end)
            assert not _aligned(aligned).valid[inside].any()


def test_a_sample_right_on_the_grid_does_not_feel_its_neighbour() -> None:
    signal = _signal([0, 10 * MS, 20 * MS], np.array([1.0, np.nan, 3.0]))
    column = _aligned(align({"a": signal}, 100.0))
    np.testing.assert_array_equal(column.values, [1.0, np.nan, 3.0])


def test_the_default_grid_is_the_time_that_all_streams_have() -> None:
    early = _signal([0, 10 * MS, 20 * MS, 30 * MS], np.zeros(4))
    late = _signal([15 * MS, 25 * MS, 35 * MS], np.zeros(3))
    aligned = align({"a": early, "b": late}, 200.0)
    assert aligned.time_ns.tolist() == [15 * MS, 20 * MS, 25 * MS, 30 * MS]
    assert aligned.complete.all()


def test_an_event_neither_shortens_the_grid_nor_counts_as_late() -> None:
    signal = _signal([0, 10 * MS, 20 * MS, 500 * MS, 510 * MS], np.arange(5.0))
    word = Signal(
        Stream.model_validate({"name": "w", "group": "debug", "kind": "text"}),
        np.array([5 * MS]),
        ["go"],
    )
    aligned = align({"a": signal, "w": word}, 100.0)
    assert aligned.time_ns[-1] == 510 * MS
    column = aligned.column("w")
    assert column.method == "hold"
    assert column.index.tolist() == [-1] + [0] * 51
    assert not column.extrapolated.any()
    assert column.values is None
    assert (aligned.skew_ns == 0).all()


def test_skew_is_the_spread_of_the_times_that_a_row_stands_for() -> None:
    held = _signal([0, 10 * MS, 20 * MS], np.zeros(3), interpolation="hold")
    near = _signal([4 * MS, 14 * MS, 24 * MS], np.zeros(3), interpolation="nearest")
    line = _signal([0, 10 * MS, 20 * MS], np.zeros(3))
    aligned = align({"a": held, "b": near, "c": line}, 1000.0, span_ns=(13 * MS, 13 * MS))
    # The held value is 3 ms old, the nearest 1 ms ahead, the line on time.
    assert aligned.skew_ns.tolist() == [4 * MS]


def test_a_repeated_value_counts_in_the_skew() -> None:
    line = _signal([0, 10 * MS, 20 * MS], np.zeros(3))
    short = _signal([0, 10 * MS], np.zeros(2))
    aligned = align({"a": line, "b": short}, 1000.0, span_ns=(16 * MS, 16 * MS))
    assert aligned.column("b").extrapolated.all()
    assert aligned.skew_ns.tolist() == [6 * MS]


def test_whole_numbers_are_taken_from_the_nearest_and_zero_where_there_is_none() -> None:
    signal = _signal([0, 10 * MS, 100 * MS], np.array([5, 6, 7], np.int32))
    column = _aligned(align({"a": signal}, 50.0))
    assert column.values is not None
    assert column.values.tolist() == [5, 0, 0, 0, 0, 7]
    assert column.values.dtype == np.int32


def test_right_between_two_samples_the_earlier_is_the_nearest() -> None:
    signal = _signal([0, 10 * MS], np.array([1, 2], np.int8))
    column = _aligned(align({"a": signal}, 1000.0, span_ns=(4 * MS, 6 * MS)))
    assert column.values is not None
    assert column.values.tolist() == [1, 1, 2]
    assert column.age_ns.tolist() == [4 * MS, 5 * MS, -4 * MS]


def test_a_quaternion_turns_while_the_rest_slides() -> None:
    half = np.sqrt(0.5)
    values = np.array([[0, 1, 0, 0, 0], [10, -half, 0, 0, -half]])
    signal = _signal([0, 10 * MS], values, components=("x", *QUATERNION))
    column = _aligned(align({"a": signal}, 200.0))
    assert column.method == "slerp"
    assert column.values is not None
    np.testing.assert_allclose(
        column.values[1], [5, np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)], atol=1e-12
    )


def test_one_sample_stands_for_one_period() -> None:
    signal = _signal([50 * MS], np.array([3.0]))
    aligned = align({"a": signal}, 1000.0, span_ns=(30 * MS, 70 * MS))
    column = _aligned(aligned)
    valid = aligned.time_ns[column.valid]
    assert (valid[0], valid[-1]) == (40 * MS, 60 * MS)
    assert column.extrapolated.sum() == len(valid) - 1


def test_no_gap_is_too_long_when_the_caller_says_so() -> None:
    signal = _signal([0, 1000 * MS], np.array([0.0, 1.0]))
    column = _aligned(align({"a": signal}, 100.0, gap_periods=np.inf))
    assert column.valid.all()


def test_a_window_reads_only_what_it_needs(recording: Path) -> None:
    with Episode.open(recording) as episode:
        whole = episode.align(50.0, ["observations/joint_position"])
        begin = int(whole.time_ns[5])
        window = episode.align(50.0, ["observations/joint_position"], span_ns=(begin, begin + MS))
        np.testing.assert_array_equal(
            window["observations/joint_position"], whole["observations/joint_position"][5:6]
        )


def test_a_whole_episode_lies_on_one_grid(recording: Path) -> None:
    with Episode.open(recording) as episode:
        aligned = episode.align(50.0)
        assert set(aligned.columns) == set(episode)
        assert len(aligned) > 20
        assert aligned.complete.any()
        pictures = episode["observations/head_left"][aligned.column("observations/head_left").index]
        assert len(pictures) == len(aligned)
        assert aligned["observations/left_tactile"].shape == (len(aligned), 16, 16)
        with pytest.raises(EpisodeError, match="has no numbers; take the samples at column"):
            aligned["observations/head_left"]
        with pytest.raises(UnknownNameError, match="unknown aligned stream, got 'x'"):
            aligned.column("x")


GOOD = _signal([0, 10 * MS], np.zeros(2))


@pytest.mark.parametrize(
    ("streams", "options", "sentence"),
    [
        ({}, {}, "no stream to align; expected at least one."),
        ({"a": GOOD}, {"rate_hz": 0}, "rate, got 0; expected a positive number of Hz."),
        ({"a": GOOD}, {"rate_hz": np.nan}, "rate, got nan; expected a positive number of Hz."),
        ({"a": GOOD}, {"rate_hz": np.inf}, "rate, got inf; expected a positive number of Hz."),
        ({"a": GOOD}, {"methods": {"b": "hold"}},
         "unknown stream, got 'b'; expected one of: a."),
        ({"a": _signal([], np.zeros(0))}, {},
         "a has no samples, so it cannot be aligned. Leave it out."),
        ({"a": _signal([0, 9, 7], np.zeros(3))}, {},
         "a: the clock goes back at sample 2, by 2 ns; expected stamps that do not decrease. "
         "Cut the episode there, or leave the stream out."),
        ({"a": _signal([2**63 - 1, -(2**63)], np.zeros(2))}, {},
         f"a: the clock goes back at sample 1, by {2**64 - 1} ns; expected stamps that do not "
         "decrease. Cut the episode there, or leave the stream out."),
        ({"a": GOOD, "b": _signal([20 * MS], np.zeros(1))}, {},
         "the streams have no time in common: one ends before another begins. "
         "Give span_ns, or leave one out."),
        ({"a": GOOD}, {"span_ns": (5, 3)},
         "span, got 5 to 3; expected the end after the beginning."),
        ({"a": GOOD}, {"span_ns": (0, 10**18)},
         "100000000001 rows at 100 Hz; expected 268435456 at most. Cut it up."),
        ({"a": _signal([0], np.zeros(1, np.int8))}, {"methods": {"a": "linear"}},
         "a: linear needs floating-point numbers, got array of int8; expected hold or nearest."),
        ({"a": GOOD}, {"methods": {"a": "slerp"}},
         "a: slerp needs components named qw qx qy qz."),
    ],
)  # fmt: skip
def test_what_cannot_be_aligned_is_explained(
    streams: dict[str, Signal], options: dict[str, Any], sentence: str
) -> None:
    rate_hz = options.pop("rate_hz", 100)
    with pytest.raises((EpisodeError, UnknownNameError)) as caught:
        align(streams, rate_hz, **options)
    assert str(caught.value) == sentence
