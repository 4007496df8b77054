"""Replay publishes every sample of a recording again, with the times between them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corporeal.capture.driver import Driver, DriverError, Mark, Sample, drivers, parse_options
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.schema import Schema
from corporeal.testing import Workload

SECOND = 10**9


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workload = Workload(open_robot("g1"), duration_s=0.6, size=(32, 48))
    path = tmp_path_factory.mktemp("replay") / "a.h5"
    with EpisodeWriter(
        path, schema=workload.schema, embodiment=workload.embodiment, metadata=workload.metadata
    ) as writer:
        for stream, time_ns, value in workload.samples():
            writer.append(stream, time_ns, value)
    return path


@pytest.fixture
def driver() -> Driver:
    return drivers()["replay"]


def _read(driver: Driver, path: Path, **values: Any) -> Iterator[Sample | Mark]:
    items = driver.read(parse_options(driver, {"path": str(path), **values}))
    return (item for item in items if isinstance(item, Sample | Mark))


def test_the_rig_is_that_of_the_episode(driver: Driver, episode: Path) -> None:
    rig = driver.describe(parse_options(driver, {"path": str(episode)}))
    with Episode.open(episode) as opened:
        assert [stream.path for stream in rig.schema.streams] == list(opened)
        assert rig.metadata["replay_of"] == opened.id
        assert rig.metadata["operator"] == "op00"
    assert rig.embodiment is not None
    assert rig.embodiment.name == open_robot("g1").name
    assert rig.problems == ()


def test_every_sample_comes_back_with_its_value(driver: Driver, episode: Path) -> None:
    first, *samples, last = _read(driver, episode, speed=0)
    assert isinstance(first, Mark)
    assert isinstance(last, Mark)
    assert (first.what, last.what) == ("start", "end")
    assert all(before.arrival_ns <= after.arrival_ns for before, after in pairwise(samples))
    by_stream: dict[str, list[Sample]] = {}
    for sample in samples:
        assert isinstance(sample, Sample)
        by_stream.setdefault(sample.stream, []).append(sample)
    with Episode.open(episode) as opened:
        assert set(by_stream) == set(opened)
        base = by_stream["observations/joint_position"][0]
        shift = base.source_ns - int(opened["observations/joint_position"].time_ns[0])
        for name, found in by_stream.items():
            reader = opened[name]
            stamps = [sample.source_ns - shift for sample in found]
            np.testing.assert_array_equal(stamps, reader.time_ns)
            for number in (0, len(reader) - 1):
                np.testing.assert_array_equal(found[number].value, reader[number])


@pytest.mark.parametrize(("speed", "least_s", "most_s"), [(2.0, 0.29, 2.0), (0, 0.0, 1.5)])
def test_the_speed_is_kept(
    driver: Driver, episode: Path, speed: float, least_s: float, most_s: float
) -> None:
    begin = time.monotonic()
    stamps = [item.arrival_ns for item in _read(driver, episode, speed=speed)]
    assert least_s < time.monotonic() - begin < most_s
    # The times between samples are those of the recording, however fast they come.
    assert 0.55 * SECOND < stamps[-1] - stamps[0] < 0.65 * SECOND
    assert abs(stamps[0] - time.time_ns()) < 10 * SECOND


def test_stamps_that_go_back_stay_as_they_are(driver: Driver, tmp_path: Path) -> None:
    schema = Schema.parse(
        "{document: schema, name: a, version: 1.0.0, streams: [{name: x, group: debug}, "
        "{name: y, group: debug}]}"
    )
    stamps = [0, 30, 10, 40]
    with EpisodeWriter(tmp_path / "a.h5", schema=schema, epoch_ns=0) as writer:
        for number, stamp in enumerate(stamps):
            writer.append("debug/x", stamp, float(number))
            writer.append("debug/y", 10 * number, float(number))
    items = [item for item in _read(driver, tmp_path / "a.h5", speed=0) if isinstance(item, Sample)]
    seen = [item for item in items if item.stream == "debug/x"]
    assert [item.value for item in seen] == [0, 1, 2, 3]
    assert [item.source_ns - seen[0].source_ns for item in seen] == stamps
    assert [item.arrival_ns - seen[0].arrival_ns for item in seen] == [0, 30, 30, 40]
    assert Counter(item.stream for item in items) == {"debug/x": 4, "debug/y": 4}


def test_closing_early_frees_the_file(driver: Driver, episode: Path) -> None:
    items = _read(driver, episode, speed=0)
    for _ in range(5):
        next(items)
    items.close()  # type: ignore[attr-defined]
    held = [link.resolve() for link in Path("/proc/self/fd").iterdir() if link.exists()]
    assert episode.resolve() not in held


def test_a_bag_is_replayed_with_its_lags(driver: Driver, shared_data: Path) -> None:
    folder = shared_data / "robot_logs" / "ros2_mcap_camera" / "soccer_goal"
    items = [item for item in _read(driver, folder, speed=0) if isinstance(item, Sample)]
    original = drivers()["mcap"]
    kept = list(original.read(parse_options(original, {"path": str(folder)})))
    frames = [item for item in kept if isinstance(item, Sample)]
    for item, frame in zip(items, frames, strict=True):
        assert item.arrival_ns - item.source_ns == frame.arrival_ns - frame.source_ns
    assert abs(items[0].arrival_ns - time.time_ns()) < 60 * SECOND


def test_what_is_neither_episode_nor_bag_is_refused(driver: Driver, tmp_path: Path) -> None:
    for path in (tmp_path / "absent.h5", Path(__file__)):
        with pytest.raises(DriverError, match=r"expected an episode \(\.h5\) or a bag"):
            driver.describe(parse_options(driver, {"path": str(path)}))
