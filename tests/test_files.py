"""A name is given to what is whole and on the disk; a writer that fails leaves nothing behind."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from corporeal.files import (
    atomic_file,
    atomic_folder,
    atomic_write,
    fsync_folder,
    fsync_tree,
    link_or_copy,
    publish_file,
    publish_folder,
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
