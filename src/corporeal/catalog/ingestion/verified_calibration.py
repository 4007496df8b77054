"""Verifications of a calibration that people state of stored episodes, at their start or end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection, delete, insert, select

from corporeal.catalog.audit import Change, record
from corporeal.catalog.episodes.reading import parts_of
from corporeal.catalog.episodes.rows import DocumentRow
from corporeal.catalog.episodes.writing import keep_document
from corporeal.catalog.tables import DOCUMENT, GOVERNS
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import CorporealError
from corporeal.protocol import Calibration

VERIFIED = {"start": "calibration_start", "end": "calibration_end"}
"""What a verification is called among the documents behind an episode."""
StatedDocuments = Mapping[str, Mapping[str, str]]
"""Documents by what they are called behind an episode; each has hash, name, version and text."""


def _document_of(calibration: Calibration) -> dict[str, str]:
    if calibration.position_error_m is None and calibration.rotation_error_rad is None:
        raise CorporealError(
            f"calibration {calibration.reference}, got no verification; expected position_error_m "
            "or rotation_error_rad. Measure a marker at a known pose and write them down."
        )
    return {"hash": calibration.hash, "name": calibration.name, "version": calibration.version,
            "text": calibration.canonical()}  # fmt: skip


def state_verifications(
    connection: Connection, ids: Sequence[str], verified: Mapping[str, Calibration], *, who: str
) -> None:
    """State of these episodes how their calibration was verified, inside a transaction.

    `verified` has the calibration at the `start` and at the `end`; CorporealError for one that
    measured no error. It takes the place of what was stated before; each change is an event.
    """
    before = verifications_of(connection, ids)
    for when, calibration in verified.items():
        kind, document = VERIFIED[when], _document_of(calibration)
        keep_document(connection, DocumentRow(kind=Calibration.kind, **document))
        changed = [name for name in ids if before[name].get(kind) != document]
        for part in parts_of(changed):
            old = (GOVERNS.c.episode.in_(part), GOVERNS.c.kind == kind)
            connection.execute(delete(GOVERNS).where(*old))
            links = [{"episode": name, "kind": kind, "document": document["hash"]}
                     for name in part]  # fmt: skip
            connection.execute(insert(GOVERNS), links)
        details = {"as": kind, "document": f"{document['name']}@{document['version']}"}
        record(connection, [
            Change(who, "verification", f"episode:{name}", details=details) for name in changed
        ])  # fmt: skip


def verifications_of(
    connection: Connection, ids: Sequence[str], verified: Mapping[str, Calibration] | None = None
) -> dict[str, dict[str, Mapping[str, str]]]:
    """What was stated of each of these episodes, and what of `verified` comes in its place."""
    columns = (DOCUMENT.c.hash, DOCUMENT.c.name, DOCUMENT.c.version, DOCUMENT.c.text)
    found: dict[str, dict[str, Mapping[str, str]]] = {name: {} for name in ids}
    for part in parts_of(list(found)):
        query = (
            select(GOVERNS.c.episode, GOVERNS.c.kind, *columns)
            .join(DOCUMENT, DOCUMENT.c.hash == GOVERNS.c.document)
            .where(GOVERNS.c.episode.in_(part), GOVERNS.c.kind.in_(VERIFIED.values()))
        )
        for row in connection.execute(query):
            found[row.episode][row.kind] = {"hash": row.hash, "name": row.name,
                                            "version": row.version, "text": row.text}  # fmt: skip
    own = {VERIFIED[when]: _document_of(each) for when, each in (verified or {}).items()}
    return {name: {**there, **own} for name, there in found.items()}


def with_verifications(
    opener: Callable[[], Dataset], stated: Sequence[StatedDocuments]
) -> Callable[[], Dataset]:
    """The same episodes with what was stated of each among their documents."""
    texts = [{kind: document["text"] for kind, document in each.items()} for each in stated]
    return partial(_opened, opener, texts) if any(texts) else opener


def _opened(opener: Callable[[], Dataset], texts: Sequence[Mapping[str, str]]) -> Dataset:
    dataset = opener()
    return replace(dataset, open=partial(_open, dataset.open, texts))


def _open(
    open_episode: Callable[[int], Recording], texts: Sequence[Mapping[str, str]], number: int
) -> Recording:
    recording = open_episode(number)
    return replace(recording, documents={**recording.documents, **texts[number]})
