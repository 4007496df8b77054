"""Proves that a release is what it was: manifest, objects, rows, documents and the audit event."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sqlalchemy import Connection

from corporeal.catalog.audit import chain_hash, events_of
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import find_documents
from corporeal.catalog.query import read_fields
from corporeal.catalog.store import LocalCopies, Store, verify_store
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.labelling.labels import label_hashes
from corporeal.release.card import stored_card
from corporeal.release.label_bundle import load_labels
from corporeal.release.manifest import Manifest, ReleaseMember, load_manifest, object_text
from corporeal.release.reading import (
    Release,
    find_release,
    local_copies,
    member_ids,
    splits_of,
)

_ASKING, _BLOCK = 16, 1000

Shapes = dict[tuple[str | None, str], tuple[tuple[int, ...], str]]
"""The shape of every stream of a robot, and the episode that had it first."""
_FIELDS = ("id", "hash", "bytes", "state")


@dataclass(frozen=True)
class ReleaseProblem:
    """Something that is not as the release says; `subject` is kind:id."""

    subject: str
    message: str


@dataclass(frozen=True)
class Verification:
    """What was found. `erased` are episodes that were removed since, as the law may demand."""

    reference: str
    episodes: int
    problems: tuple[ReleaseProblem, ...]
    erased: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Nothing speaks against the release."""
        return not self.problems

    @property
    def words(self) -> str:
        """The result in a sentence or two."""
        count = len(self.problems)
        gone = f" {len(self.erased)} of them were erased since." if self.erased else ""
        if self.good:
            return f"{self.reference}: {self.episodes} episodes are as they were released.{gone}"
        first = self.problems[0]
        told = f"{count} problem{'s' * (count > 1)}, the first: {first.subject}: {first.message}."
        return f"{self.reference}: {told}{gone}"

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return {
            "release": self.reference,
            "good": self.good,
            "episodes": self.episodes,
            "problems": [{"subject": each.subject, "message": each.message}
                         for each in self.problems],
            "erased": list(self.erased),
            "notes": list(self.notes),
        }  # fmt: skip


