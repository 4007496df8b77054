"""What every object store does: a folder, and a real S3 server with and without object lock."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.catalog.s3_server import S3Server

from corporeal.catalog.store import Store, StoreError, blocks_of, verify_store
from corporeal.catalog.store.store import digest_of, open_store

_S3 = [pytest.mark.slow, pytest.mark.xdist_group("s3")]
_ABSENT = "sha256:" + "0" * 64


@pytest.fixture(
    params=["folder", pytest.param("held", marks=_S3), pytest.param("plain", marks=_S3)]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store of every kind; add a kind here and it has to keep the whole contract."""
    if request.param == "folder":
        return open_store("objects", root=tmp_path)
    server: S3Server = request.getfixturevalue("s3_server")
    return server.open(server.locked if request.param == "held" else server.plain)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Makes a file of these bytes."""

    def make(content: bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return make


def test_a_stored_file_comes_back_as_it_was(
    store: Store, write: Callable[..., Path], tmp_path: Path
) -> None:
    content = os.urandom(300_000)
    digest = store.put(write(content))
    assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert store.has(digest) == len(content)
    assert store.read(digest, 7, 100) == content[7:107]
    assert store.read(digest, len(content), 0) == b""
    store.fetch(digest, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == content
    assert list(verify_store(store)) == []


def test_an_empty_file_is_an_object(
    store: Store, write: Callable[..., Path], tmp_path: Path
) -> None:
    digest = store.put(write(b""))
    assert store.has(digest) == 0
    assert list(verify_store(store, [digest])) == []
    store.fetch(digest, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b""


def test_a_file_of_many_parts_comes_back_as_it_was(
    store: Store, write: Callable[..., Path]
) -> None:
    content = os.urandom(1 << 20) * 37
    path = write(content)
    digest = store.put(path)
    assert store.put(path) == digest
    assert b"".join(blocks_of(store, digest, len(content))) == content
    assert list(verify_store(store, [digest])) == []


def test_the_same_file_twice_is_one_object(store: Store, write: Callable[..., Path]) -> None:
    first = store.put(write(b"same", "one"))
    second = store.put(write(b"same", "two"))
    other = store.put(write(b"other", "three"))
    assert first == second
    assert list(store.digests()) == sorted([first, other])


def test_writers_at_the_same_time_leave_one_whole_object_each(
    store: Store, write: Callable[..., Path]
) -> None:
    paths = [write(os.urandom(200_000), f"file{number}") for number in range(3)]
    failures: list[BaseException] = []

    def put_all() -> None:
        try:
            for path in paths:
                store.put(path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=put_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert list(store.digests()) == sorted(map(digest_of, paths))
    assert list(verify_store(store)) == []


def test_what_is_not_there_is_said(store: Store, tmp_path: Path) -> None:
    assert store.has(_ABSENT) is None
    with pytest.raises(StoreError, match="is not in the store"):
        store.read(_ABSENT, 0, 1)
    with pytest.raises(StoreError, match="is not in the store"):
        store.fetch(_ABSENT, tmp_path / "back")
    assert not (tmp_path / "back").exists()
    assert [lost.reason for lost in verify_store(store, [_ABSENT])] == ["is not in the store"]
    store.erase(_ABSENT)
    assert list(store.digests()) == []


def test_an_erased_object_is_gone_and_can_be_put_again(
    store: Store, write: Callable[..., Path]
) -> None:
    path = write(b"gone")
    digest = store.put(path)
    store.erase(digest)
    assert store.has(digest) is None
    assert list(store.digests()) == []
    assert store.put(path) == digest
    assert store.has(digest) == 4


@pytest.mark.parametrize("start", [-1, 3, 4, 1 << 40])
def test_a_read_outside_of_an_object_is_refused(
    store: Store, write: Callable[..., Path], start: int
) -> None:
    digest = store.put(write(b"four"))
    with pytest.raises(StoreError, match=r"expected 0 or above|ends before byte"):
        store.read(digest, start, 2)


@pytest.mark.parametrize("name", ["../../etc/passwd", "sha256:" + "A" * 64, "sha256:../" + "0" * 61,
                                  "0" * 64, _ABSENT + "\n", ""])  # fmt: skip
def test_only_a_hash_names_an_object(store: Store, name: str, tmp_path: Path) -> None:
    for use in (store.has, store.erase, lambda each: store.read(each, 0, 1),
                lambda each: store.fetch(each, tmp_path / "back")):  # fmt: skip
        with pytest.raises(StoreError, match="expected sha256: and 64 hex digits"):
            use(name)


def test_an_object_is_not_fetched_over_a_file(
    store: Store, write: Callable[..., Path], tmp_path: Path
) -> None:
    digest = store.put(write(b"new"))
    mine = write(b"mine", "mine")
    with pytest.raises(StoreError, match="there already"):
        store.fetch(digest, mine)
    assert mine.read_bytes() == b"mine"


def test_a_file_that_is_not_there_is_said(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        store.put(tmp_path / "nothing")


def test_a_store_can_be_sent_to_another_process(store: Store, write: Callable[..., Path]) -> None:
    digest = store.put(write(b"shared"))
    assert b"SECRET" not in pickle.dumps(store)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_read_there, (store, digest)) == b"shared"


def _read_there(store: Store, digest: str) -> bytes:
    return store.read(digest, 0, 6)


def test_abilities_are_tried_and_leave_nothing(
    store: Store, request: pytest.FixtureRequest
) -> None:
    found = store.abilities()
    assert found.create_only
    assert found.write_once is ("held" in request.node.callspec.id)
    assert list(store.digests()) == []


def test_a_store_without_object_lock_does_not_pretend_to_hold(
    store: Store, write: Callable[..., Path], request: pytest.FixtureRequest
) -> None:
    if "held" in request.node.callspec.id:
        pytest.skip("this one has object lock")
    until = datetime.now(UTC) + timedelta(days=1)
    with pytest.raises(StoreError, match="hold"):
        store.put(write(b"hold me"), retain_until=until)
