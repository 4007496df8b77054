"""The libraries of Foxglove's MCAP and of Rerun read what we write as MCAP and as .rrd."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exchange.small_sets import write_episodes, write_with

from corporeal.episode.recording import Recording
from corporeal.errors import CorporealError
from corporeal.exchange.format import writer_of
from corporeal.exchange.library import ask
from corporeal.exchange.opening import open_dataset

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_episodes(tmp_path_factory.mktemp("source"), seconds=0.6)


@pytest.fixture(scope="module")
def logs(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_with(writer_of("mcap"), source, tmp_path_factory.mktemp("mcap"))


@pytest.fixture(scope="module")
def scenes(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("rerun.chunk")
    return write_with(writer_of("rrd"), source, tmp_path_factory.mktemp("rrd"))


def samples(recording: Recording) -> int:
    return sum(len(signal) for signal in recording.signals.values())


@pytest.mark.parametrize("name", ["mcap", "rrd"])
def test_the_consumer_finds_every_episode_with_its_instruction(
    source: Path, logs: Path, name: str, request: pytest.FixtureRequest
) -> None:
    consumer = writer_of(name).consumer
    assert consumer is not None
    out = logs if name == "mcap" else request.getfixturevalue("scenes")
    answer = ask(consumer, out, [], [], [], python=sys.executable)
    wanted = open_dataset(source)
    assert answer.library in ("mcap", "rerun")
    assert len(answer.episodes) == len(wanted.episodes)
    for index, episode in zip(wanted.episodes, answer.episodes, strict=True):
        # Transforms of the robot's links come on top of the samples.
        assert episode.length > samples(wanted.open(index))
        assert episode.instructions == ["pick up the red box and put it on the shelf"]


def test_the_mcap_library_decodes_the_same_numbers(source: Path, logs: Path) -> None:
    from mcap.reader import make_reader
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    recording = open_dataset(source).open(0)
    found: dict[str, list[Any]] = {}
    stamps: dict[str, list[int]] = {}
    with (logs / "episode_000000.mcap").open("rb") as file:
        for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages():
            assert schema is not None
            if channel.topic not in ("/observations/joint_position", "/debug/base_pose",
                                     "/observations/head_depth"):  # fmt: skip
                continue
            store = get_typestore(Stores.EMPTY)
            store.register(get_types_from_msg(schema.data.decode(), schema.name))
            value: Any = store.deserialize_cdr(message.data, schema.name)
            found.setdefault(channel.topic, []).append(value)
            stamps.setdefault(channel.topic, []).append(message.log_time)
            assert message.log_time == value.header.stamp.sec * 10**9 + value.header.stamp.nanosec
    joints = recording.signals["observations/joint_position"]
    got = np.array([value.position for value in found["/observations/joint_position"]], np.float32)
    assert np.array_equal(got, joints[:])
    assert tuple(found["/observations/joint_position"][0].name) == joints.spec.components
    assert np.array_equal(stamps["/observations/joint_position"], joints.time_ns)
    pose = [value.pose for value in found["/debug/base_pose"]]
    rows = [(p.position.x, p.position.y, p.position.z, p.orientation.w, p.orientation.x,
             p.orientation.y, p.orientation.z) for p in pose]  # fmt: skip
    assert np.array_equal(np.array(rows, np.float32), recording.signals["debug/base_pose"][:])
    depth = found["/observations/head_depth"][0]
    assert depth.encoding == "16UC1"
    frame = np.asarray(depth.data).view(np.uint16).reshape(depth.height, depth.width)
    assert np.array_equal(frame, recording.signals["observations/head_depth"][0])


def test_a_second_reader_of_mcap_understands_every_message(source: Path, logs: Path) -> None:
    chunk = pytest.importorskip("rerun.chunk")
    recording = open_dataset(source).open(0)
    rows: dict[str, int] = {}
    for each in chunk.McapReader(logs / "episode_000000.mcap").stream():
        if not each.is_static:
            rows[each.entity_path] = rows.get(each.entity_path, 0) + each.num_rows
    for label in ("observations/joint_position", "observations/head_left", "debug/base_pose",
                  "observations/head_depth", "observations/left_wrist_wrench"):  # fmt: skip
        assert rows[f"/{label}"] >= len(recording.signals[label])


@pytest.mark.parametrize("verb", ["verify", "print", "stats"])
def test_the_viewers_own_program_accepts_a_scene(scenes: Path, verb: str) -> None:
    command = [sys.executable, "-m", "rerun", "rrd", verb, str(scenes / "episode_000000.rrd")]
    quiet = {**os.environ, "CI": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "verified without error" in said if verb == "verify" else "/world/robot" in said


def test_a_consumer_refuses_a_damaged_log(logs: Path, tmp_path: Path) -> None:
    path = tmp_path / "episode_000000.mcap"
    shutil.copyfile(logs / path.name, path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    consumer = writer_of("mcap").consumer
    assert consumer is not None
    with pytest.raises(CorporealError, match="mcap"):
        ask(consumer, tmp_path, [], [], [], python=sys.executable)
