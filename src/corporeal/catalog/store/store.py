"""An object store: immutable bytes under the hash of their content."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from corporeal.catalog.database import CatalogError, UnreachableError
from corporeal.files import atomic_file
from corporeal.registry import plugins

PACKAGE = "corporeal.catalog.stores"
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_BLOCK = 1 << 20
# Far away, every request waits as long as some megabytes take.
_RANGE = 16 << 20


class StoreError(CatalogError):
    """An object cannot be stored, found or trusted."""


class UnreachableStoreError(StoreError, UnreachableError):
    """The store does not answer now; its objects may be fine."""


@dataclass(frozen=True)
class Abilities:
    """What a store was found to do when it was tried, not what it claims."""

    write_once: bool
    """Objects can be held against deletion until a date (object lock)."""
    create_only: bool
    """Putting an object that is there is refused, also when two writers do it at once."""


class Store(Protocol):
    """Objects by `sha256:<hex>`. A store checks bytes on their way in, and on demand."""

    @property
    def url(self) -> str:
        """Where it is, without any secret."""

    @property
    def is_local(self) -> bool:
        """Whether objects are files of this machine."""

    def path(self, digest: str) -> Path | None:
        """Where a local store has an object, whether it is there or not; None for any other."""

    def put(
        self, source: Path, *, retain_until: datetime | None = None, replace: bool = False
    ) -> str:
        """Store a file and return its hash; one that is there already is not written again.

        With `replace` it is, for an object whose bytes are not what its name says. `retain_until`
        (with a time zone) holds it against deletion; StoreError when the store cannot.
        """

    def has(self, digest: str) -> int | None:
        """The size of an object; None when it is not there."""

    def fetch(self, digest: str, target: Path) -> None:
        """Copy an object into a new file, which appears only when its bytes match the hash."""

    def read(self, digest: str, start: int, count: int) -> bytes:
        """Exactly these bytes of an object, without the rest; they are not checked."""

    def erase(self, digest: str) -> None:
        """Remove an object for good, also one that is not there; StoreError while it is held."""

    def digests(self) -> Iterator[str]:
        """All objects, in order of their hashes."""

    def abilities(self) -> Abilities:
        """Try out what the store can do, with an object that is removed again."""


@dataclass(frozen=True)
class LostObject:
    """An object that is not what its name says."""

    digest: str
    reason: str


@dataclass(frozen=True)
class StoreKind:
    """A kind of store: `open(url, root, options)`; `schemes` are how its addresses begin.

    `host(url, options)` is the host elsewhere that these name, or "".
    """

    schemes: tuple[str, ...]
    open: Callable[[str, Path, dict[str, Any]], Store]
    host: Callable[[str, Mapping[str, Any]], str] = lambda _, __: ""


@cache
def store_kinds() -> dict[str, StoreKind]:
    """Every kind of store by name."""
    return plugins(PACKAGE, "STORE", StoreKind)


def host_of_store(url: str, options: Mapping[str, Any]) -> str:
    """The host elsewhere that an address of a store and its options name, or ""."""
    scheme = url.partition("://")[0] if "://" in url else ""
    kinds = [kind for kind in store_kinds().values() if scheme in kind.schemes]
    return kinds[0].host(url, options) if kinds else ""


def open_store(url: str, *, root: Path, options: dict[str, Any] | None = None) -> Store:
    """The store at an address: a folder (relative ones below `root`), or s3://bucket/prefix."""
    scheme = urlsplit(url).scheme if "://" in url else ""
    for kind in store_kinds().values():
        if scheme in kind.schemes:
            return kind.open(url, root, options or {})
    known = sorted(each for kind in store_kinds().values() for each in kind.schemes if each)
    raise StoreError(f"store, got {scheme}://; expected a folder or one of: {', '.join(known)}.")


def digest_of(path: Path) -> str:
    """`sha256:<hex>` of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return f"sha256:{digest.hexdigest()}"


def check_digest(digest: str) -> str:
    """The 64 hexadecimal digits of a hash; raises StoreError for anything else."""
    if not _HASH.fullmatch(digest):
        raise StoreError(f"object, got {digest[:80]!r}; expected sha256: and 64 hex digits.")
    return digest.removeprefix("sha256:")


def verify_store(store: Store, digests: Iterable[str] | None = None) -> Iterator[LostObject]:
    """Read every byte of these objects (of all, when none are named); what is lost or changed."""
    for digest in store.digests() if digests is None else digests:
        size = store.has(digest)
        if size is None:
            yield LostObject(digest, "is not in the store")
            continue
        actual = hashlib.sha256()
        try:
            for block in blocks_of(store, digest, size):
                actual.update(block)
        except StoreError as error:
            yield LostObject(digest, str(error))
            continue
        if f"sha256:{actual.hexdigest()}" != digest:
            yield LostObject(digest, f"its {size} bytes do not match its hash")


def blocks_of(store: Store, digest: str, size: int) -> Iterator[bytes]:
    """An object from its beginning to its end, some megabytes at a time."""
    for start in range(0, size, _RANGE):
        yield store.read(digest, start, min(_RANGE, size - start))


def place_checked(blocks: Iterable[bytes], digest: str, target: Path) -> None:
    """Write a new file beside its place, synced and read-only; it appears there only if whole."""
    if target.exists():
        raise StoreError(f"{target} is there already; expected a new file. Move it away.")
    try:
        with atomic_file(target) as draft, draft.open("wb") as file:
            actual = hashlib.sha256()
            for block in blocks:
                actual.update(block)
                file.write(block)
            if f"sha256:{actual.hexdigest()}" != digest:
                raise StoreError(
                    f"{digest} is damaged: the bytes in the store do not match its hash. "
                    "Put the file in again from its source."
                )
            os.fchmod(file.fileno(), 0o444)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error.strerror or error}.") from None


def check_span(digest: str, start: int, count: int) -> None:
    """Raise StoreError for a place before the beginning of an object."""
    if start < 0 or count < 0:
        raise StoreError(f"{digest}: bytes {start} and {count} more; expected 0 or above.")


def ends_early(digest: str, end: int) -> StoreError:
    """What to raise when an object is shorter than what was asked of it."""
    return StoreError(f"{digest}: ends before byte {end}. Verify the store.")


def not_there(digest: str) -> StoreError:
    """What to raise for an object that is not in the store."""
    return StoreError(f"{digest} is not in the store. Put the file in again from its source.")
