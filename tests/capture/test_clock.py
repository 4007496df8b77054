"""Offset and drift are found in the stamps and their arrivals, whatever the clock does."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from corporeal.capture.clock import HostClock, estimate_clock, to_robot_time
from corporeal.capture.drivers.sim import DRIVER, SimulationOptions
from corporeal.simulation.demonstration import simulate
from corporeal.simulation.sensing import sense, stream_sources

SECOND_NS = 1_000_000_000
MS = 1_000_000
BEGIN_NS = 1_700_000_000 * SECOND_NS
Stamps = NDArray[np.int64]


def _device(
    offset_ns: int, drift_ppm: float, seconds: float, delay_ns: NDArray[np.float64] | float
) -> tuple[Stamps, Stamps, Stamps]:
    """Capture times on the host, what the device stamps them with, and when they arrive."""
    true = BEGIN_NS + np.rint(np.arange(0, seconds, 0.01) * SECOND_NS).astype(np.int64)
    source = true - offset_ns - np.rint(drift_ppm * 1e-6 * (true - BEGIN_NS)).astype(np.int64)
    arrival = true + np.rint(np.broadcast_to(delay_ns, true.shape)).astype(np.int64)
    return true, source, arrival


@settings(max_examples=40)
@given(
    offset_ns=st.integers(-(10**17), 10**17),
    drift_ppm=st.floats(-200, 200),
    seconds=st.floats(5, 60),
    floor_ms=st.floats(0, 20),
    spread_ms=st.floats(0, 10),
    seed=st.integers(0, 1000),
)
def test_offset_and_drift_are_found(
    offset_ns: int, drift_ppm: float, seconds: float, floor_ms: float, spread_ms: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    count = len(np.arange(0, seconds, 0.01))
    delay = (floor_ms + rng.exponential(spread_ms + 1e-9, count)) * MS
    true, source, arrival = _device(offset_ns, drift_ppm, seconds, delay)
    clock = estimate_clock("x", source, arrival, latency_ns=round(floor_ms * MS))
    error_ms = np.abs(clock.to_host(source) - true) / MS
    assert error_ms.max() < 0.1 + 0.5 * spread_ms
    if seconds > 20:
        assert abs(clock.drift_ppm - drift_ppm) < 5 + 20 * spread_ms
    assert clock.repeats == clock.jumps == 0


def test_a_few_held_up_messages_do_not_matter() -> None:
    delay = np.full(2000, 2.0 * MS)
    delay[400:420] = 300 * MS
    delay[::7] = 40 * MS
    true, source, arrival = _device(12345, 30.0, 20.0, delay)
    clock = estimate_clock("x", source, arrival, latency_ns=2 * MS)
    assert np.abs(clock.to_host(source) - true).max() < 0.2 * MS


def test_a_short_recording_has_no_drift() -> None:
    _, source, arrival = _device(5, 100.0, 1.5, 0.0)
    assert estimate_clock("x", source, arrival).drift_ppm == 0.0
    single = np.array([7], np.int64)
    assert estimate_clock("x", single, single + 3).offset_ns == 3


def test_a_clock_that_runs_wild_is_not_called_drift() -> None:
    true, _, arrival = _device(0, 0.0, 10.0, 0.0)
    half_speed = BEGIN_NS + (true - BEGIN_NS) // 2
    assert estimate_clock("x", half_speed, arrival).drift_ppm == 0.0


def test_backwards_repeats_and_jumps_are_counted() -> None:
    _, source, arrival = _device(0, 0.0, 10.0, 0.0)
    back, again, set_ = source.copy(), source.copy(), source.copy()
    back[500:] -= SECOND_NS // 2
    again[100:110] = again[100]
    set_[500:] += 3600 * SECOND_NS
    assert estimate_clock("x", back, arrival).backwards == 1
    assert estimate_clock("x", back, arrival).jumps == 1
    assert estimate_clock("x", again, arrival).repeats == 9
    assert estimate_clock("x", set_, arrival).jumps == 1
    assert estimate_clock("x", source, arrival).jumps == 0


def test_streams_that_share_a_clock_are_counted_apart() -> None:
    source = np.array([10, 5, 20, 15, 30, 25], np.int64)
    arrival = np.arange(6, dtype=np.int64)
    both = np.array([0, 1, 0, 1, 0, 1], np.uint16)
    assert estimate_clock("x", source, arrival).backwards == 3
    assert estimate_clock("x", source, arrival, streams=both).backwards == 0


INT64: Any = st.integers(-(1 << 63) + 1, (1 << 63) - 1)


@settings(max_examples=60)
@given(data=st.data(), count=st.integers(1, 40))
def test_any_stamps_at_all_give_an_estimate(data: st.DataObject, count: int) -> None:
    source = data.draw(arrays(np.int64, count, elements=INT64))
    arrival = data.draw(arrays(np.int64, count, elements=INT64))
    clock = estimate_clock("robot", source, arrival)
    epoch = int(arrival[0])
    assert to_robot_time({"robot": clock}, "robot", source, epoch).dtype == np.int64
    assert np.isfinite(clock.drift_ppm)


def test_robot_time_runs_as_the_robots_clock_does() -> None:
    _, robot, robot_arrival = _device(-5 * SECOND_NS, 80.0, 30.0, 0.0)
    true, camera, camera_arrival = _device(SECOND_NS, -40.0, 30.0, 0.0)
    clocks = {
        "robot": estimate_clock("robot", robot, robot_arrival),
        "camera": estimate_clock("camera", camera, camera_arrival),
    }
    on_robot = to_robot_time(clocks, "robot", robot, BEGIN_NS)
    # One second of the robot's stamps is one second in the file.
    assert np.abs(np.diff(on_robot) - np.diff(robot)).max() <= 2
    # What was captured at one moment has one time.
    on_camera = to_robot_time(clocks, "camera", camera, BEGIN_NS)
    assert np.abs(on_robot - on_camera).max() < 0.01 * MS
    # Without a robot the recorder's clock is the reference.
    alone = to_robot_time({"camera": clocks["camera"]}, "camera", camera, BEGIN_NS)
    assert np.abs(alone - (true - BEGIN_NS)).max() < 0.01 * MS


def test_the_uncertainty_covers_a_stamp_and_is_none_where_stamps_are_arrivals() -> None:
    rng = np.random.default_rng(3)
    true, source, arrival = _device(5 * MS, 20.0, 30, rng.exponential(2 * MS, 3000))
    estimate = estimate_clock("imu", source, arrival)
    off = np.abs(estimate.to_host(source) - true)
    assert estimate.uncertainty_ns is not None
    assert np.percentile(off, 95) < estimate.uncertainty_ns + MS // 2
    assert estimate.to_json()["uncertainty_ns"] == estimate.uncertainty_ns
    plain = estimate_clock("bag", arrival, arrival)
    assert plain.on_arrival
    assert plain.uncertainty_ns is None


def test_the_hosts_clock_is_unix_time_and_never_goes_back() -> None:
    clock = HostClock()
    read = [clock.now_ns() for _ in range(1000)]
    assert all(later >= earlier for earlier, later in pairwise(read))
    assert read[0] > BEGIN_NS


def test_simulated_sensors_are_placed_within_5_ms_of_the_truth() -> None:
    """With delays, jitter and drifting clocks, any two streams agree within 5 ms."""
    run = simulate("stand", seed=3)
    sources, floors = stream_sources(), DRIVER.describe(SimulationOptions(task="stand")).latency_ns
    seen: dict[str, list[tuple[int, int, int, str]]] = {}
    for item in sense(run, seed=3, pictures=False, start_ns=BEGIN_NS):
        source = sources.get(item.path, "robot")
        seen.setdefault(source, []).append(
            (item.source_ns, item.arrival_ns, item.true_ns, item.path)
        )
    worst: dict[str, float] = {}
    for source, rows in seen.items():
        stamps, arrivals, true = (np.array([row[k] for row in rows], np.int64) for k in range(3))
        clock = estimate_clock(source, stamps, arrivals, latency_ns=floors.get(source, 0))
        errors_ms = (clock.to_host(stamps) - true) / MS
        for row, error_ms in zip(rows, errors_ms, strict=True):
            worst[row[3]] = max(worst.get(row[3], 0.0), abs(float(error_ms)))
    assert len(worst) > 10
    assert max(worst.values()) < 5.0, worst


@pytest.mark.parametrize("size", [2, 3])
def test_an_estimate_is_plain_values(size: int) -> None:
    stamps = np.arange(size, dtype=np.int64)
    values = estimate_clock("x", stamps, stamps + 5).to_json()
    assert values["offset_ns"] == 5
    assert all(isinstance(value, int | float | str) for value in values.values())
