"""Files and folders that are there as a whole or not at all: written beside, synced, renamed.

What has its name is on the disk: a reader never sees half of it, nor does a power cut leave an
empty file under a good name. A draft has a hidden name of its own, so that two writers never share
one, and is removed when its writer fails.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from corporeal.errors import EpisodeError

# Syncs that run side by side share a commit of the file system: twenty times as quick as in turn.
_AT_ONCE = 16
# What the specification of Git LFS says of its pointers.
_MAX_POINTER, _POINTER = 1024, b"version https://git-lfs.github.com/spec/"
_SPECIAL = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
            stat.S_IFBLK: "a device"}  # fmt: skip
# Between making a file or folder and locking it, nobody takes so long.
_UNLOCKED_S = 10.0
# What file systems answer that cannot sync a folder; they do not lose names either.
_NO_FOLDER_SYNC = (errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


@contextmanager
def atomic_file(path: Path, *, sync: bool = True) -> Iterator[Path]:
    """Gives a path with the same suffix to write to; at the end it takes the place of `path`.

    Without `sync` it is whole for readers, but not after a power cut: for what is made again.
    """
    draft = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.partial{path.suffix}")
    try:
        yield draft
        if sync:
            fsync_file(draft)
        draft.replace(path)
        if sync:
            fsync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def atomic_write(path: Path, content: bytes | str, *, sync: bool = True) -> None:
    """Write a whole file, text as UTF-8; what was there stays until the new one is complete."""
    with atomic_file(path, sync=sync) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Gives an empty folder to fill; at the end it gets the name `folder`, which must be free."""
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.partial")
    draft.mkdir()
    try:
        yield draft
        publish_folder(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def publish_folder(draft: Path, folder: Path) -> None:
    """Sync all that is in a folder, and give it its name, which must be free."""
    fsync_tree(draft)
    draft.rename(folder)
    fsync_folder(folder.parent)


def publish_file(draft: Path, path: Path) -> None:
    """Sync a file and give it another name as well; raises FileExistsError when that is taken.

    The draft may be left under its old name: it is its writer's to remove.
    """
    fsync_file(draft)
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: renaming replaces, so look first.
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        draft.rename(path)
    fsync_folder(path.parent)


def refuse_pointer(path: Path) -> None:
    """Raise EpisodeError for what has no content of its own; others are let through.

    Every reader of files from outside asks first: a pointer of Git LFS is three lines of text,
    a FIFO is waited for without end, and a device such as /dev/zero never ends.
    """
    try:
        status = path.stat()
        kind = _SPECIAL.get(stat.S_IFMT(status.st_mode))
        if kind is not None:
            raise EpisodeError(f"{path}: is {kind}; expected a file. Copy its content to one.")
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_POINTER:
            return
        text = path.read_bytes()
    except (OSError, ValueError):
        return
    if text.startswith(_POINTER):
        size = re.search(rb"^size (\d{1,18})$", text, re.MULTILINE)
        amount = f"to {int(size[1])} bytes " if size else ""
        raise EpisodeError(
            f"{path}: this file is a Git LFS pointer {amount}that are not here; expected the "
            "content itself. Fetch it: git lfs pull."
        )


def refuse_links_out(folder: Path, links: Iterable[Path] | None = None) -> None:
    """Raise EpisodeError for a link below `folder` that leads out of it: `links`, or all there are.

    Whoever made a dataset could otherwise choose any file of its reader's. A snapshot in the cache
    of a hub may link to the blobs beside it.
    """
    top = Path(os.path.realpath(folder))
    homes = [top, *(above.parents[1] / "blobs" for above in (top, *top.parents)
                    if above.parent.name == "snapshots")]  # fmt: skip
    for link in _links_below(folder) if links is None else links:
        target = Path(os.path.realpath(link))
        if not any(target.is_relative_to(home) for home in homes):
            raise EpisodeError(
                f"{link}: is a link out of {folder}; expected files inside it. Put the file itself "
                "there, or name its own folder."
            )


def _links_below(folder: Path) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield Path(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A temporary folder for as long as the block; those that killed processes left are removed."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        remove_abandoned(path)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    handle = os.open(folder, os.O_RDONLY)
    try:
        take_lock(handle)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def remove_old_drafts(path: Path) -> None:
    """Remove what killed writers of `path` left beside it."""
    for draft in path.parent.glob(f".{path.stem}.*.partial{path.suffix}"):
        remove_abandoned(draft)


def remove_abandoned(path: Path) -> None:
    """Remove a file or folder of ours that nobody has locked any more: its writer was killed."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            status = os.fstat(handle)
            is_new = time.time() - status.st_mtime < _UNLOCKED_S
            if is_new or status.st_uid != os.geteuid() or not take_lock(handle):
                return
            if stat.S_ISDIR(status.st_mode):
                shutil.rmtree(path, ignore_errors=True)
            elif stat.S_ISREG(status.st_mode):
                path.unlink()
        finally:
            os.close(handle)


def take_lock(file: BinaryIO | int) -> bool:
    """Whether nobody else has the lock of this open file; it is ours until we close it, or die."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def fsync_file(path: Path) -> None:
    """Return when the content of a file is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def fsync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk: a synced file without one is lost."""
    try:
        fsync_file(folder)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def fsync_tree(folder: Path) -> None:
    """Return when all files and names below a folder are on the disk."""
    from concurrent.futures import ThreadPoolExecutor

    paths = [path for path in folder.rglob("*") if not path.is_symlink()]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(fsync_file, [path for path in paths if path.is_file()]))
        list(pool.map(fsync_folder, [folder, *(path for path in paths if path.is_dir())]))


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name; a copy where the file system has no hard links."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)
