"""Objects in a folder survive killed writers, full disks, cut files and planted links."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from corporeal.catalog.store import Store, StoreError, verify_store
from corporeal.catalog.store.store import digest_of, open_store
from corporeal.catalog.stores.folder import open_folder
from corporeal.files import take_lock


@pytest.fixture
def folder(tmp_path: Path) -> Store:
    return open_store("objects", root=tmp_path)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Makes a file of these bytes."""

    def make(content: bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return make


def _file_of(store: Store, digest: str) -> Path:
    name = digest.removeprefix("sha256:")
    return Path(store.url) / name[:2] / name[2:4] / name


def test_objects_in_a_folder_are_read_only(folder: Store, write: Callable[..., Path]) -> None:
    path = _file_of(folder, folder.put(write(b"mine")))
    assert stat.S_IMODE(path.stat().st_mode) == 0o444


def test_a_cut_off_object_is_found_and_mended_by_putting_it_again(
    folder: Store, write: Callable[..., Path], tmp_path: Path
) -> None:
    source = write(b"x" * 100)
    digest = folder.put(source)
    stored = _file_of(folder, digest)
    stored.chmod(0o644)
    os.truncate(stored, 40)
    assert [lost.digest for lost in verify_store(folder)] == [digest]
    with pytest.raises(StoreError, match="damaged"):
        folder.fetch(digest, tmp_path / "back")
    assert not (tmp_path / "back").exists()
    assert folder.put(source) == digest
    assert list(verify_store(folder)) == []


def test_a_changed_byte_is_found(folder: Store, write: Callable[..., Path], tmp_path: Path) -> None:
    digest = folder.put(write(b"x" * 100))
    stored = _file_of(folder, digest)
    stored.chmod(0o644)
    stored.write_bytes(b"x" * 99 + b"y")
    (lost,) = verify_store(folder)
    assert lost.digest == digest
    assert "100 bytes do not match" in lost.reason
    with pytest.raises(StoreError, match="damaged"):
        folder.fetch(digest, tmp_path / "back")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "file", tmp_path / "objects"]


_KILLED = """
import os, sys
from pathlib import Path
from corporeal.catalog.stores import folder
write = os.write
def die(handle, block):
    write(handle, block[: len(block) // 2])
    os.kill(os.getpid(), 9)
os.write = die
folder.FolderStore(Path(sys.argv[1])).put(Path(sys.argv[2]))
"""


def test_a_killed_writer_leaves_no_object_and_its_rest_is_swept(
    folder: Store, write: Callable[..., Path]
) -> None:
    source = write(os.urandom(1000))
    done = subprocess.run([sys.executable, "-c", _KILLED, folder.url, str(source)], check=False)
    assert done.returncode == -9
    (rest,) = (Path(folder.url) / "incoming").iterdir()
    assert rest.stat().st_size == 500
    assert list(folder.digests()) == []
    open_folder(folder.url, Path(), {})
    assert rest.exists(), "its writer may be about to lock it"
    yesterday = time.time() - 2 * 86_400
    os.utime(rest, (yesterday, yesterday))
    other = rest.with_name("notes of somebody")
    other.touch()
    os.utime(other, (yesterday, yesterday))
    with rest.open("rb") as file:
        assert take_lock(file)
        open_folder(folder.url, Path(), {})
        assert rest.exists(), "its writer is alive"
    open_folder(folder.url, Path(), {})
    assert not rest.exists()
    assert other.exists()


_FULL = """
import resource, sys
from pathlib import Path
from corporeal.catalog.store.store import StoreError
from corporeal.catalog.stores.folder import FolderStore
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    FolderStore(Path(sys.argv[1])).put(Path(sys.argv[2]))
except StoreError as error:
    sys.exit(str(error))
"""


def test_no_room_is_one_sentence_and_leaves_nothing(
    folder: Store, write: Callable[..., Path]
) -> None:
    source = write(os.urandom(100_000))
    command = [sys.executable, "-c", _FULL, folder.url, str(source)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"{folder.url}: File too large. Nothing was left half done.\n"
    assert list((Path(folder.url) / "incoming").iterdir()) == []
    assert list(folder.digests()) == []


def test_a_planted_link_does_not_lead_out_of_the_folder(
    folder: Store, write: Callable[..., Path], tmp_path: Path
) -> None:
    source = write(b"object")
    digest = digest_of(source)
    name = digest.removeprefix("sha256:")
    outside = tmp_path / "outside"
    outside.mkdir()
    Path(folder.url).mkdir()
    (Path(folder.url) / name[:2]).symlink_to(outside)
    with pytest.raises(StoreError, match="leads out"):
        folder.put(source)
    assert not list(outside.rglob(name))


def test_addresses_name_their_kind(tmp_path: Path) -> None:
    assert open_store("objects", root=tmp_path).url == str(tmp_path / "objects")
    assert open_store(f"file://{tmp_path}/far", root=Path("elsewhere")).url == f"{tmp_path}/far"
    with pytest.raises(StoreError, match="expected a folder or one of: file, s3"):
        open_store("ftp://host/path", root=tmp_path)
    with pytest.raises(StoreError, match="a folder has none"):
        open_store("objects", root=tmp_path, options={"endpoint": "x"})
