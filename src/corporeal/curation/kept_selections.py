"""Selections as versions in a catalogue: kept, listed, found by name."""

from __future__ import annotations

from sqlalchemy import Connection

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import DocumentRow, documents_of_kind, keep_document
from corporeal.catalog.permission import Actor
from corporeal.curation.selection import CurationSelection
from corporeal.errors import UnknownNameError


def keep_selection(
    connection: Connection, actor: Actor, selection: CurationSelection
) -> tuple[CurationSelection, bool]:
    """Store it under the next version of its name; False where the newest says the same already."""
    earlier = _rows(connection, selection.name)
    if earlier:
        newest = _parse(earlier[-1])
        number = int(newest.version.split(".")[0]) + 1
        again = selection.model_copy(update={"version": newest.version})
        if again.hash == newest.hash:
            return newest, False
        selection = selection.model_copy(update={"version": f"{number}.0.0"})
    keep_document(connection, DocumentRow(
        selection.hash, CurationSelection.kind, selection.name, selection.version,
        selection.canonical(),
    ))  # fmt: skip
    details = {"kept": len(selection.kept), "of": len(selection.episodes),
               "methods": list(selection.methods)}  # fmt: skip
    subject = f"selection:{selection.reference}"
    record(connection, [Change(actor.name, "select", subject, None, details)])
    return selection, True


def list_selections(connection: Connection) -> list[CurationSelection]:
    """Every version of every selection, by name and version."""
    return [_parse(row) for row in _rows(connection, None)]


def find_selection(connection: Connection, reference: str) -> CurationSelection:
    """A selection by NAME@VERSION, or the newest of a name."""
    name, _, version = reference.partition("@")
    rows = _rows(connection, name)
    for row in reversed(rows):
        if not version or row.version == version:
            return _parse(row)
    known = sorted({f"{row.name}@{row.version}" for row in _rows(connection, None)})
    if not known:
        raise CatalogError(
            f"selection, got {reference!r}, and none is kept here; expected one that was made. "
            "Make it with: corporeal curate."
        )
    raise UnknownNameError("selection", reference, known)


def _rows(connection: Connection, name: str | None) -> list[DocumentRow]:
    rows = documents_of_kind(connection, CurationSelection.kind, name=name)
    return sorted(rows, key=lambda row: (row.name, tuple(map(int, row.version.split(".")))))


def _parse(row: DocumentRow) -> CurationSelection:
    return CurationSelection.model_validate_json(row.text)
