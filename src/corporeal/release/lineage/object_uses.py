"""Holds the whole store against its hashes, and says what a damaged object is part of."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import Connection, select

from corporeal.catalog.database import CatalogError
from corporeal.catalog.query import read_fields
from corporeal.catalog.store import check_digest, check_objects
from corporeal.catalog.tables import MEMBER
from corporeal.catalog.workspace import Workspace
from corporeal.release.card import stored_card
from corporeal.release.manifest import load_manifest
from corporeal.release.reading import list_releases
from corporeal.words import counted

Kind = Literal["episode", "manifest", "labels", "card", "unused"]
_REMEDIES: dict[Kind, str] = {
    "episode": "ingest its file again: corporeal ingest {file}",
    "manifest": "restore it from a backup of the store; without it the release cannot be read",
    "labels": "restore it from a backup of the store, or make a new version of the release",
    "card": "restore it from a backup of the store",
    "unused": "nothing needs it; it may be removed",
}


@dataclass(frozen=True)
class ObjectUse:
    """What an object is, and the releases that it is part of; `file` is what it came from."""

    kind: Kind
    episode: str | None = None
    file: str | None = None
    releases: tuple[str, ...] = ()


@dataclass(frozen=True)
class DamagedObject:
    """An object that is lost or not what its name says, and what to do next."""

    digest: str
    reason: str
    use: ObjectUse

    @property
    def remedy(self) -> str:
        """What to do."""
        return _REMEDIES[self.use.kind].format(file=self.use.file)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        use = self.use
        return {"object": self.digest, "reason": self.reason, "kind": use.kind,
                "episode": use.episode, "file": use.file, "releases": list(use.releases),
                "remedy": self.remedy}  # fmt: skip


@dataclass(frozen=True)
class StoreReport:
    """What was read. `following` is the object to go on with when the work was interrupted."""

    checked: int
    total: int
    damaged: tuple[DamagedObject, ...]
    following: str | None = None

    @property
    def words(self) -> str:
        """The result in a sentence."""
        amount = f"{self.checked} of {counted(self.total, 'object')} read"
        if not self.damaged:
            return f"{amount}, each matches its hash"
        episodes = {each.use.episode for each in self.damaged} - {None}
        releases = {name for each in self.damaged for name in each.use.releases}
        return (
            f"{amount}, {len(self.damaged)} lost or changed: {counted(len(episodes), 'episode')} "
            f"and {counted(len(releases), 'release')} are hit"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return {"good": not self.damaged, "complete": self.following is None,
                "checked": self.checked, "objects": self.total, "next": self.following,
                "damaged": [each.to_json() for each in self.damaged]}  # fmt: skip


def check_store(
    workspace: Workspace,
    *,
    start: str | None = None,
    on_start: Callable[[int], None] = lambda _: None,
    on_object: Callable[[str], None] = lambda _: None,
) -> StoreReport:
    """Read every object that is there or should be, in order of hashes, from `start` on.

    An interruption (Ctrl-C) ends it with what was found, and says where to go on.
    """
    if start is not None:
        check_digest(start)
    uses = find_object_uses(workspace)
    known = sorted(uses.keys() | set(workspace.store.digests()))
    wanted = [digest for digest in known if start is None or digest >= start]
    on_start(len(wanted))
    damaged: list[DamagedObject] = []
    checked = 0
    try:
        with closing(check_objects(workspace.store, wanted)) as results:
            for digest, reason in results:
                if reason is not None:
                    use = uses.get(digest, ObjectUse("unused"))
                    damaged.append(DamagedObject(digest, reason, use))
                checked += 1
                on_object(digest)
    except KeyboardInterrupt:
        following = wanted[checked] if checked < len(wanted) else None
        return StoreReport(checked, len(known), tuple(damaged), following)
    return StoreReport(checked, len(known), tuple(damaged))


def find_object_uses(workspace: Workspace) -> dict[str, ObjectUse]:
    """Every object that the catalogue and its releases need, by hash; not those of erased ones."""
    releases = list_releases(workspace)
    uses: dict[str, ObjectUse] = {}
    with workspace.database.read() as connection:
        memberships = _memberships(connection)
        for name, digest, state, file in read_fields(connection, "id", "hash", "state", "file"):
            if state != "erased":
                uses[digest] = ObjectUse("episode", name, file, tuple(memberships.get(name, ())))
        for release in releases:
            _add(uses, release.manifest, "manifest", release.reference)
            card = stored_card(connection, release.reference)
            if card is not None:
                _add(uses, card, "card", release.reference)
    for release in releases:
        try:
            labels = load_manifest(workspace.store, release.manifest).labels
        except CatalogError:
            continue  # The manifest itself is among the damaged.
        if labels is not None:
            _add(uses, labels.object, "labels", release.reference)
    return uses


def _memberships(connection: Connection) -> dict[str, list[str]]:
    """The releases of every episode that is in one."""
    memberships: dict[str, list[str]] = {}
    query = select(MEMBER.c.episode, MEMBER.c.name, MEMBER.c.version)
    for episode, name, version in connection.execute(query):
        memberships.setdefault(episode, []).append(f"{name}@{version}")
    return memberships


def _add(uses: dict[str, ObjectUse], digest: str, kind: Kind, reference: str) -> None:
    use = uses.get(digest, ObjectUse(kind))
    uses[digest] = replace(use, releases=(*use.releases, reference))
