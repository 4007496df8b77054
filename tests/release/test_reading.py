"""A release opens like any other dataset, in any process, with the split of every episode."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from corporeal.catalog.database import CatalogError
from corporeal.catalog.store import Store
from corporeal.catalog.stores.folder import FolderStore
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.errors import EpisodeError
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.release import ReleaseOptions, create_release
from corporeal.release.reading import (
    LocalCopies,
    load_release,
    release_dataset,
    release_opener,
)

Recorded = Callable[[Workspace, int], list[str]]


class Distant:
    """A folder that behaves like a store elsewhere: no file of it can be opened in place."""

    def __init__(self, root: Path) -> None:
        self._inner = FolderStore(root)
        self.fetched = 0

    is_local = False

    def path(self, digest: str) -> None:
        """No object is a file here."""

    def fetch(self, digest: str, target: Path) -> None:
        self.fetched += 1
        self._inner.fetch(digest, target)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


def test_recordings_say_their_release_and_their_split(plain: Workspace, recorded: Recorded) -> None:
    ids = recorded(plain, 4)
    create_release(plain, "waves", ReleaseOptions(splits={"train": 0.5, "test": 0.5}), who="lead")
    dataset = release_dataset(plain, "waves")
    manifest = load_release(plain, "waves")
    opened = [dataset.open(number) for number in dataset.episodes]
    assert [each.id for each in opened] == sorted(ids)
    assert [each.index for each in opened] == [0, 1, 2, 3]
    assert [each.metadata["split"] for each in opened] == [each.split for each in manifest.episodes]
    assert {each.metadata["release"] for each in opened} == {"waves@1.0.0"}
    assert opened[0].metadata["task"] == "wave"
    with Episode.open(opened[0].source) as episode:
        assert manifest.episodes[0].content_hash == episode.content_hash
    only = release_dataset(plain, "waves", splits=["test"])
    assert {only.open(number).metadata["split"] for number in only.episodes} == {"test"}
    with pytest.raises(CatalogError, match="expected one of: test, train"):
        release_dataset(plain, "waves", splits=["dev"])
    with pytest.raises(EpisodeError, match="expected 0 to 3"):
        dataset.open(4)


def test_the_opener_travels_and_keeps_its_version(plain: Workspace, recorded: Recorded) -> None:
    recorded(plain, 2)
    create_release(plain, "waves", who="lead")
    opener = pickle.loads(pickle.dumps(release_opener(plain, "waves")))
    create_release(plain, "waves", ReleaseOptions(seed=5, version="7.0.0"), who="lead")
    assert opener().open(0).metadata["release"] == "waves@1.0.0"


@pytest.mark.slow
def test_a_release_is_exported(plain: Workspace, recorded: Recorded, tmp_path: Path) -> None:
    recorded(plain, 3)
    create_release(plain, "waves", who="lead")
    out = tmp_path / "dataset"
    export(release_opener(plain, "waves"), out, "lerobot", ExportOptions(jobs=2))
    assert len(open_dataset(out).episodes) == 3


def test_a_distant_store_is_read_through_a_bounded_cache(
    plain: Workspace, recorded: Recorded, tmp_path: Path
) -> None:
    recorded(plain, 3)
    create_release(plain, "waves", who="lead")
    members = load_release(plain, "waves").episodes
    store = Distant(plain.root / "objects")
    copies = LocalCopies(store, tmp_path / "cache", limit=2 * members[0].bytes + 100)  # type: ignore[arg-type]
    for _ in range(2):
        paths = [copies.path(each.hash, each.bytes) for each in members[:2]]
    assert store.fetched == 2
    copies.path(members[2].hash, members[2].bytes)
    assert [path.exists() for path in paths] == [False, True]
    with pytest.raises(CatalogError, match="expected 5 bytes"):
        copies.path(members[0].hash, 5)


@pytest.mark.slow
def test_a_release_in_a_bucket_opens(plain: Workspace, recorded: Recorded, s3_store: Store) -> None:
    bucket = Workspace(plain.root, plain.name, plain.database, s3_store)
    ids = recorded(bucket, 2)
    create_release(bucket, "waves", who="lead")
    dataset = release_dataset(bucket, "waves")
    assert [dataset.open(number).id for number in dataset.episodes] == sorted(ids)
    assert len(list((plain.root / "cache" / "episodes").iterdir())) == 2
