from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corporeal.schema import open_schema
from corporeal.simulation.rig import CLOCKS, SENSORS, TEXT, clocks, stream_sources, without_noise
from corporeal.simulation.sensor import (
    Noise,
    Sensor,
    SensorClock,
    SensorLatency,
    schedule,
    stream_rng,
)
from corporeal.units import SECOND_NS

HOUR_NS = 3600 * SECOND_NS


def _rng() -> np.random.Generator:
    return np.random.default_rng(3)


@given(
    st.integers(-HOUR_NS, HOUR_NS),
    st.floats(-100, 100),
    st.lists(st.integers(0, 8 * HOUR_NS), min_size=1, max_size=5),
)
def test_a_clock_and_its_inverse_agree_to_the_nanosecond(
    offset_ns: int, drift_ppm: float, true_ns: list[int]
) -> None:
    clock = SensorClock("device", offset_ns, drift_ppm)
    there_and_back = clock.true(clock.stamp(true_ns))
    assert np.abs(there_and_back - np.array(true_ns)).max() <= 1


def test_a_clock_of_20_ppm_gains_72_ms_in_an_hour() -> None:
    shown = SensorClock("device", 5_000_000, 20.0).stamp([0, HOUR_NS])
    assert shown.tolist() == [5_000_000, HOUR_NS + 5_000_000 + 72_000_000]


def test_the_truth_about_a_clock_can_be_found_again_from_its_stamps() -> None:
    for name, clock in clocks(4).items():
        sensor = Sensor("observations/x", name, 30.0)
        when = schedule(sensor, clock, seed=4, start_ns=0, end_ns=600 * SECOND_NS)
        ahead = (when.source_ns - when.true_ns).astype(np.float64)
        slope, offset = np.polyfit(when.true_ns / SECOND_NS, ahead, 1)
        assert slope / 1000 == pytest.approx(clock.drift_ppm, abs=1e-3)
        assert offset == pytest.approx(clock.offset_ns, abs=5)


def test_clocks_are_seeded_and_stay_in_their_range() -> None:
    assert clocks(1) == clocks(1)
    assert clocks(1) != clocks(2)
    drawn = [clocks(seed) for seed in range(30)]
    for name, spread in CLOCKS.items():
        drifts = np.array([every[name].drift_ppm for every in drawn])
        offsets = np.array([every[name].offset_ns for every in drawn]) / SECOND_NS
        assert np.abs(drifts).max() <= spread.drift_ppm
        assert spread.offset_s[0] <= offsets.min() <= offsets.max() <= spread.offset_s[1]
        assert np.abs(drifts).max() >= 0.7 * spread.drift_ppm


def test_samples_come_at_the_rate_of_the_devices_own_clock() -> None:
    clock = SensorClock("device", 0, 50.0)
    sensor = Sensor("observations/x", "device", 100.0, wander_s=1e-4)
    when = schedule(sensor, clock, seed=0, start_ns=0, end_ns=1000 * SECOND_NS)
    assert np.median(np.diff(when.source_ns)) == pytest.approx(0.01 * SECOND_NS, rel=1e-3)
    assert np.std(np.diff(when.source_ns)) == pytest.approx(np.sqrt(2) * 1e5, rel=0.02)
    elapsed = (when.true_ns[-1] - when.true_ns[0]) / (len(when.true_ns) - 1)
    assert elapsed / (0.01 * SECOND_NS) - 1 == pytest.approx(-50e-6, abs=1e-6)


@given(st.integers(0, 1000), st.floats(0, 0.1), st.floats(0, 0.1))
def test_a_channel_delivers_in_order_and_never_before_the_capture(
    seed: int, mean_s: float, jitter_s: float
) -> None:
    sensor = Sensor(
        "observations/x", "device", 200.0, SensorLatency(mean_s, jitter_s), wander_s=0.01
    )
    when = schedule(sensor, SensorClock("device"), seed=seed, start_ns=7, end_ns=SECOND_NS)
    assert (np.diff(when.true_ns) > 0).all()
    assert (np.diff(when.arrival_ns) >= 0).all()
    assert (when.arrival_ns >= when.true_ns).all()
    assert when.true_ns[0] >= 7
    assert when.true_ns[-1] <= SECOND_NS


