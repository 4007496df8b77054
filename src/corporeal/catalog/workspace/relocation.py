"""Carries a workspace to another database and store, and checks what arrives."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, delete, func, insert, literal_column, select

from corporeal.catalog.audit import GENESIS, Head, head, verify
from corporeal.catalog.database import CatalogError
from corporeal.catalog.store.store import Store, verify_store
from corporeal.catalog.tables import (
    EPISODE,
    EVENT,
    FINDING,
    HEAD,
    LABEL_COMMENT,
    METADATA,
    METRIC,
    QUALIFICATION,
    VIEW,
)
from corporeal.catalog.workspace.workspace import Workspace

_BLOCK = 5000


@dataclass(frozen=True)
class Relocated:
    """What was carried. `lost` are objects that episodes name and the source does not have."""

    rows: int
    objects: int
    copied: int
    bytes: int
    lost: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return asdict(self)

    @property
    def words(self) -> str:
        """One sentence for people."""
        said = (
            f"{self.objects} objects ({self.copied} of them copied now, {self.bytes / 1e6:.1f} MB) "
            f"and {self.rows} rows are at the target and verified"
        )
        if self.lost:
            said += f"; {len(self.lost)} objects are lost at the source, the first {self.lost[0]}"
        return said


def relocate(
    source: Workspace,
    target: Workspace,
    *,
    on_object: Callable[[str], None] = lambda _: None,
) -> Relocated:
    """Copy a workspace to another one, which is empty or holds an earlier copy of it.

    The source is read at one moment and not changed. Objects come first and stay when the work is
    interrupted; rows come in one transaction. Called again it goes on, and follows what happened
    at the source meanwhile. Raises CatalogError for a target that holds something else, for a
    broken audit log, and for an object that does not arrive as it was.
    """
    _refuse_same(source, target)
    with source.database.read() as origin:
        _require_whole(origin, "source")
        with target.database.read() as there:
            _require_copy(origin, there)
        objects = list(source.store.digests())
        _clear_erased(origin, target.store, set(objects))
        copied = size = 0
        for digest in objects:
            count = _carry(source.store, target.store, digest)
            copied += count is not None
            size += count or 0
            on_object(digest)
        rows = _copy_rows(origin, target)
        for digest in source.notes.digests():
            _carry(source.notes, target.notes, digest)
        lost = tuple(sorted(_named(origin) - set(objects)))
    return Relocated(rows, len(objects), copied, size, lost)


def _refuse_same(source: Workspace, target: Workspace) -> None:
    """The same store may serve both; the same catalogue would be read and replaced at once."""
    if source.database.url == target.database.url:
        raise CatalogError(
            f"target {target.root} has the catalogue of the source; expected another one. "
            "Make an empty workspace with: corporeal init."
        )


def _require_whole(connection: Connection, which: str) -> None:
    for found in verify(connection):
        raise CatalogError(
            f"the audit log of the {which}: {found.reason}; expected an unbroken one. "
            "Look at it with: corporeal audit verify."
        )


def _require_copy(origin: Connection, there: Connection) -> None:
    """The end of the target's log must be a place in the source's log."""
    end = head(there)
    if end == Head(0, GENESIS):
        for table in METADATA.sorted_tables:
            if table is not HEAD and there.execute(select(table).limit(1)).first() is not None:
                raise _holds_other(f"rows of its own in the table {table.name}")
        return
    query = select(EVENT.c.hash).where(EVENT.c.number == end.number)
    if origin.execute(query).scalar() != end.hash:
        raise _holds_other("a history of its own")


def _holds_other(what: str) -> CatalogError:
    return CatalogError(
        f"target, got {what}; expected an empty workspace, or an earlier copy of the source. "
        "Make an empty one with: corporeal init."
    )


def _clear_erased(origin: Connection, store: Store, objects: set[str]) -> None:
    """What was erased at the source after an earlier copy is erased at the target too."""
    others = [digest for digest in store.digests() if digest not in objects]
    if not others:
        return
    query = select(EPISODE.c.hash).where(EPISODE.c.state == "erased")
    erased = set(origin.execute(query).scalars())
    if strange := [digest for digest in others if digest not in erased]:
        raise _holds_other(f"{len(strange)} objects that the source does not have")
    for digest in others:
        store.erase(digest)


def _carry(source: Store, target: Store, digest: str) -> int | None:
    """Bring one object over and read it back; its size if it had to be copied."""
    size = source.has(digest)
    copied = None
    if target.has(digest) != size:
        with tempfile.TemporaryDirectory(prefix="corporeal-") as folder:
            path = Path(folder) / "object"
            source.fetch(digest, path)
            copied = path.stat().st_size
            target.put(path)
    for bad in verify_store(target, [digest]):
        raise CatalogError(
            f"object {digest} at the target: {bad.reason}. Remove it there and repeat."
        )
    return copied


def _named(origin: Connection) -> set[str]:
    """The objects that must be there: those of every episode that was not erased."""
    query = select(EPISODE.c.hash).where(EPISODE.c.state != "erased")
    return set(origin.execute(query).scalars())


def _copy_rows(origin: Connection, target: Workspace) -> int:
    """All rows of all tables instead of those that are there, in one transaction; how many."""
    count = 0
    with target.database.write() as there:
        # Somebody may have worked there while the objects were on their way.
        _require_copy(origin, there)
        for table in reversed(METADATA.sorted_tables):
            there.execute(delete(table))
        for table in METADATA.sorted_tables:
            for rows in _blocks(origin, table):
                there.execute(insert(table), rows)
                count += len(rows)
        if not target.database.is_sqlite:
            _count_on(there)
        _require_whole(there, "target")
        if head(there) != head(origin):
            raise CatalogError("the audit log did not arrive whole. Repeat the work.")
    return count


def _blocks(origin: Connection, table: Table) -> Iterator[list[dict[str, Any]]]:
    query = select(table).order_by(*table.primary_key.columns)
    result = origin.execute(query.execution_options(yield_per=_BLOCK)).mappings()
    for part in result.partitions():
        yield [dict(row) for row in part]


def _count_on(connection: Connection) -> None:
    """PostgreSQL counts up by itself; it has to know where the copied rows end."""
    for table in (FINDING, LABEL_COMMENT, METRIC, QUALIFICATION, VIEW):
        counter = func.pg_get_serial_sequence(table.name, "number")
        last = select(func.max(table.c.number)).scalar_subquery()
        # The third argument says whether the number was given out already.
        known = func.setval(counter, func.coalesce(last, 1), last.is_not(literal_column("NULL")))
        connection.execute(select(known))
