"""A name is given to what is whole and on the disk; a writer that fails leaves nothing behind."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from corporeal.errors import EpisodeError
from corporeal.files import (
    atomic_file,
    atomic_folder,
    atomic_write,
    fsync_folder,
    fsync_tree,
    link_or_copy,
    publish_file,
    publish_folder,
    refuse_links_out,
    remove_old_drafts,
    scratch_folder,
)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is synced and renamed, in order."""
    done: list[tuple[str, str]] = []
    fsync, replace, rename = os.fsync, Path.replace, Path.rename

    def watch_fsync(handle: int) -> None:
        done.append(("sync", Path(f"/proc/self/fd/{handle}").readlink().name))
        fsync(handle)

    def watch_replace(path: Path, target: Path) -> Path:
        done.append(("rename", target.name))
        return replace(path, target)

    def watch_rename(path: Path, target: Path) -> Path:
        done.append(("rename", target.name))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", watch_fsync)
    monkeypatch.setattr(Path, "replace", watch_replace)
    monkeypatch.setattr(Path, "rename", watch_rename)
    return done


def test_a_file_is_synced_before_it_is_renamed_and_its_folder_after(
    tmp_path: Path, steps: list[tuple[str, str]]
) -> None:
    path = tmp_path / "a.json"
    with atomic_file(path) as draft:
        draft.write_text("one")
        assert draft.suffix == ".json"
        assert draft.name.startswith(".")
        assert not path.exists()
    assert path.read_text() == "one"
    assert steps == [("sync", draft.name), ("rename", "a.json"), ("sync", tmp_path.name)]


def test_what_is_made_again_need_not_be_synced(
    tmp_path: Path, steps: list[tuple[str, str]]
) -> None:
    atomic_write(tmp_path / "a", b"one", sync=False)
    assert (tmp_path / "a").read_bytes() == b"one"
    assert steps == [("rename", "a")]


def test_text_is_written_as_utf_8_with_the_rights_of_any_new_file(tmp_path: Path) -> None:
    atomic_write(tmp_path / "a", "ä\n")
    assert (tmp_path / "a").read_bytes() == "ä\n".encode()
    (tmp_path / "b").touch()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


@pytest.mark.parametrize("atomic", [atomic_file, atomic_folder])
def test_a_writer_that_fails_leaves_nothing_behind(
    tmp_path: Path, atomic: Callable[[Path], AbstractContextManager[Path]]
) -> None:
    def fail() -> None:
        with atomic(tmp_path / "new") as draft:
            (draft / "part" if draft.is_dir() else draft).write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_stays_when_a_writer_fails(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def fail() -> None:
        with atomic_file(path) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_synced_gets_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        atomic_write(tmp_path / "a", "x")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="Input/output"):
        fsync_folder(tmp_path)


def test_a_file_system_that_cannot_sync_folders_is_good_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refuse)
    fsync_folder(tmp_path)


def test_a_folder_appears_with_everything_in_it_synced(
    tmp_path: Path, steps: list[tuple[str, str]]
) -> None:
    with atomic_folder(tmp_path / "new") as draft:
        (draft / "in").mkdir()
        (draft / "in" / "a").write_text("x")
        (draft / "link").symlink_to("/nowhere")
        assert not (tmp_path / "new").exists()
    assert (tmp_path / "new" / "in" / "a").read_text() == "x"
    assert [name for name in tmp_path.iterdir() if name.name != "new"] == []
    at = steps.index(("rename", "new"))
    assert sorted(steps[:at]) == sorted([("sync", "a"), ("sync", "in"), ("sync", draft.name)])
    assert steps[at + 1 :] == [("sync", tmp_path.name)]


def test_every_file_of_many_is_synced_and_an_error_is_told(
    tmp_path: Path, steps: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        (tmp_path / str(number)).touch()
    fsync_tree(tmp_path)
    assert {name for _, name in steps} == {*map(str, range(100)), tmp_path.name}
    assert steps[-1] == ("sync", tmp_path.name)

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        fsync_tree(tmp_path)


def test_a_folder_does_not_take_the_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "a").touch()
    (tmp_path / "draft").mkdir()
    with pytest.raises(OSError, match="not empty"):
        publish_folder(tmp_path / "draft", tmp_path / "taken")
    assert (tmp_path / "taken" / "a").exists()


@pytest.mark.parametrize("has_links", [True, False])
def test_a_name_is_given_once(
    tmp_path: Path, has_links: bool, steps: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not has_links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    for text in ("first", "second"):
        (tmp_path / text).write_text(text)
    publish_file(tmp_path / "first", tmp_path / "name")
    assert steps[0] == ("sync", "first")
    assert steps[-1] == ("sync", tmp_path.name)
    with pytest.raises(FileExistsError):
        publish_file(tmp_path / "second", tmp_path / "name")
    assert (tmp_path / "name").read_text() == "first"


@pytest.mark.parametrize("has_links", [True, False])
def test_a_second_name_is_a_link_or_a_copy(
    tmp_path: Path, has_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not has_links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("content")
    link_or_copy(source, target)
    assert target.read_text() == "content"
    assert target.samefile(source) is has_links


def test_links_stay_inside_a_folder_and_the_cache_of_its_hub(tmp_path: Path) -> None:
    folder = tmp_path / "datasets--a--b" / "snapshots" / "1f2e"
    (folder / "data").mkdir(parents=True)
    (folder / "table").touch()
    (folder / "data" / "inside").symlink_to(folder / "table")
    (folder / "data" / "loop").symlink_to(folder / "data" / "loop")
    blobs = folder.parents[1] / "blobs"
    blobs.mkdir()
    (blobs / "77").touch()
    (folder / "data" / "cached").symlink_to("../../../blobs/77")
    refuse_links_out(folder)
    (tmp_path / "by_link").symlink_to(folder)
    refuse_links_out(tmp_path / "by_link")
    (folder / "data" / "secret").symlink_to("/etc/hostname")
    with pytest.raises(EpisodeError, match=r"data/secret: is a link out of .*; expected files in"):
        refuse_links_out(folder)


def test_blobs_that_are_a_link_themselves_open_no_way_out(tmp_path: Path) -> None:
    folder = tmp_path / "set" / "snapshots" / "1"
    folder.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "key").touch()
    (tmp_path / "set" / "blobs").symlink_to(tmp_path / "elsewhere")
    (folder / "key").symlink_to("../../blobs/key")
    with pytest.raises(EpisodeError, match="is a link out of"):
        refuse_links_out(folder)


_KILLED = """
import os, sys, tempfile
from corporeal.files import scratch_folder
tempfile.tempdir = sys.argv[1]
with scratch_folder("scratch-") as folder:
    (folder / "half").touch()
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    with scratch_folder("scratch-") as mine:
        assert left.exists(), "its owner may be about to lock it"
        for folder in (left, mine):
            os.utime(folder, (0, 0))
        with scratch_folder("scratch-"):
            assert not left.exists()
            assert mine.exists(), "its owner is alive"
    assert list(tmp_path.iterdir()) == []


def test_drafts_of_killed_writers_are_removed(tmp_path: Path) -> None:
    names = ("health.00aa", "health.11bb", "other.22cc")
    old, new, other = (tmp_path / f".{name}.partial.json" for name in names)
    for path in (old, new, other):
        path.touch()
    for path in (old, other):
        os.utime(path, (0, 0))
    remove_old_drafts(tmp_path / "health.json")
    assert sorted(tmp_path.iterdir()) == sorted([new, other])
