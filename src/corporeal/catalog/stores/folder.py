"""A folder: objects as read-only files under the first digits of their hash."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from corporeal.catalog.store.store import (
    Abilities,
    StoreError,
    StoreKind,
    blocks_of,
    check_digest,
    check_span,
    digest_of,
    ends_early,
    not_there,
    place_checked,
)
from corporeal.files import fsync_folder, publish_file, remove_abandoned, take_lock

_INCOMING = "incoming"
_BLOCK = 4 << 20
_HEX = re.compile(r"[0-9a-f]{64}")
_DRAFT = re.compile(r"tmp[a-z0-9_]{8}")


class FolderStore:
    """`root/ab/cd/<hex>`. A file gets its name by a hard link, whole, synced and only once.

    Being read-only keeps objects from mistakes, not from their owner: a folder cannot hold them
    against deletion, and says so.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def url(self) -> str:
        """The folder."""
        return str(self.root)

    @property
    def is_local(self) -> bool:
        """A folder is."""
        return True

    def put(
        self, source: Path, *, retain_until: datetime | None = None, replace: bool = False
    ) -> str:
        """Store a file; one of its size that is there is written again only to `replace` it."""
        if retain_until is not None:
            raise StoreError(
                f"{self.url}: a folder cannot hold objects against deletion; expected a store with "
                "object lock. Use s3://bucket, or leave the date out."
            )
        with _explained(source):
            digest, size = digest_of(source), source.stat().st_size
        if not replace and self.has(digest) == size:
            return digest
        with _explained(self.root):
            incoming = self.root / _INCOMING
            self._make_private()
            incoming.mkdir(exist_ok=True)
            self._place(source, digest, incoming)
        return digest

    def _place(self, source: Path, digest: str, incoming: Path) -> None:
        handle, name = tempfile.mkstemp(dir=incoming)
        partial = Path(name)
        try:
            # Locked until it has its name, so that nobody takes it for what a kill left behind.
            with os.fdopen(handle, "wb") as file:
                take_lock(file)
                _copy(source, file.fileno(), digest)
                target = self.path(digest)
                _make_folders(target.parent, self.root)
                try:
                    publish_file(partial, target)
                except FileExistsError:
                    # Cut off, or put by another writer just now with the same bytes. The whole
                    # file may take its place.
                    partial.replace(target)
                    fsync_folder(target.parent)
        finally:
            partial.unlink(missing_ok=True)

    def has(self, digest: str) -> int | None:
        """The size of an object; None when it is not there."""
        path = self.path(digest)
        with _explained(path):
            return path.stat().st_size if path.is_file() and not path.is_symlink() else None

    def fetch(self, digest: str, target: Path) -> None:
        """Copy an object into a new file, checked on the way."""
        size = self.has(digest)
        if size is None:
            raise not_there(digest)
        place_checked(blocks_of(self, digest, size), digest, target)

    def read(self, digest: str, start: int, count: int) -> bytes:
        """Some bytes of an object."""
        check_span(digest, start, count)
        path = self.path(digest)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            raise not_there(digest) from None
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}.") from None
        try:
            with _explained(path):
                block = os.pread(handle, count, start)
        finally:
            os.close(handle)
        if len(block) != count:
            raise ends_early(digest, start + count)
        return block

    def erase(self, digest: str) -> None:
        """Remove an object."""
        path = self.path(digest)
        with _explained(path), contextlib.suppress(FileNotFoundError):
            path.unlink()
            fsync_folder(path.parent)

    def digests(self) -> Iterator[str]:
        """All objects, in order."""
        for first in _names(self.root, 2):
            for second in _names(self.root / first, 2):
                for name in _names(self.root / first / second, 64):
                    if name.startswith(first + second) and _HEX.fullmatch(name):
                        yield f"sha256:{name}"

    def abilities(self) -> Abilities:
        """Nothing is held here; whether a name is given only once is tried."""
        with _explained(self.root):
            self._make_private()
            with tempfile.TemporaryDirectory(dir=self.root, prefix=".try-") as name:
                return Abilities(write_once=False, create_only=_links_once(Path(name)))

    def _make_private(self) -> None:
        """The folder for its owner alone: recordings show people. One that is there stays so."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)

    def path(self, digest: str) -> Path:
        """Where an object lies, whether it is there or not."""
        name = check_digest(digest)
        return self.root / name[:2] / name[2:4] / name


def _copy(source: Path, handle: int, digest: str) -> None:
    """The bytes that were hashed, and no others."""
    actual = hashlib.sha256()
    with source.open("rb") as file:
        while block := file.read(_BLOCK):
            actual.update(block)
            view = memoryview(block)
            while view:
                view = view[os.write(handle, view) :]
    if f"sha256:{actual.hexdigest()}" != digest:
        raise StoreError(f"{source} was changed while it was stored. Wait for its writer.")
    os.fchmod(handle, 0o444)


def _make_folders(folder: Path, root: Path) -> None:
    """Folders that survive a power cut together with what is put into them."""
    for place in (folder.parent, folder):
        if not place.is_dir():
            place.mkdir(exist_ok=True)
            fsync_folder(place.parent)
    if folder.resolve() != root.resolve() / folder.parent.name / folder.name:
        raise StoreError(f"{folder} leads out of the store. Remove the link.")


def _sweep(incoming: Path) -> None:
    """Remove what killed writers left behind."""
    with contextlib.suppress(OSError):
        for path in [] if incoming.is_symlink() else incoming.iterdir():
            if _DRAFT.fullmatch(path.name):
                remove_abandoned(path)


def _links_once(folder: Path) -> bool:
    (folder / "one").touch()
    try:
        os.link(folder / "one", folder / "two")
        os.link(folder / "one", folder / "two")
    except FileExistsError:
        return True
    except OSError:
        return False
    return False


def _names(folder: Path, length: int) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if len(path.name) == length)
    except (FileNotFoundError, NotADirectoryError):
        return []


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What the system says, in one sentence: no room, no permission, no such file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"{path}: {reason}. Nothing was left half done.") from None


def open_folder(url: str, root: Path, options: dict[str, Any]) -> FolderStore:
    """The folder, which is made with its first object; a relative one lies below `root`.

    What killed writers left in it is removed.
    """
    if options:
        raise StoreError(f"store {url}, got the option {min(options)!r}; a folder has none.")
    place = Path(url.removeprefix("file://"))
    store = FolderStore(place if place.is_absolute() else root / place)
    _sweep(store.root / _INCOMING)
    return store


STORE = StoreKind(schemes=("", "file"), open=open_folder)
