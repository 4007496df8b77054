"""A release opens like any other dataset, in any process, with the split of every episode."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from corporeal.catalog.database import CatalogError
from corporeal.catalog.store import LocalCopies, Store, StoreError, digest_of
from corporeal.catalog.stores.folder import FolderStore
from corporeal.catalog.workspace import Workspace
from corporeal.cli.program import program
from corporeal.episode import Episode
from corporeal.errors import EpisodeError
from corporeal.exchange.conversion import export
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.release import ReleaseOptions, create_release
from corporeal.release.reading import (
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
    bucket = replace(plain, store=s3_store)
    ids = recorded(bucket, 2)
    create_release(bucket, "waves", who="lead")
    dataset = release_dataset(bucket, "waves")
    assert [dataset.open(number).id for number in dataset.episodes] == sorted(ids)
    assert len(list((plain.root / "cache" / "episodes").iterdir())) == 2


def _forge(workspace: Workspace, digest: str) -> None:
    """Change one bit of an object; its size stays."""
    path = workspace.store.path(digest)
    assert path is not None
    forged = bytearray(path.read_bytes())
    forged[len(forged) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(forged)


@pytest.mark.slow
def test_an_export_says_that_objects_match_and_writes_nothing_of_a_forged_one(
    plain: Workspace, recorded: Recorded, tmp_path: Path
) -> None:
    recorded(plain, 2)
    create_release(plain, "waves", who="lead")
    asked = ["export", "waves", "--workspace", str(plain.root), "--format", "lerobot", "--json"]
    good = CliRunner().invoke(program(), [*asked, "--out", str(tmp_path / "good")])
    assert "2 objects match the manifest" in good.stdout
    _forge(plain, load_release(plain, "waves").episodes[1].hash)
    bad = CliRunner().invoke(program(), [*asked, "--out", str(tmp_path / "bad")])
    assert isinstance(bad.exception, StoreError)
    assert not list(tmp_path.glob("bad*"))


def test_a_forged_object_of_a_release_is_refused(plain: Workspace, recorded: Recorded) -> None:
    recorded(plain, 2)
    create_release(plain, "walks", who="lead")
    dataset = release_dataset(plain, "walks")
    dataset.open(0)
    member = load_release(plain, "walks").episodes[0]
    _forge(plain, member.hash)
    with pytest.raises(StoreError, match="do not match its hash"):
        dataset.open(0)


def test_a_forged_copy_of_the_cache_is_fetched_again(
    plain: Workspace, recorded: Recorded, tmp_path: Path
) -> None:
    recorded(plain, 1)
    create_release(plain, "walks", who="lead")
    member = load_release(plain, "walks").episodes[0]
    store = Distant(plain.root / "objects")
    copies = LocalCopies(store, tmp_path / "cache")  # type: ignore[arg-type]
    copy = copies.path(member.hash, member.bytes)
    copies.path(member.hash, member.bytes)
    assert store.fetched == 1
    copy.chmod(0o600)
    copy.write_bytes(bytes(member.bytes))
    assert digest_of(copies.path(member.hash, member.bytes)) == member.hash
    assert store.fetched == 2
