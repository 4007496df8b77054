"""The one transaction in which episodes enter the catalogue, with the verdict they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, delete, insert, select, update

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes.reading import find_by_hash, hashes_of
from corporeal.catalog.episodes.rows import EpisodeEntry
from corporeal.catalog.episodes.state import State
from corporeal.catalog.episodes.writing import add_episodes, move_episodes
from corporeal.catalog.tables import DOCUMENT, EPISODE, FINDING, GOVERNS, HEAD, SCORE
from corporeal.quality.check import Verdict

Status = Literal["added", "judged", "known", "refused", "damaged"]


@dataclass(frozen=True)
class JudgedFile:
    """An episode whose object is stored; no `verdict` means that nobody has judged it."""

    entry: EpisodeEntry
    verdict: Verdict | None = None
    reason: str | None = None

    @property
    def digest(self) -> str:
        """The hash of its file."""
        return self.entry.hash


@dataclass(frozen=True)
class Admitted:
    """What became of a candidate, and why if it was refused."""

    status: Status
    state: State | None
    reason: str | None = None


def admit(
    connection: Connection, candidates: Sequence[JudgedFile], *, who: str
) -> dict[str, Admitted]:
    """Enter candidates inside a transaction; what became of each, by the hash of its file.

    Another writer may have entered some of them meanwhile: those are left as they are.
    """
    if not candidates:
        return {}
    _take_turn(connection)
    there = find_by_hash(connection, [each.digest for each in candidates])
    taken = hashes_of(connection, [each.entry.id for each in candidates])
    fresh: list[JudgedFile] = []
    admitted: dict[str, Admitted] = {}
    for each in candidates:
        row, other = there.get(each.digest), taken.get(each.entry.id)
        if row is not None and row.state == "erased":
            admitted[each.digest] = Admitted("refused", "erased", erased(row.id))
        elif row is not None and (row.state != "recorded" or each.verdict is None):
            admitted[each.digest] = Admitted("known", row.state)
        elif row is not None:
            _complete(connection, row.id, each)
            admitted[each.digest] = Admitted("judged", each.verdict, each.reason)
            _move(connection, row.id, each, who=who)
        elif other is not None:
            admitted[each.digest] = Admitted("refused", None, other_content(each.entry.id, other))
        else:
            taken[each.entry.id] = each.digest
            fresh.append(each)
    add_episodes(connection, [each.entry for each in fresh], who=who)
    for each in fresh:
        _move(connection, each.entry.id, each, who=who)
        admitted[each.digest] = Admitted("added", each.verdict or "recorded", each.reason)
    return admitted


def _take_turn(connection: Connection) -> None:
    """Writers look and write one after the other, so that two of them add nothing twice."""
    query = select(HEAD.c.id).where(HEAD.c.id == 1).with_for_update()
    if connection.execute(query).first() is None:
        raise CatalogError(
            "the catalogue has no audit log; expected one. Make the workspace with: corporeal init."
        )


def other_content(name: str, digest: str) -> str:
    """Why an episode is refused whose id is there, on a file with this hash."""
    return (
        f"episode {name} is in the catalogue with other content ({digest[:19]}...), and what was "
        "recorded is never replaced"
    )


def erased(name: str) -> str:
    """Why an episode is refused that was erased."""
    return f"episode {name} was erased and may not come back"


def _complete(connection: Connection, name: str, candidate: JudgedFile) -> None:
    """Add what was found to an episode that was only recorded."""
    entry = candidate.entry
    row = entry.row
    judged = {"verdict": row.verdict, "score": row.score, "policy": row.policy}
    connection.execute(update(EPISODE).where(EPISODE.c.id == name).values(**judged))
    for table, rows in ((FINDING, entry.findings), (SCORE, entry.scores)):
        connection.execute(delete(table).where(table.c.episode == name))
        listed: list[dict[str, Any]] = [{**row, "episode": name} for row in rows]
        if listed:
            connection.execute(insert(table), listed)
    _govern(connection, name, "policy", entry.documents["policy"])


def _govern(connection: Connection, name: str, kind: str, document: Mapping[str, str]) -> None:
    """Put a document behind an episode that had none of this kind."""
    query = select(DOCUMENT.c.hash).where(DOCUMENT.c.hash == document["hash"])
    if connection.execute(query).first() is None:
        connection.execute(insert(DOCUMENT).values(kind=kind, **document))
    link = {"episode": name, "kind": kind, "document": document["hash"]}
    connection.execute(insert(GOVERNS).values(**link))


def _move(connection: Connection, name: str, candidate: JudgedFile, *, who: str) -> None:
    """From recorded through checked to the verdict, each an event of its own."""
    if candidate.verdict is None:
        return
    policy = candidate.entry.row.policy
    move_episodes(connection, [name], "checked", who=who, why=f"checked under {policy}")
    move_episodes(connection, [name], candidate.verdict, who=who, why=candidate.reason)
