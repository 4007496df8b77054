"""The manifest: one canonical text that lists everything in a release, stored under its hash."""

from __future__ import annotations

import hashlib
import json
import tempfile
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from corporeal.catalog.database import CatalogError
from corporeal.catalog.store import Store, StoreError, blocks_of
from corporeal.release.version import Change

FORMAT_VERSION: Literal[1] = 1
_LARGEST = 4 << 30


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ReleaseMember(_Part):
    """One episode of a release, as it was when the release was made."""

    id: str
    hash: str
    content_hash: str | None
    bytes: int
    file: str
    split: str
    state: str
    negative: bool
    verdict: str | None
    score: float | None
    policy: str | None
    task: str | None
    robot: str | None
    success: bool | None
    duration_s: float | None
    documents: dict[str, str]
    """Hashes of the documents behind it, by kind."""
    labels: str | None = None
    """The hash of its labels; None when it has none in this release."""


class DocumentHead(_Part):
    """What a document is called; its text is in the episodes and in the catalogue."""

    kind: str
    name: str
    version: str


class Robot(_Part):
    """A robot of the release and the order of its actuated joints."""

    name: str
    joints: tuple[str, ...]


class ReleaseRig(_Part):
    """A schema of the release: what each stream is, by its path."""

    name: str
    streams: dict[str, str]


class Layout(_Part):
    """What a program that reads the release relies on."""

    rigs: tuple[ReleaseRig, ...] = ()
    robots: tuple[Robot, ...] = ()


class Retention(_Part):
    """Until when the release was asked to be kept, and what the store can do about it."""

    until: str
    write_once: bool


class LabelsHead(_Part):
    """Where the labels of a release are, and of how many episodes there are some."""

    object: str
    """The hash of the text with all labels and their taxonomies: its name in the store."""
    bytes: int
    policy: Literal["required", "included"]
    episodes: int


class Manifest(_Part):
    """Everything in a release; `episodes` are in the order of their ids."""

    format: Literal["corporeal-release"] = "corporeal-release"
    format_version: Literal[1] = FORMAT_VERSION
    name: str
    version: str
    change: Change
    previous: str | None
    created_at: str
    created_by: str
    software: str
    licence: str
    notes: str | None
    condition: str
    seed: int
    shares: dict[str, float]
    stratify: tuple[str, ...]
    group_by: str | None
    negatives: bool
    layout: Layout
    documents: dict[str, DocumentHead]
    retention: Retention | None
    representativeness: dict[str, Any]
    episodes: tuple[ReleaseMember, ...]
    labels: LabelsHead | None = None

    @property
    def reference(self) -> str:
        """`name@version`, how people speak of it."""
        return f"{self.name}@{self.version}"

    @cached_property
    def text(self) -> bytes:
        """The one text that stands for this content: JSON with sorted keys."""
        values = self.model_dump(mode="json")
        # Left out where there are none, so that releases from before labels keep their hash.
        for part in (values, *values["episodes"]):
            if part["labels"] is None:
                del part["labels"]
        said = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return said.encode()

    @cached_property
    def hash(self) -> str:
        """`sha256:<hex>` of the text: the object's name in the store."""
        return "sha256:" + hashlib.sha256(self.text).hexdigest()


def store_manifest(store: Store, manifest: Manifest, *, retain_until: datetime | None) -> str:
    """Put the manifest into the store; its hash."""
    with tempfile.TemporaryDirectory(prefix="corporeal-release-") as folder:
        path = Path(folder) / "manifest.json"
        path.write_bytes(manifest.text)
        digest = store.put(path, retain_until=retain_until)
    if digest != manifest.hash:
        raise StoreError(
            f"{store.url}: the manifest was stored as {digest}; expected {manifest.hash}. "
            "Verify the store."
        )
    return digest


def load_manifest(store: Store, digest: str) -> Manifest:
    """The manifest with this hash, checked against it; raises CatalogError when it is not there."""
    return parse_manifest(object_text(store, digest, "the manifest"), source=digest)


def object_text(store: Store, digest: str, what: str) -> bytes:
    """The bytes of an object that is read at once, checked against its hash."""
    size = store.has(digest)
    if size is None:
        raise CatalogError(
            f"{what} {digest} is not in the store {store.url}. Restore it from a backup."
        )
    if size > _LARGEST:
        raise CatalogError(f"{what} {digest} has {size} bytes; expected at most {_LARGEST}.")
    text = b"".join(blocks_of(store, digest, size))
    if "sha256:" + hashlib.sha256(text).hexdigest() != digest:
        raise CatalogError(
            f"{what} {digest} was changed: its bytes do not match its hash. "
            "Restore it from a backup."
        )
    return text


def parse_manifest(text: bytes, *, source: str = "manifest") -> Manifest:
    """Read a manifest; raises CatalogError for anything else."""
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the text"
        raise CatalogError(
            f"{source}: {where}: {first['msg']}; expected a manifest of version {FORMAT_VERSION}. "
            "One of a newer version needs a newer Corporeal: pip install -U corporeal."
        ) from None
