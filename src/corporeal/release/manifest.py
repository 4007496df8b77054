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


class CanonicalObject(_Part):
    """Values with one text that stands for them, which is stored under its hash."""

    format: str

    def canonical_values(self) -> dict[str, Any]:
        """What the text says."""
        return self.model_dump(mode="json")

    @cached_property
    def text(self) -> bytes:
        """The one text that stands for this content: JSON with sorted keys."""
        return json.dumps(
            self.canonical_values(), sort_keys=True, ensure_ascii=False, separators=(",", ":")
        ).encode()

    @cached_property
    def hash(self) -> str:
        """`sha256:<hex>` of the text: the object's name in the store."""
        return "sha256:" + hashlib.sha256(self.text).hexdigest()


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
    weight: float | None = None
    """How often it is to be drawn, where the release was made of a selection."""


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


class LogHead(_Part):
    """The end of the audit log before the release was made: what is in the log cannot be undone."""

    number: int
    hash: str


class LabelsHead(_Part):
    """Where the labels of a release are, and of how many episodes there are some."""

    object: str
    """The hash of the text with all labels and their taxonomies: its name in the store."""
    bytes: int
    policy: Literal["required", "included"]
    episodes: int


class Manifest(CanonicalObject):
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
    log: LogHead | None = None
    selection: str | None = None
    """The selection that it was made of, NAME@VERSION."""

    @property
    def reference(self) -> str:
        """`name@version`, how people speak of it."""
        return f"{self.name}@{self.version}"

    @property
    def held_until(self) -> datetime | None:
        """Until when the store holds what belongs to it; None where it cannot, or need not."""
        if self.retention is None or not self.retention.write_once:
            return None
        return datetime.fromisoformat(self.retention.until)

    def canonical_values(self) -> dict[str, Any]:
        """Everything but what is not there: labels, weights, and the log's head in older ones."""
        values = self.model_dump(mode="json")
        for name in ("log", "selection"):
            if values[name] is None:
                del values[name]
        for part in (values, *values["episodes"]):
            for name in ("labels", "weight"):
                if name in part and part[name] is None:
                    del part[name]
        return values


def store_object(store: Store, made: CanonicalObject, *, retain_until: datetime | None) -> str:
    """Put the text into the store; its hash."""
    with tempfile.TemporaryDirectory(prefix="corporeal-release-") as folder:
        path = Path(folder) / "object.json"
        path.write_bytes(made.text)
        digest = store.put(path, retain_until=retain_until)
    if digest != made.hash:
        raise StoreError(
            f"{store.url}: {made.format} was stored as {digest}; expected {made.hash}. "
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
        raise CatalogError(
            f"{source}: {first_problem(error)}; expected a manifest of version {FORMAT_VERSION}. "
            "One of a newer version needs a newer Corporeal: pip install -U corporeal."
        ) from None


def first_problem(error: ValidationError) -> str:
    """The first thing that is wrong with a text, and where."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "the text"
    return f"{where}: {first['msg']}"
