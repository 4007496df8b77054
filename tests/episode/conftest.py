"""Small episodes: the synthetic workload, and one with a stream of every kind."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import settings

from corporeal.embodiment import Embodiment, open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.schema import Schema
from corporeal.testing import Workload

# Files are synced to disk, which takes as long as it takes.
settings.register_profile("files", deadline=None)
settings.load_profile("files")

MS = 1_000_000

Samples = dict[str, list[tuple[int, Any]]]

EVERY_KIND: list[dict[str, Any]] = [
    {"name": "arm", "group": "observations", "shape": [3], "rate_hz": 100, "unit": "rad"},
    {
        "name": "pose",
        "group": "debug",
        "shape": [7],
        "rate_hz": 50,
        "frame": "world",
        "components": ["x", "y", "z", "qw", "qx", "qy", "qz"],
    },
    {"name": "flag", "group": "debug", "dtype": "bool", "rate_hz": 50},
    {"name": "cloud", "group": "observations", "kind": "points", "shape": [4], "rate_hz": 10},
    {"name": "words", "group": "observations", "kind": "text"},
    {"name": "depth", "group": "observations", "kind": "depth", "shape": [16, 20], "rate_hz": 30},
    {"name": "camera", "group": "observations", "kind": "video", "shape": [32, 48, 3],
     "rate_hz": 30},
    {"name": "target", "group": "actions", "shape": [3], "rate_hz": 50, "unit": "rad"},
]  # fmt: skip


def _schema(streams: list[dict[str, Any]]) -> Schema:
    return Schema.model_validate(
        {"document": "schema", "name": "small", "version": "1.0.0", "streams": streams}
    )


def _picture(number: int) -> np.ndarray[Any, Any]:
    rows, columns = np.mgrid[:32, :48]
    red = 40 + 4 * rows + number
    green = 30 + 4 * columns - number
    return np.stack([red, green, 128 + 8 * ((rows + columns + number) % 9)], -1).astype(np.uint8)


def _every_sample() -> Samples:
    rng = np.random.default_rng(5)
    quaternion = rng.normal(size=(10, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    pose = np.concatenate([rng.normal(size=(10, 3)), quaternion], axis=1).astype(np.float32)
    return {
        "observations/arm": [
            (10 * MS * i, rng.normal(size=3).astype(np.float32)) for i in range(20)
        ],
        "debug/pose": [(20 * MS * i + 3, pose[i]) for i in range(10)],
        "debug/flag": [(20 * MS * i, i % 3 == 0) for i in range(10)],
        "observations/cloud": [
            (100 * MS * i, rng.normal(size=(5 * i, 4)).astype(np.float32)) for i in range(3)
        ],
        "observations/words": [(0, "pick up the box"), (90 * MS, ""), (150 * MS, "naïve 箱 🤖")],
        "observations/depth": [
            (33 * MS * i, rng.integers(0, 65536, (16, 20)).astype(np.uint16)) for i in range(6)
        ],
        "observations/camera": [(33 * MS * i, _picture(i)) for i in range(6)],
        "actions/target": [(20 * MS * i, rng.normal(size=3).astype(np.float32)) for i in range(10)],
    }


@pytest.fixture(scope="session")
def robot() -> Embodiment:
    """A built-in humanoid."""
    return open_robot("g1")


@pytest.fixture(scope="session")
def workload(robot: Embodiment) -> Workload:
    """Half a second with small pictures."""
    return Workload(robot, duration_s=0.5, size=(48, 64))


@pytest.fixture(scope="session")
def recording(workload: Workload, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workload as a file; never change it."""
    path = tmp_path_factory.mktemp("recording") / "episode.h5"
    with EpisodeWriter(
        path,
        schema=workload.schema,
        embodiment=workload.embodiment,
        metadata=workload.metadata,
        epoch_ns=1_700_000_000_000_000_000,
    ) as writer:
        for sample in workload.samples():
            writer.append(*sample)
    return path


@pytest.fixture(scope="session")
def make_schema() -> Callable[..., Schema]:
    """Gives a schema of these streams."""
    return lambda *streams: _schema(list(streams))


@pytest.fixture(scope="session")
def every_sample() -> Samples:
    """What is in `every_kind`: (time_ns, value) by stream."""
    return _every_sample()


@pytest.fixture(scope="session")
def every_schema() -> Schema:
    """The schema of `every_kind`."""
    return _schema(EVERY_KIND)


@pytest.fixture(scope="session")
def every_kind(
    every_sample: Samples, every_schema: Schema, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A tiny episode with a stream of every kind; never change it."""
    path = tmp_path_factory.mktemp("every") / "every.h5"
    metadata = {"task": "test", "operator": "op07"}
    with EpisodeWriter(path, schema=every_schema, metadata=metadata, epoch_ns=5) as writer:
        for stream, samples in every_sample.items():
            for stamp, value in samples:
                writer.append(stream, stamp, value)
    return path


@pytest.fixture
def changed(every_kind: Path, tmp_path: Path) -> Callable[[Callable[[h5py.File], None]], Path]:
    """Gives a copy of `every_kind` that a function has changed through h5py."""

    def change(edit: Callable[[h5py.File], None]) -> Path:
        path = tmp_path / "changed.h5"
        shutil.copyfile(every_kind, path)
        with h5py.File(path, "r+") as file:
            edit(file)
        return path

    return change


@pytest.fixture
def every_episode(every_kind: Path) -> Iterator[Episode]:
    """`every_kind`, open."""
    with Episode.open(every_kind) as episode:
        yield episode
