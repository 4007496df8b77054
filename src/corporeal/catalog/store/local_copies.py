"""Objects whose bytes were held against their hash: as files of this machine, or all of them."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from corporeal.catalog.store.store import (
    Store,
    StoreError,
    check_digest,
    digest_of,
    verify_store,
)

SUFFIX = ".h5"
LIMIT = 32 << 30
"""Bytes of fetched episodes that a workspace keeps; the ones used longest ago go first."""
_REMEMBERED = 65_536
# Hashing and waiting for a distant store both leave the interpreter to others.
_READERS = 4

Stamp = tuple[int, int, int, int, int]
"""Device, inode, size, and when bytes and entry were last changed, in nanoseconds."""


class CheckedFiles:
    """Files whose bytes matched a hash, known again by their stamp; safe for many threads.

    Kept in memory alone: what is remembered on a disk could be forged like the object itself.
    """

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._stamps: OrderedDict[tuple[str, str], Stamp] = OrderedDict()
        self._lock = threading.Lock()

    def matches(self, path: Path, digest: str) -> bool:
        """Whether the file has this hash; read whole unless it was before and is the same."""
        before = _stamp(path)
        with self._lock:
            if self._stamps.get((str(path), digest)) == before:
                return True
        if digest_of(path) != digest or _stamp(path) != before:
            return False
        self._remember(path, digest, before)
        return True

    def touch(self, path: Path, digest: str) -> None:
        """Say that a checked file is used now, and know it again all the same."""
        with self._lock:
            is_known = self._stamps.get((str(path), digest)) == _stamp(path)
        # Of two uses within a tick of the kernel's clock the later one is told by this one alone.
        used_ns = time.time_ns()
        os.utime(path, ns=(used_ns, used_ns))
        if is_known:
            self._remember(path, digest, _stamp(path))

    def _remember(self, path: Path, digest: str, stamp: Stamp) -> None:
        with self._lock:
            self._stamps[str(path), digest] = stamp
            self._stamps.move_to_end((str(path), digest))
            while len(self._stamps) > self._most:
                self._stamps.popitem(last=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process looks for itself."""
        return CheckedFiles, (self._most,)


_CHECKED = CheckedFiles()


@dataclass(frozen=True)
class LocalCopies:
    """Objects where they lie, or fetched into a cache of bounded size; every byte is checked."""

    store: Store
    folder: Path
    limit: int = LIMIT
    checked: CheckedFiles = field(default=_CHECKED, compare=False, repr=False)

    def path(self, digest: str, size: int | None = None) -> Path:
        """A file with the bytes of an object, which must match its hash, and have this size.

        Raises StoreError for an object that was changed; a changed copy of the cache is fetched
        again.
        """
        name = check_digest(digest)
        if (local := self.store.path(digest)) is not None:
            there = self.store.has(digest)
            if there is None or (size is not None and there != size):
                raise _lost(digest, size, there)
            if not self._matches(local, digest):
                raise _changed(digest)
            return local
        copy = self.folder / f"{name}{SUFFIX}"
        if not copy.is_file() or copy.is_symlink() or not self._matches(copy, digest):
            self._fetch(digest, size, copy)
        with contextlib.suppress(FileNotFoundError):
            self.checked.touch(copy, digest)
        return copy

    def _matches(self, path: Path, digest: str) -> bool:
        try:
            return self.checked.matches(path, digest)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}.") from None

    def _fetch(self, digest: str, size: int | None, copy: Path) -> None:
        there = self.store.has(digest)
        if there is None or (size is not None and there != size):
            raise _lost(digest, size, there)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(there)
        copy.unlink(missing_ok=True)
        try:
            self.store.fetch(digest, copy)
        except StoreError:
            # Another process may have fetched it meanwhile.
            if not copy.is_file() or not self._matches(copy, digest):
                raise

    def _make_room(self, size: int) -> None:
        """Remove copies, the one used longest ago first; whoever has one open keeps it."""
        copies = []
        for path in self.folder.glob(f"*{SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                copies.append((status.st_mtime_ns, status.st_size, path))
        total = sum(own for _, own, _ in copies)
        for _, own, path in sorted(copies):
            if total + size <= self.limit:
                break
            path.unlink(missing_ok=True)
            total -= own


def find_damage(store: Store, digest: str) -> str | None:
    """What is wrong with an object, read to its end; None when it is whole.

    A file of this machine that was read before and is the same is not read again.
    """
    local = store.path(digest)
    if local is not None and store.has(digest) is not None:
        with contextlib.suppress(OSError):
            if _CHECKED.matches(local, digest):
                return None
    return next((lost.reason for lost in verify_store(store, [digest])), None)


def check_objects(
    store: Store, digests: Sequence[str]
) -> Generator[tuple[str, str | None], None, None]:
    """Every object in turn with what is wrong with it; some are read at once."""
    with ThreadPoolExecutor(_READERS) as pool:
        for first in range(0, len(digests), 4 * _READERS):
            part = digests[first : first + 4 * _READERS]
            yield from zip(part, pool.map(partial(_read_anew, store), part), strict=True)


def _read_anew(store: Store, digest: str) -> str | None:
    return next((lost.reason for lost in verify_store(store, [digest])), None)


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _changed(digest: str) -> StoreError:
    return StoreError(
        f"object {digest} was changed: its bytes do not match its hash. Find its episode, and what "
        "else is damaged, with: corporeal store verify; ingest that episode again."
    )


def _lost(digest: str, size: int | None, there: int | None) -> StoreError:
    got = "nothing" if there is None else f"{there} bytes"
    expected = "the object" if size is None else f"{size} bytes"
    return StoreError(
        f"object {digest}, got {got}; expected {expected}. "
        "Find its episode, and what else is damaged, with: corporeal store verify."
    )
