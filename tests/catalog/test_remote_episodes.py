"""Episodes are read straight out of a store, an S3 server among them, by a few ranges."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.catalog.s3_server import S3Server

from corporeal.catalog.store import Store, StoreError, open_remote
from corporeal.catalog.store.remote_episode import remote_dataset
from corporeal.catalog.store.store import Abilities, open_store
from corporeal.embodiment import open_robot
from corporeal.episode import Episode, EpisodeWriter
from corporeal.episode.recording import recording_of
from corporeal.quality.inspection import InspectionOptions, inspect, inspect_recording
from corporeal.quality.policy import default_policy
from corporeal.testing import Workload

_S3 = [pytest.mark.slow, pytest.mark.xdist_group("s3")]
_CAMERA = "observations/head_left"


class Counted:
    """A store that counts what is asked of it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.url = store.url
        self.requests = 0
        self.bytes = 0

    def put(
        self, source: Path, *, retain_until: datetime | None = None, replace: bool = False
    ) -> str:
        return self.store.put(source, retain_until=retain_until, replace=replace)

    def has(self, digest: str) -> int | None:
        self.requests += 1
        return self.store.has(digest)

    def fetch(self, digest: str, target: Path) -> None:
        self.store.fetch(digest, target)

    def read(self, digest: str, start: int, count: int) -> bytes:
        self.requests += 1
        self.bytes += count
        return self.store.read(digest, start, count)

    def erase(self, digest: str) -> None:
        self.store.erase(digest)

    def digests(self) -> Iterator[str]:
        return self.store.digests()

    is_local = False

    def path(self, digest: str) -> None:
        """Nothing here is a file."""

    def abilities(self) -> Abilities:
        return self.store.abilities()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of a humanoid with cameras of 240 x 320."""
    workload = Workload(open_robot("g1"), duration_s=2.0, size=(240, 320))
    path = tmp_path_factory.mktemp("recorded") / "episode.h5"
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


@pytest.fixture(params=["folder", pytest.param("s3", marks=_S3)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "folder":
        return open_store("objects", root=tmp_path)
    server: S3Server = request.getfixturevalue("s3_server")
    return server.open(server.locked)


def test_an_episode_in_a_store_reads_as_its_file(store: Store, recorded: Path) -> None:
    digest = store.put(recorded)
    with Episode.open(recorded) as local, open_remote(store, digest) as remote:
        assert str(remote.path) == f"{digest}.h5"
        assert list(remote) == list(local)
        assert (remote.id, remote.metadata, remote.documents) == (
            local.id,
            local.metadata,
            local.documents,
        )
        for path in local:
            assert np.array_equal(remote[path].time_ns, local[path].time_ns)
            few = slice(0, 7)
            assert repr(remote[path][few]) == repr(local[path][few])


def test_joints_and_ten_pictures_take_few_requests_and_bytes(store: Store, recorded: Path) -> None:
    counted = Counted(store)
    digest = counted.put(recorded)
    with open_remote(counted, digest) as episode:
        assert counted.requests <= 5
        episode["observations/joint_position"][:]
        camera = episode[_CAMERA]
        for number in random.Random(1).sample(range(len(camera)), 10):
            assert camera[number].shape == (240, 320, 3)
    assert counted.requests <= 24
    assert counted.bytes < recorded.stat().st_size / 2


def test_checks_find_the_same_in_a_store_as_in_a_file(store: Store, recorded: Path) -> None:
    digest = store.put(recorded)
    request = InspectionOptions(policy=default_policy(), pictures=False)
    with Episode.open(recorded) as local:
        expected = inspect_recording(recording_of(local), request)
    opener = partial(remote_dataset, store, [digest])
    report = inspect(pickle.loads(pickle.dumps(opener)), request, on="serial")
    (found,) = report.episodes
    assert found.findings == expected.findings
    assert found.id == expected.id


def test_an_episode_that_is_not_there_or_is_another_object_is_said(
    store: Store, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match="is not in the store"):
        open_remote(store, "sha256:" + "0" * 64)
    (tmp_path / "text").write_text("no episode")
    digest = store.put(tmp_path / "text")
    with pytest.raises(Exception, match=f"{digest}.h5: is not an HDF5 file"):
        open_remote(store, digest)
    assert remote_dataset(store, [digest]).episodes == (0,)
    with pytest.raises(Exception, match="expected 0 to 0"):
        remote_dataset(store, [digest]).open(1)
