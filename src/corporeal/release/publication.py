"""Writes a release down: rows, states and the audit event in one transaction, or nothing at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from corporeal.catalog.audit import Change, latest_events, note_end, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import State, check_change, set_state
from corporeal.catalog.people import refuse_practice
from corporeal.catalog.query import Comparison, episode_meets, read_fields
from corporeal.catalog.tables import MEMBER, RELEASE
from corporeal.catalog.workspace import Workspace
from corporeal.release.label_bundle import LabelBundle
from corporeal.release.manifest import Manifest, store_object
from corporeal.release.reading import load_release, local_copies, member_ids
from corporeal.release.representativeness import Representativeness

_BLOCK = 5000
_HOUR_S = 3600.0


@dataclass(frozen=True)
class Draft:
    """A release before it is made: what would be in it, and what there is to say of it."""

    manifest: Manifest
    representativeness: Representativeness
    left_out: Mapping[str, int]
    labels: LabelBundle | None = None
    label_facts: Mapping[str, Any] | None = None
    unlabelled: int = 0
    """Of those in it, how many lack labels that are asked for, where it is made all the same."""


def publish(workspace: Workspace, draft: Draft) -> None:
    """Record the release and store its labels and its manifest.

    The manifest is stored inside the transaction, after the version is ours and before anything
    can be seen: a release that is there always has one, and a lost race leaves none behind.
    """
    manifest, labels = draft.manifest, draft.labels
    facts = _facts(manifest, draft.representativeness, draft.left_out)
    if draft.label_facts is not None:
        facts["labels"] = dict(draft.label_facts)
    # Spelled and hashed once and now: while it is written, everybody else waits.
    digest = manifest.hash
    with workspace.database.write() as connection:
        _take_version(connection, manifest, digest, facts)
        _add_members(connection, manifest)
        _require_unchanged(connection, manifest)
        changes = list(_move(connection, manifest))
        if labels is not None:
            store_object(workspace.store, labels, retain_until=manifest.held_until)
        store_object(workspace.store, manifest, retain_until=manifest.held_until)
        # Last, since everybody who writes waits for the end of the log from here on.
        record(connection, [*changes, _event(manifest)], at=manifest.created_at)
    note_end(workspace.database, workspace.notes)


def _take_version(
    connection: Connection, manifest: Manifest, digest: str, facts: Mapping[str, Any]
) -> None:
    taken = latest_events(connection, f"release:{manifest.reference}", ["release"])
    there = connection.execute(select(RELEASE.c.name).where(
        RELEASE.c.name == manifest.name, RELEASE.c.version == manifest.version
    )).first()  # fmt: skip
    if taken or there is not None:
        raise _taken(manifest)
    row = {
        "name": manifest.name,
        "version": manifest.version,
        "manifest": digest,
        "condition": manifest.condition,
        "episodes": len(manifest.episodes),
        "created_at": manifest.created_at,
        "created_by": manifest.created_by,
        "facts": dict(facts),
    }
    try:
        connection.execute(insert(RELEASE), row)
    except IntegrityError:
        raise _taken(manifest) from None


def _taken(manifest: Manifest) -> CatalogError:
    return CatalogError(
        f"release {manifest.reference} was made by somebody else, and a version is never given "
        "twice. Run the same command again to make the next one."
    )


def _add_members(connection: Connection, manifest: Manifest) -> None:
    rows = [
        {
            "name": manifest.name,
            "version": manifest.version,
            "episode": each.id,
            "split": each.split,
        }
        for each in manifest.episodes
    ]
    for first in range(0, len(rows), _BLOCK):
        connection.execute(insert(MEMBER), rows[first : first + _BLOCK])


def _require_unchanged(connection: Connection, manifest: Manifest) -> None:
    """Raise CatalogError if an episode is no longer what the manifest says; hold the others."""
    refuse_practice(connection, [each.id for each in manifest.episodes],
                    what=f"release {manifest.reference}")  # fmt: skip
    columns = ("id", "hash", "state", "verdict", "score", "policy")
    ours = member_ids(manifest.name, manifest.version)
    rows = read_fields(connection, *columns, where=ours, order="id", hold=True)
    present = {tuple(row) for row in rows}
    listed = [tuple(getattr(each, name) for name in columns) for each in manifest.episodes]
    changed = [each[0] for each in listed if each not in present]
    if changed:
        raise CatalogError(
            f"{len(changed)} episode{'s' * (len(changed) > 1)} changed while the release was made, "
            f"{changed[0]} among them. Run the same command again."
        )


def _move(connection: Connection, manifest: Manifest) -> Iterator[Change]:
    """All members to the state released, and what to tell the log of each.

    A failed one that is released as a negative example stays failed, and is found as such.
    """
    moving = [each for each in manifest.episodes if each.state not in ("released", "failed")]
    for state in sorted({each.state for each in moving}):
        check_change(cast(State, state), "released")
    members = member_ids(manifest.name, manifest.version)
    standing = Comparison("state", "!=", "failed")
    set_state(connection, members.where(episode_meets(MEMBER.c.episode, standing)), "released")
    why = f"release {manifest.reference}"
    for each in moving:
        details = {"from": each.state, "to": "released"}
        yield Change(manifest.created_by, "state", f"episode:{each.id}", why, details)


def _event(manifest: Manifest) -> Change:
    details = {
        "manifest": manifest.hash,
        "episodes": len(manifest.episodes),
        "change": manifest.change,
        "previous": manifest.previous,
    }
    subject = f"release:{manifest.reference}"
    return Change(manifest.created_by, "release", subject, manifest.notes, details)


def _facts(
    manifest: Manifest, alike: Representativeness, left_out: Mapping[str, int]
) -> dict[str, Any]:
    """What the catalogue says of a release without its manifest."""
    seconds = sum(each.duration_s or 0.0 for each in manifest.episodes)
    return {
        "licence": manifest.licence,
        "notes": manifest.notes,
        "change": manifest.change,
        "previous": manifest.previous,
        "software": manifest.software,
        "seed": manifest.seed,
        "shares": manifest.shares,
        "stratify": list(manifest.stratify),
        "group_by": manifest.group_by,
        "negatives": manifest.negatives,
        "bytes": sum(each.bytes for each in manifest.episodes),
        "hours": seconds / _HOUR_S,
        "splits": dict(sorted(Counter(each.split for each in manifest.episodes).items())),
        "left_out": dict(left_out),
        "retention": manifest.retention.model_dump(mode="json") if manifest.retention else None,
        "representativeness": alike.to_json(),
    }


def hold_release(
    workspace: Workspace,
    reference: str,
    *,
    who: str,
    on_episode: Callable[[str], None] = lambda _: None,
) -> int:
    """Hold every episode until the date that the release was made with; how many are held.

    Its manifest has been held since it was stored. Repeated, after a kill for example, it does
    nothing twice that matters; the log tells of it when all are held.
    """
    manifest = load_release(workspace, reference)
    retention = manifest.retention
    if retention is None or not retention.write_once:
        why = "no date" if retention is None else "a store without object lock"
        raise CatalogError(
            f"release {manifest.reference}, got {why}; expected one made with a date in a store "
            "with object lock. Make a new version in such a store."
        )
    until = datetime.fromisoformat(retention.until)
    copies = local_copies(workspace)
    for each in manifest.episodes:
        # The store compares the file with what it has, and sends nothing again.
        workspace.store.put(copies.path(each.hash, each.bytes), retain_until=until)
        on_episode(each.id)
    details = {"until": retention.until, "episodes": len(manifest.episodes)}
    with workspace.database.write() as connection:
        record(connection, [Change(who, "retain", f"release:{manifest.reference}", None, details)])
    return len(manifest.episodes)
