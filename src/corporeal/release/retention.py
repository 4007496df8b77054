"""Holds the episodes of a release against deletion, where the store has object lock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.workspace import Workspace
from corporeal.release.local_copy import LocalCopies
from corporeal.release.reading import load_release


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
    copies = LocalCopies(workspace.store, workspace.root / "cache" / "episodes")
    for each in manifest.episodes:
        # The store compares the file with what it has, and sends nothing again.
        workspace.store.put(copies.path(each.hash, each.bytes), retain_until=until)
        on_episode(each.id)
    details = {"until": retention.until, "episodes": len(manifest.episodes)}
    with workspace.database.write() as connection:
        record(connection, [Change(who, "retain", f"release:{manifest.reference}", None, details)])
    return len(manifest.episodes)
