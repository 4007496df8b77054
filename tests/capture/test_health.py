"""The health says what every stream is doing, and raises an alarm when one falls silent."""

from __future__ import annotations

import json
import time
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.capture.small_rig import ARM, BEGIN_NS, CAMERA, SECOND_NS, SLOW, WORDS, Items, samples

from corporeal.capture.driver import Sample
from corporeal.capture.health import Health, HealthMonitor, StreamHealth, write_health
from corporeal.capture.recorder import Recorder
from corporeal.schema import Schema

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


@pytest.fixture
def monitor(small_schema: Schema, tmp_path: Path) -> HealthMonitor:
    """A monitor of the small rig."""
    return HealthMonitor(small_schema, tmp_path)


def _feed(monitor: HealthMonitor, seconds: float, *, is_recording: bool = True) -> int:
    for sample in samples(seconds):
        monitor.take(sample.stream, sample.source_ns, sample.arrival_ns, is_recording=is_recording)
    return BEGIN_NS + round(seconds * SECOND_NS)


def _stream(health: Health, path: str) -> StreamHealth:
    return next(stream for stream in health.streams if stream.path == path)


def test_rates_and_ages_are_those_of_the_streams(monitor: HealthMonitor) -> None:
    health = monitor.read(_feed(monitor, 3.0))
    assert _stream(health, ARM).rate_hz == pytest.approx(100)
    assert _stream(health, SLOW).rate_hz == pytest.approx(5)
    assert _stream(health, ARM).age_s == pytest.approx(0.009, abs=0.001)
    assert _stream(health, ARM).samples == 300
    assert [stream.state for stream in health.streams] == ["good", "good", "good", "waiting"]
    assert health.alarms == ()


def test_a_stream_that_falls_to_zero_raises_an_alarm(monitor: HealthMonitor) -> None:
    end = _feed(monitor, 3.0)
    for number in range(100):
        monitor.take(ARM, end + number * 10**7, end + number * 10**7, is_recording=True)
    health = monitor.read(end + SECOND_NS)
    assert _stream(health, CAMERA).state == "silent"
    assert _stream(health, ARM).state == "good"
    assert [alarm for alarm in health.alarms if alarm.startswith(f"{CAMERA} is silent for 1.0 s")]
    later = monitor.read(end + 10 * SECOND_NS)
    assert _stream(later, ARM).state == "silent"
    assert _stream(later, ARM).rate_hz == 0.0


def test_a_slow_stream_is_called_slow(monitor: HealthMonitor) -> None:
    for number in range(100):
        stamp = BEGIN_NS + number * 20_000_000
        monitor.take(ARM, stamp, stamp, is_recording=False)
    assert _stream(monitor.read(stamp), ARM).state == "slow"


def test_missing_samples_count_only_while_recording(monitor: HealthMonitor) -> None:
    for is_recording, late in ((False, 0), (True, 4)):
        for number in (0, 1, 2, 5, 6, 9):
            stamp = BEGIN_NS + number * 10_000_000
            monitor.take(ARM, stamp, stamp, is_recording=is_recording)
        assert _stream(monitor.read(stamp), ARM).late == late


def test_a_clock_that_is_set_is_not_a_loss(monitor: HealthMonitor) -> None:
    for number in range(10):
        stamp = BEGIN_NS + number * 10_000_000
        monitor.take(ARM, stamp + 3600 * SECOND_NS * (number > 5), stamp, is_recording=True)
    assert _stream(monitor.read(stamp), ARM).late == 0


_CLOCKS = {ARM: "robot", SLOW: "robot", CAMERA: "camera"}
# The camera's clock began at zero, half a minute of nanoseconds and some years away.
_OFFSET_NS = {ARM: 0, SLOW: 0, CAMERA: -BEGIN_NS + 50_502_659_000_000}
_LATE_NS = {ARM: 1_000_000, SLOW: 9_000_000, CAMERA: 4_000_000}


