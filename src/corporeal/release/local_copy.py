"""Objects as files on this machine: where they lie, or fetched into a cache of bounded size."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from corporeal.catalog.database import CatalogError
from corporeal.catalog.store import Store, StoreError, check_digest

SUFFIX = ".h5"
LIMIT = 32 << 30
"""Bytes of fetched episodes that a workspace keeps; the ones used longest ago go first."""


@dataclass(frozen=True)
class LocalCopies:
    """Objects as files."""

    store: Store
    folder: Path
    limit: int = LIMIT

    def path(self, digest: str, size: int) -> Path:
        """A file with the bytes of an object, which must have this size."""
        name = check_digest(digest)
        if (local := self.store.path(digest)) is not None:
            if (there := self.store.has(digest)) != size:
                raise _lost(digest, size, there)
            return local
        copy = self.folder / f"{name}{SUFFIX}"
        if not copy.is_file() or copy.stat().st_size != size:
            self._fetch(digest, size, copy)
        os.utime(copy)
        return copy

    def _fetch(self, digest: str, size: int, copy: Path) -> None:
        there = self.store.has(digest)
        if there != size:
            raise _lost(digest, size, there)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._make_room(size)
        copy.unlink(missing_ok=True)
        try:
            self.store.fetch(digest, copy)
        except StoreError:
            # Another process may have fetched it meanwhile: whole, or it would have no name.
            if not copy.is_file() or copy.stat().st_size != size:
                raise

    def _make_room(self, size: int) -> None:
        """Remove copies, the one used longest ago first; whoever has one open keeps it."""
        found = []
        for path in self.folder.glob(f"*{SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                found.append((status.st_mtime_ns, status.st_size, path))
        held = sum(each[1] for each in found)
        for _, own, path in sorted(found):
            if held + size <= self.limit:
                break
            path.unlink(missing_ok=True)
            held -= own


def _lost(digest: str, size: int, there: int | None) -> CatalogError:
    got = "nothing" if there is None else f"{there} bytes"
    return CatalogError(
        f"object {digest}, got {got}; expected {size} bytes. "
        "Find what else is damaged with: corporeal release verify."
    )
