"""Finds releases, and opens the episodes of one as a dataset, from files on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, select

from corporeal.catalog.audit import (
    Break,
    Change,
    Head,
    events_of_kind,
    latest_events,
    record,
)
from corporeal.catalog.database import CatalogError
from corporeal.catalog.people import refuse_practice
from corporeal.catalog.store import LocalCopies, StoreError, verify_store
from corporeal.catalog.tables import MEMBER, RELEASE
from corporeal.catalog.workspace import Workspace, open_workspace
from corporeal.embodiment import Embodiment
from corporeal.episode import Episode
from corporeal.episode.label_track import Lane, united
from corporeal.episode.recording import Dataset, OpenFiles, Recording, recording_of
from corporeal.errors import EpisodeError
from corporeal.release.label_bundle import LabelBundle, load_labels
from corporeal.release.manifest import Manifest, ReleaseMember, load_manifest
from corporeal.release.version import Version, split_reference


@dataclass(frozen=True)
class Release:
    """A release as the catalogue has it; `facts` is what was said and found when it was made."""

    name: str
    version: str
    manifest: str
    condition: str
    episodes: int
    created_at: str
    created_by: str
    facts: Mapping[str, Any]

    @property
    def reference(self) -> str:
        """`name@version`, how people speak of it."""
        return f"{self.name}@{self.version}"


def list_releases(workspace: Workspace, name: str | None = None) -> list[Release]:
    """All releases, or all versions of one: by name, the oldest version first."""
    query = select(RELEASE)
    if name is not None:
        query = query.where(RELEASE.c.name == name)
    with workspace.database.read() as connection:
        found = [Release(**dict(row)) for row in connection.execute(query).mappings()]
    return sorted(found, key=lambda each: (each.name, Version.parse(each.version)))


def splits_of(connection: Connection, name: str, version: str) -> dict[str, str]:
    """The split of every episode of a release, by id."""
    query = select(MEMBER.c.episode, MEMBER.c.split).where(
        MEMBER.c.name == name, MEMBER.c.version == version
    )
    return {row.episode: row.split for row in connection.execute(query)}


def member_ids(name: str, version: str) -> Select[Any]:
    """A search for the ids of the episodes of a release."""
    return select(MEMBER.c.episode).where(MEMBER.c.name == name, MEMBER.c.version == version)


def find_release(workspace: Workspace, reference: str) -> Release:
    """The release `name@version`, or the newest one of a name."""
    name, version = split_reference(reference)
    found = list_releases(workspace, name)
    if not found:
        names = sorted({each.name for each in list_releases(workspace)})
        raise CatalogError(
            f"release, got {name!r}; expected one of: {', '.join(names) or 'none yet'}. "
            "Make one with: corporeal release create."
        )
    if version is None:
        return found[-1]
    for each in found:
        if each.version == str(version):
            return each
    raise CatalogError(
        f"release, got {reference!r}; expected one of the versions "
        f"{', '.join(each.version for each in found)}."
    )


def load_release(workspace: Workspace, reference: str) -> Manifest:
    """The manifest of a release, checked against the hash in the catalogue."""
    release = find_release(workspace, reference)
    manifest = load_manifest(workspace.store, release.manifest)
    if manifest.reference != release.reference:
        raise CatalogError(
            f"release {release.reference}: its manifest is of {manifest.reference}. "
            "Look for what changed with: corporeal audit verify."
        )
    return manifest


def noted_in_releases(workspace: Workspace) -> dict[Head, str]:
    """The heads of the audit log that manifests have, and in whose each is.

    A manifest that cannot be read is a matter of `verify_release`; here it says nothing.
    """
    heads = {}
    for release in list_releases(workspace):
        with suppress(CatalogError):
            log = load_manifest(workspace.store, release.manifest).log
            if log is not None:
                heads[Head(log.number, log.hash)] = f"the manifest of {release.reference}"
    return heads


def unexplained_releases(connection: Connection) -> Iterator[Break]:
    """Releases whose row is not as their event tells, and those of which only one is left."""
    made = [each for each in events_of_kind(connection, "release") if each["what"] == "release"]
    events = {str(each["subject"]).partition(":")[2]: each for each in made}
    rows = connection.execute(select(RELEASE.c.name, RELEASE.c.version, RELEASE.c.manifest))
    for row in rows:
        reference = f"{row.name}@{row.version}"
        event = events.pop(reference, None)
        if event is None:
            yield Break(0, f"release {reference} is in the catalogue, but no event tells of it")
        elif event["details"].get("manifest") != row.manifest:
            told = f"release {reference} has another manifest than event {event['number']} says"
            yield Break(int(event["number"]), told)
    for reference, event in events.items():
        told = f"release {reference} is in the log, but not in the catalogue"
        yield Break(int(event["number"]), told)


def release_dataset(
    workspace: Workspace,
    reference: str,
    *,
    splits: Iterable[str] | None = None,
    robot: Embodiment | None = None,
) -> Dataset:
    """The episodes of a release, or of some of its splits, opened one at a time.

    Files of a folder store are read where they lie; others are fetched into the workspace's cache.
    Each is held against its hash in the manifest when it is opened. The metadata of every recording
    says its `release` and its `split`; labels that the release has are those of the recordings.
    """
    manifest = load_release(workspace, reference)
    members = _of_splits(manifest, splits)
    labels = load_labels(workspace.store, manifest)
    copies = local_copies(workspace)
    return Dataset(
        source=workspace.root / "releases" / manifest.reference,
        format="release",
        episodes=tuple(range(len(members))),
        open=partial(_open, _Source(manifest.reference, members, copies, robot, labels)),
        facts={
            "release": manifest.reference,
            "licence": manifest.licence,
            "splits": _numbers(members),
        },
        lanes=partial(_lanes, members, labels),
    )


def open_release(
    root: Path,
    reference: str,
    splits: tuple[str, ...] | None = None,
    robot: Embodiment | None = None,
) -> Dataset:
    """The episodes of a release of the workspace in this folder, by values that travel."""
    with open_workspace(root) as workspace:
        return release_dataset(workspace, reference, splits=splits, robot=robot)


def release_opener(
    workspace: Workspace,
    reference: str,
    *,
    splits: Iterable[str] | None = None,
    robot: Embodiment | None = None,
) -> partial[Dataset]:
    """What opens the release in any process: the version that is the newest now stays the one."""
    found = find_release(workspace, reference)
    chosen = None if splits is None else tuple(splits)
    return partial(open_release, workspace.root, found.reference, chosen, robot)


@dataclass(frozen=True, eq=False)
class _Source:
    """What it takes to open the episodes of a release."""

    reference: str
    members: tuple[ReleaseMember, ...]
    copies: LocalCopies
    robot: Embodiment | None
    labels: LabelBundle | None = None
    open_files: OpenFiles = field(default_factory=OpenFiles)


def _of_splits(manifest: Manifest, splits: Iterable[str] | None) -> tuple[ReleaseMember, ...]:
    there = {each.split for each in manifest.episodes}
    wanted = there if splits is None else set(splits)
    if strange := sorted(wanted - there):
        raise CatalogError(
            f"split of {manifest.reference}, got {strange[0]!r}; expected one of: "
            f"{', '.join(sorted(there))}."
        )
    return tuple(each for each in manifest.episodes if each.split in wanted)


def _numbers(members: Iterable[ReleaseMember]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, each in enumerate(members):
        found.setdefault(each.split, []).append(number)
    return found


def _open(source: _Source, number: int) -> Recording:
    members = source.members
    if not 0 <= number < len(members):
        raise EpisodeError(
            f"{source.reference} has no episode {number}; expected 0 to {len(members) - 1}."
        )
    member = members[number]
    episode = Episode.open(source.copies.path(member.hash, member.bytes))
    try:
        recording = recording_of(episode, index=number, robot=source.robot)
    except BaseException:  # Nobody else can free the file when there is no recording.
        episode.close()
        raise
    source.open_files.keep(episode)
    said: dict[str, Any] = {"release": source.reference, "split": member.split}
    if member.negative:
        said["negative"] = True
    track = source.labels.track(member.id) if source.labels is not None else None
    return replace(
        recording, metadata={**recording.metadata, **said}, labels=track or recording.labels
    )


def _lanes(members: tuple[ReleaseMember, ...], labels: LabelBundle | None) -> tuple[Lane, ...]:
    """The lanes in which something is said of any of these episodes."""
    tracks = (labels.track(each.id) for each in members) if labels is not None else ()
    return united(track.used_lanes for track in tracks if track is not None)


def local_copies(workspace: Workspace) -> LocalCopies:
    """The objects of a workspace as files, checked against their hashes."""
    return LocalCopies(workspace.store, workspace.root / "cache" / "episodes")


def check_members(
    workspace: Workspace,
    reference: str,
    *,
    splits: Iterable[str] | None = None,
    on_start: Callable[[int], None] = lambda _: None,
    on_episode: Callable[[str], None] = lambda _: None,
) -> int:
    """Hold every object of a release, or of some splits, against the manifest; how many there are.

    Raises StoreError for the first that does not match, and CatalogError for what lies in the
    practice partition by now: a certificate may have been revoked for the past. Distant ones are
    fetched into the cache as long as it has room for all of them; else they are read where they
    lie.
    """
    members = _of_splits(load_release(workspace, reference), splits)
    with workspace.database.read() as connection:
        refuse_practice(connection, [each.id for each in members],
                        what=f"export of {reference}")  # fmt: skip
    copies = local_copies(workspace)
    is_near = workspace.store.is_local or sum(each.bytes for each in members) <= copies.limit
    on_start(len(members))
    for member in members:
        if is_near:
            copies.path(member.hash, member.bytes)
        else:
            for lost in verify_store(workspace.store, [member.hash]):
                raise StoreError(f"object {lost.digest}: {lost.reason}. Ingest it again.")
        on_episode(member.id)
    return len(members)


def releases_of(connection: Connection, episode: str) -> list[str]:
    """The releases that an episode is in, as name@version."""
    query = (
        select(MEMBER.c.name, MEMBER.c.version)
        .where(MEMBER.c.episode == episode)
        .order_by(MEMBER.c.name, MEMBER.c.version)
    )
    return [f"{name}@{version}" for name, version in connection.execute(query)]


def release_made_at(connection: Connection, name: str, version: str) -> str | None:
    """When a release was made; None where there is none of this name and version."""
    query = select(RELEASE.c.created_at).where(RELEASE.c.name == name, RELEASE.c.version == version)
    made: str | None = connection.execute(query).scalar()
    return made


_VERIFIED = "release verified"


@dataclass(frozen=True)
class LastVerification:
    """When a release was last compared with everything, by whom, and whether it was good."""

    at: str
    who: str
    good: bool


def record_verification(
    connection: Connection, reference: str, *, good: bool, problems: int, who: str
) -> None:
    """Write down that a release was verified, and what came of it, inside a transaction."""
    details = {"good": good, "problems": problems}
    record(connection, [Change(who, _VERIFIED, f"release:{reference}", None, details)])


def last_verification(connection: Connection, reference: str) -> LastVerification | None:
    """The last time that a release was verified; None for never."""
    events = latest_events(connection, f"release:{reference}", (_VERIFIED,))
    if not events:
        return None
    last = events[0]
    return LastVerification(last["at"], last["who"], bool(last["details"]["good"]))