def test_delays_have_the_mean_and_the_deviation_that_were_asked_for() -> None:
    delays = SensorLatency(0.040, 0.004).draw(_rng(), 50_000)
    assert delays.mean() == pytest.approx(0.040, rel=0.01)
    assert delays.std() == pytest.approx(0.004, rel=0.03)
    assert delays.min() > 0.03


def test_lost_samples_are_as_many_as_asked_for_and_leave_gaps() -> None:
    sensor = Sensor("observations/x", "device", 100.0, drop=0.1)
    when = schedule(sensor, SensorClock("device"), seed=1, start_ns=0, end_ns=100 * SECOND_NS)
    assert len(when.true_ns) == pytest.approx(9000, abs=100)
    assert np.diff(when.true_ns).max() >= 0.0199 * SECOND_NS


def test_streams_of_one_packet_share_their_instants() -> None:
    truth = clocks(0)["robot"]
    both = [
        schedule(SENSORS[f"observations/joint_{what}"], truth, seed=0, start_ns=0, end_ns=SECOND_NS)
        for what in ("position", "torque")
    ]
    assert np.array_equal(both[0].true_ns, both[1].true_ns)
    assert np.array_equal(both[0].arrival_ns, both[1].arrival_ns)


def test_white_noise_and_bias_have_the_deviation_that_was_asked_for() -> None:
    time_s = np.arange(20_000) / 200.0
    noise = Noise(white=(0.5, 0.1), bias=3.0)
    values = noise.apply(_rng(), time_s, np.zeros((len(time_s), 2)))
    assert values.std(axis=0) == pytest.approx([0.5, 0.1], rel=0.02)
    biases = [Noise(bias=3.0).apply(stream_rng(n, "a", "b"), time_s[:1], np.zeros((1, 4)))
              for n in range(500)]  # fmt: skip
    assert np.std(biases) == pytest.approx(3.0, rel=0.05)


def test_a_bias_walks_with_the_root_of_time_whatever_the_rate() -> None:
    for rate_hz in (50, 400):
        time_s = np.arange(4 * rate_hz + 1) / rate_hz
        walked = Noise(walk=0.2).apply(_rng(), time_s, np.zeros((len(time_s), 3000)))
        assert np.std(walked[-1]) == pytest.approx(0.2 * 2.0, rel=0.05)


def test_an_encoder_only_gives_whole_steps() -> None:
    step = 2 * np.pi / 2**14
    truth = np.linspace(0, 0.1, 1000)[:, None]
    seen = Noise(quantum=step).apply(_rng(), truth[:, 0], truth)
    assert np.abs(seen / step - np.rint(seen / step)).max() < 1e-9
    assert np.abs(seen - truth).max() <= step / 2 + 1e-12
    assert len(np.unique(seen)) == pytest.approx(0.1 / step, abs=2)


def test_a_gain_error_is_relative_and_fixed() -> None:
    truth = np.tile([1.0, 10.0], (100, 1))
    seen = Noise(gain=0.03).apply(_rng(), np.arange(100.0), truth)
    assert np.ptp(seen, axis=0).max() == 0
    assert 0 < np.abs(seen / truth - 1).max() < 0.15


def test_no_noise_means_the_truth() -> None:
    truth = _rng().normal(size=(50, 3))
    assert np.array_equal(Noise().apply(_rng(), np.arange(50.0), truth), truth)
    assert all(sensor.noise is None for sensor in without_noise(SENSORS).values())


def test_every_stream_of_the_rig_has_a_sensor_of_its_rate_and_a_clock() -> None:
    rig = open_schema("simulated_humanoid")
    assert {stream.path for stream in rig.streams} == {*SENSORS, *TEXT}
    assert set(stream_sources()) == {stream.path for stream in rig.streams}
    assert set(stream_sources().values()) == set(CLOCKS)
    for path, sensor in SENSORS.items():
        assert rig.stream(path).rate_hz == sensor.rate_hz
