"""Episode files of our own are a dataset, one or many, damaged ones included."""

from __future__ import annotations

import gc
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corporeal.episode import EpisodeWriter
from corporeal.errors import EpisodeError
from corporeal.exchange.opening import open_dataset
from corporeal.schema import Schema, Stream

JOINTS = Stream(name="joint_position", group="observations", shape=(3,), rate_hz=10.0)

SCHEMA = Schema(document="schema", name="small", version="1.0.0", streams=(JOINTS,))


def write_episode(path: Path, level: float) -> None:
    with EpisodeWriter(path, schema=SCHEMA) as writer:
        for number in range(5):
            writer.append(JOINTS.path, number * 100_000_000, np.full(3, level, np.float32))


def open_files(folder: Path) -> set[str]:
    """Names of the files in a folder that this process has open."""
    links = Path("/proc/self/fd")
    if not links.is_dir():
        pytest.skip("open files can be listed on Linux alone")
    found = set()
    for link in links.iterdir():
        with suppress(OSError):
            found.add(link.readlink())
    return {path.name for path in found if path.parent == folder}


def test_a_folder_of_episodes_is_numbered_by_name(tmp_path: Path) -> None:
    (tmp_path / "monday").mkdir()
    write_episode(tmp_path / "monday" / "b.h5", 2.0)
    write_episode(tmp_path / "a.h5", 1.0)
    dataset = open_dataset(tmp_path)
    assert dataset.format == "episodes"
    assert dataset.episodes == (0, 1)
    for number, level in enumerate((1.0, 2.0)):
        recording = dataset.open(number)
        assert recording.index == number
        assert recording.signals["observations/joint_position"][:].max() == level
    with pytest.raises(EpisodeError, match="expected 0 to 1"):
        dataset.open(2)


def test_a_single_episode_is_a_dataset_of_one(tmp_path: Path) -> None:
    write_episode(tmp_path / "a.h5", 1.0)
    assert open_dataset(tmp_path / "a.h5").episodes == (0,)


def test_a_damaged_episode_is_listed_and_raises_when_opened(tmp_path: Path) -> None:
    write_episode(tmp_path / "a.h5", 1.0)
    (tmp_path / "b.h5").write_bytes((tmp_path / "a.h5").read_bytes()[:300])
    (tmp_path / "c.h5").write_bytes(b"\0" * 100)
    dataset = open_dataset(tmp_path)
    assert dataset.episodes == (0, 1, 2)
    for number in (1, 2):
        with pytest.raises(EpisodeError):
            dataset.open(number)
    with pytest.raises(EpisodeError):
        open_dataset(tmp_path / "c.h5").open(0)


def test_a_file_is_closed_when_nobody_uses_its_streams(tmp_path: Path) -> None:
    for number in range(4):
        write_episode(tmp_path / f"{number}.h5", 1.0)
    dataset = open_dataset(tmp_path)
    gc.collect()
    assert open_files(tmp_path) == set()
    recording = replace(dataset.open(0), index=7)
    for number in dataset.episodes[1:]:
        dataset.open(number)
    gc.collect()
    assert open_files(tmp_path) == {"0.h5"}
    assert recording.signals["observations/joint_position"][0].tolist() == [1.0, 1.0, 1.0]
    del recording
    gc.collect()
    assert open_files(tmp_path) == set()


def test_a_second_link_to_a_file_is_the_same_episode(tmp_path: Path) -> None:
    write_episode(tmp_path / "one.h5", 1.0)
    (tmp_path / "accepted").mkdir()
    (tmp_path / "accepted" / "one.h5").hardlink_to(tmp_path / "one.h5")
    dataset = open_dataset(tmp_path)
    assert dataset.episodes == (0,)
    assert dataset.open(0).source == tmp_path / "one.h5"