def _run_clocks(monitor: HealthMonitor, seconds: float) -> Health:
    for sample in samples(seconds):
        jitter = 100_000 * (sample.arrival_ns // 10_000_000 % 3)
        arrival = sample.source_ns + _LATE_NS[sample.stream] + jitter
        stamp = sample.source_ns + _OFFSET_NS[sample.stream]
        monitor.take(sample.stream, stamp, arrival, is_recording=False)
    return monitor.read(arrival)


def test_skew_is_against_the_clock_of_a_stream_once_that_is_known(
    small_schema: Schema, tmp_path: Path
) -> None:
    health = _run_clocks(HealthMonitor(small_schema, tmp_path, clocks=_CLOCKS), 6.0)
    arm, slow, camera = (_stream(health, path) for path in (ARM, SLOW, CAMERA))
    assert (arm.clock, slow.clock, camera.clock) == ("known", "known", "known")
    assert arm.skew_ms == pytest.approx(0, abs=0.3)
    assert slow.skew_ms == pytest.approx(8, abs=0.3), "its clock is the arm's"
    assert camera.skew_ms == pytest.approx(0, abs=0.3), "an offset of the clock is no skew"
    assert arm.skew_error_ms is not None
    assert 0 <= arm.skew_error_ms < 0.5


def test_skew_is_being_estimated_at_first_and_after_a_clock_was_set(
    small_schema: Schema, tmp_path: Path
) -> None:
    early = _run_clocks(HealthMonitor(small_schema, tmp_path, clocks=_CLOCKS), 1.5)
    assert [stream.skew_ms for stream in early.streams] == [None] * 4
    known = HealthMonitor(small_schema, tmp_path, clocks=_CLOCKS)
    health = _run_clocks(known, 6.0)
    assert _stream(health, ARM).clock == "known"
    stamp = BEGIN_NS + 6 * SECOND_NS
    known.take(ARM, stamp + 5 * SECOND_NS, stamp, is_recording=False)
    assert _stream(known.read(stamp), ARM).clock == "estimating"
    assert _stream(known.read(stamp), ARM).skew_ms is None


def test_samples_stamped_on_arrival_have_no_skew(monitor: HealthMonitor) -> None:
    for number in range(500):
        stamp = BEGIN_NS + number * 10_000_000
        monitor.take(ARM, stamp, stamp, is_recording=False)
    arm = _stream(monitor.read(stamp), ARM)
    assert (arm.clock, arm.skew_ms) == ("on arrival", None)


def test_refused_samples_and_strangers_are_alarms(monitor: HealthMonitor) -> None:
    monitor.refuse(ARM, "it was blue")
    for _ in range(3):
        monitor.refuse("observations/stranger", "x")
    for number in range(1000):
        monitor.refuse(f"observations/flood{number}", "x")
    alarms = monitor.read(BEGIN_NS).alarms
    assert f"{ARM}: 1 samples refused, last because it was blue" in alarms
    assert any(text.startswith("observations/stranger: 3 samples refused") for text in alarms)
    assert len(alarms) < 50
    assert monitor.losses()[ARM] == {"missed": 0, "refused": 1}


def test_a_required_stream_that_never_came_is_an_alarm_while_recording(
    monitor: HealthMonitor,
) -> None:
    assert monitor.read(BEGIN_NS, state="idle").alarms == ()
    alarms = monitor.read(BEGIN_NS, state="recording").alarms
    assert [text.split()[0] for text in alarms] == [ARM, SLOW, CAMERA]
    assert not any(WORDS in text for text in alarms)


def test_a_full_or_slow_disk_is_an_alarm(
    monitor: HealthMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", ["total", "used", "free"])
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**12, 10**12 - 10**9, 10**9))
    health = monitor.read(BEGIN_NS, slowest_sync_s=1.5)
    assert health.disk_free_bytes == 10**9
    assert "1.0 GB left on the disk" in health.alarms[0]
    assert "took 1.5 s to sync" in health.alarms[1]


def test_memory_stays_bounded_when_arrivals_do_not_advance(monitor: HealthMonitor) -> None:
    for number in range(20_000):
        monitor.take(ARM, number, BEGIN_NS, is_recording=True)
    assert len(monitor._gauges[ARM].recent) < 10_000
    assert _stream(monitor.read(BEGIN_NS), ARM).rate_hz == 0.0


def test_the_file_is_json_and_always_whole(monitor: HealthMonitor, tmp_path: Path) -> None:
    write_health(tmp_path / "health.json", monitor.read(_feed(monitor, 1.0)))
    read = json.loads((tmp_path / "health.json").read_text())
    assert read["streams"][0]["path"] == ARM
    assert [path.name for path in tmp_path.iterdir()] == ["health.json"]


def test_a_source_that_falls_silent_altogether_is_an_alarm(
    recorder: Callable[..., Recorder],
) -> None:
    seen: list[Health] = []

    def read() -> Items:
        for number in range(20):
            stamp = BEGIN_NS + number * 10_000_000
            yield Sample(ARM, stamp, stamp, np.zeros(3))
        time.sleep(1.3)

    recorder(read, is_live=True, on_health=seen.append).run()
    assert any(f"{ARM} is silent" in alarm for health in seen for alarm in health.alarms)