def verify_release(
    workspace: Workspace,
    reference: str,
    *,
    objects: bool = True,
    deep: bool = False,
    on_start: Callable[[int], None] = lambda _: None,
    on_episode: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Compare a release with everything that should agree with it.

    With `objects` every byte of every episode is read and hashed, otherwise only sizes are asked
    for; with `deep` every episode is opened and compared with the others. The callbacks hear how
    many episodes there are, and of each when its bytes were read.
    """
    release = find_release(workspace, reference)
    try:
        manifest = load_manifest(workspace.store, release.manifest)
    except CatalogError as error:
        lost = ReleaseProblem(f"release:{release.reference}", str(error).rstrip("."))
        return Verification(release.reference, release.episodes, (lost,), ())
    on_start(len(manifest.episodes))
    with workspace.database.read() as connection:
        rows = _rows(connection, release)
        problems = [
            *_head_problems(release, manifest),
            *_row_problems(rows, manifest),
            *_document_problems(connection, manifest),
            *_label_problems(connection, workspace, manifest),
            *_card_problems(connection, workspace, release),
            *_event_problems(connection, release),
        ]
    gone = {name for name, row in rows.items() if row["state"] == "erased"}
    there = tuple(each for each in manifest.episodes if each.id not in gone)
    problems += [ReleaseProblem(f"episode:{name}", told) for name, told in
                 _object_problems(workspace, there, objects, on_episode)]  # fmt: skip
    if deep:
        left = manifest.model_copy(update={"episodes": there})
        unreadable = unreadable_episodes(local_copies(workspace), left)
        problems += [ReleaseProblem(f"episode:{name}", told) for name, told in unreadable]
    notes = [f"robot {name} has more than one order of joints" for name in joint_orders(manifest)]
    erased = tuple(sorted(gone))
    return Verification(release.reference, release.episodes, tuple(problems), erased, tuple(notes))


def _rows(connection: Connection, release: Release) -> dict[str, Mapping[str, Any]]:
    """The members that the catalogue has, with their episodes, by id."""
    ids = member_ids(release.name, release.version)
    splits = splits_of(connection, release.name, release.version)
    rows = (dict(zip(_FIELDS, row, strict=True))
            for row in read_fields(connection, *_FIELDS, where=ids))  # fmt: skip
    return {row["id"]: {**row, "split": splits[row["id"]]} for row in rows}


def _head_problems(release: Release, manifest: Manifest) -> Iterator[ReleaseProblem]:
    pairs = {
        "name": (release.reference, manifest.reference),
        "number of episodes": (release.episodes, len(manifest.episodes)),
        "condition": (release.condition, manifest.condition),
        "time": (release.created_at, manifest.created_at),
        "maker": (release.created_by, manifest.created_by),
        "licence": (release.facts.get("licence"), manifest.licence),
    }
    for what, (row, listed) in pairs.items():
        if row != listed:
            told = f"the catalogue says {row!r} for its {what}, its manifest {listed!r}"
            yield ReleaseProblem(f"release:{release.reference}", told)


def _row_problems(
    rows: Mapping[str, Mapping[str, Any]], manifest: Manifest
) -> Iterator[ReleaseProblem]:
    listed = {each.id: each for each in manifest.episodes}
    for name in sorted(listed.keys() - rows.keys()):
        yield ReleaseProblem(
            f"episode:{name}", "is in the manifest, but not in the catalogue's release"
        )
    for name in sorted(rows.keys() - listed.keys()):
        yield ReleaseProblem(
            f"episode:{name}", "is in the catalogue's release, but not in the manifest"
        )
    for name in sorted(rows.keys() & listed.keys()):
        for what in ("hash", "bytes", "split"):
            row, told = rows[name][what], getattr(listed[name], what)
            if row != told:
                message = f"the catalogue says {row} for its {what}, the manifest {told}"
                yield ReleaseProblem(f"episode:{name}", message)


def _document_problems(connection: Connection, manifest: Manifest) -> Iterator[ReleaseProblem]:
    hashes = sorted(manifest.documents)
    named = {each for member in manifest.episodes for each in member.documents.values()}
    for digest in sorted(named - set(hashes)):
        yield ReleaseProblem(f"document:{digest}", "stands behind an episode, but is not listed")
    documents = find_documents(connection, hashes)
    for digest in hashes:
        if digest not in documents:
            yield ReleaseProblem(f"document:{digest}", "is not in the catalogue")
        elif "sha256:" + hashlib.sha256(documents[digest].text.encode()).hexdigest() != digest:
            yield ReleaseProblem(f"document:{digest}", "its text does not match its hash")


def _label_problems(
    connection: Connection, workspace: Workspace, manifest: Manifest
) -> Iterator[ReleaseProblem]:
    """The labels are whole, and every one of them is a version that the catalogue still has."""
    try:
        bundle = load_labels(workspace.store, manifest)
    except CatalogError as error:
        yield ReleaseProblem(f"release:{manifest.reference}", str(error).rstrip("."))
        return
    listed = sorted(bundle.episodes.items()) if bundle is not None else []
    known = label_hashes(connection, [name for name, _ in listed])
    for name, labelled in listed:
        if (there := known.get((name, labelled.number))) != labelled.hash:
            told = "other ones" if there is not None else "none"
            message = f"the catalogue has {told} for version {labelled.number} of its labels"
            yield ReleaseProblem(f"episode:{name}", message)


def _card_problems(
    connection: Connection, workspace: Workspace, release: Release
) -> Iterator[ReleaseProblem]:
    """The card that was stored with the release is whole."""
    card = stored_card(connection, release.reference)
    if card is None:
        return
    try:
        object_text(workspace.store, card, "the card")
    except CatalogError as error:
        yield ReleaseProblem(f"release:{release.reference}", str(error).rstrip("."))


def _event_problems(connection: Connection, release: Release) -> Iterator[ReleaseProblem]:
    subject = f"release:{release.reference}"
    events = [each for each in events_of(connection, subject) if each["what"] == "release"]
    if len(events) != 1:
        yield ReleaseProblem(
            subject, f"the audit log tells of it {len(events)} times; expected once"
        )
        return
    event = events[0]
    if chain_hash(event) != event["hash"]:
        yield ReleaseProblem(subject, "its event in the audit log was changed")
    if event["details"].get("manifest") != release.manifest:
        yield ReleaseProblem(subject, "the audit log names another manifest")


def _object_problems(
    workspace: Workspace,
    members: tuple[ReleaseMember, ...],
    objects: bool,
    on_episode: Callable[[str], None],
) -> Iterator[tuple[str, str]]:
    missing = dict(missing_objects(workspace.store, members))
    yield from missing.items()
    for each in members:
        if objects and each.id not in missing:
            for lost in verify_store(workspace.store, [each.hash]):
                yield each.id, f"its object {lost.digest}: {lost.reason}"
        on_episode(each.id)


def missing_objects(store: Store, members: Sequence[ReleaseMember]) -> Iterator[tuple[str, str]]:
    """Episodes whose object is not there or has another size: their id, and what is wrong."""
    for each, size in zip(members, _sizes(store, members), strict=True):
        if size is None:
            yield each.id, f"its object {each.hash} is not in the store"
        elif size != each.bytes:
            yield each.id, f"its object has {size} bytes; expected {each.bytes}"


def _sizes(store: Store, members: Sequence[ReleaseMember]) -> Iterator[int | None]:
    """What the store says of every object. A distant one is asked by several at once."""
    digests = [each.hash for each in members]
    if store.is_local:
        yield from map(store.has, digests)
        return
    with ThreadPoolExecutor(_ASKING) as pool:
        for first in range(0, len(digests), _BLOCK):
            yield from pool.map(store.has, digests[first : first + _BLOCK])


def require_readable(workspace: Workspace, manifest: Manifest, *, deep: bool) -> None:
    """Raise CatalogError unless every object is there, and with `deep` every episode opens."""
    problems = missing_objects(workspace.store, manifest.episodes)
    if deep:
        problems = chain(problems, unreadable_episodes(local_copies(workspace), manifest))
    unfit = dict(problems)
    if unfit:
        name, told = next(iter(unfit.items()))
        raise CatalogError(
            f"{len(unfit)} episode{'s' * (len(unfit) > 1)} cannot be released; {name}: {told}. "
            "Ingest the files again, or leave these episodes out"
            f"{' (or do not open them: --no-open)' if deep else ''}."
        )


def unreadable_episodes(copies: LocalCopies, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Open every episode; those that cannot be read or are not like the others of their robot."""
    shapes: Shapes = {}
    orders: dict[str, tuple[tuple[str, ...], str]] = {}
    for member in manifest.episodes:
        try:
            with Episode.open(copies.path(member.hash, member.bytes)) as episode:
                yield from ((member.id, told) for told in _differences(episode, member, shapes))
                yield from ((member.id, told) for told in _other_joints(episode, orders))
        except CorporealError as error:
            yield member.id, str(error)


def _differences(episode: Episode, member: ReleaseMember, shapes: Shapes) -> Iterator[str]:
    if episode.id != member.id:
        yield f"its file is of episode {episode.id}"
    if member.content_hash is not None and episode.content_hash != member.content_hash:
        yield f"its content is {episode.content_hash}; expected {member.content_hash}"
    for path, reader in episode.items():
        if reader.spec.kind in ("video", "depth"):
            continue  # Stations have cameras of their own.
        shape = tuple(int(size) for size in reader.spec.shape)
        first, owner = shapes.setdefault((member.robot, path), (shape, member.id))
        if shape != first:
            yield f"{path} has the shape {shape}; it is {first} in episode {owner}"
        if len(reader) and reader.spec.kind == "array":
            reader[0]


def _other_joints(
    episode: Episode, orders: dict[str, tuple[tuple[str, ...], str]]
) -> Iterator[str]:
    """The robot's joints, where it is the same robot, in another order than before."""
    if "embodiment" not in episode.documents:
        return
    robot = episode.embodiment
    first, owner = orders.setdefault(robot.name, (robot.joint_names, episode.id))
    if robot.joint_names != first:
        same = sorted(robot.joint_names) == sorted(first)
        what = "in another order than" if same else "other than"
        yield f"the joints of {robot.name} are {what} in episode {owner}"


def joint_orders(manifest: Manifest) -> list[str]:
    """Robots that are in the release with more than one order of joints."""
    names = [robot.name for robot in manifest.layout.robots]
    return sorted({name for name in names if names.count(name) > 1})
