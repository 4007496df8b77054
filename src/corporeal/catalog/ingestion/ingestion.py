"""Takes episodes into a workspace: verified, judged, stored, recorded; repeated without harm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection

from corporeal.catalog.audit import Change, note_end, record, take_turn
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes.halts import hold_late
from corporeal.catalog.episodes.reading import (
    StoredEpisode,
    find_by_hash,
    hashes_of,
    policies_of,
)
from corporeal.catalog.episodes.rows import State
from corporeal.catalog.episodes.writing import (
    VERSIONED,
    add_episodes,
    complete_episode,
    describe_version_conflict,
    find_version_conflict,
    move_episodes,
)
from corporeal.catalog.ingestion.inspection import (
    IngestOptions,
    Inspected,
    JudgedFile,
    inspect_files,
    judge_files,
)
from corporeal.catalog.people import place_episodes
from corporeal.catalog.store.local_copies import find_damage
from corporeal.catalog.store.store import digest_of
from corporeal.catalog.workspace.workspace import Workspace
from corporeal.episode.file import list_episode_files
from corporeal.exchange.format import formats
from corporeal.files import refuse_links_out
from corporeal.quality.check import Finding
from corporeal.quality.policy import Policy, default_policy

Status = Literal["added", "judged", "known", "refused", "damaged"]
GROUP = 64
"""Files that are judged together and recorded in one transaction: what a kill can cost."""
_CHANGED = "the file was changed while it was read. Ingest it again when it is at rest"


@dataclass(frozen=True)
class IngestOutcome:
    """What became of one file.

    `added` is new, `judged` was recorded before and has its verdict now, `known` was there;
    `refused` and `damaged` are not in the catalogue. `reason` says why that, or why the verdict.
    """

    path: Path
    status: Status
    id: str | None = None
    hash: str | None = None
    state: State | None = None
    score: float | None = None
    reason: str | None = None
    practice: str | None = None
    """Why it lies in the practice partition, and out of every release; None where it counts."""
    is_outdated: bool = False
    """It is known, and was judged under another policy than this one."""
    is_mended: bool = False
    """Its object was lost or changed in the store, and was put in again from this file."""


@dataclass(frozen=True)
class Ingested:
    """What became of all files, in their order, and what was found of them as a set."""

    outcomes: tuple[IngestOutcome, ...]
    set_findings: tuple[Finding, ...] = ()

    def having(self, *statuses: Status) -> tuple[IngestOutcome, ...]:
        """Those of which one of these is true."""
        return tuple(each for each in self.outcomes if each.status in statuses)

    def count(self, state: State) -> int:
        """How many of those that are new or newly judged are in this state."""
        return sum(each.state == state for each in self.having("added", "judged"))


def ingest(
    workspace: Workspace,
    paths: Sequence[Path],
    *,
    who: str,
    policy: Policy | None = None,
    pictures: bool = True,
    batch: str | None = None,
    check: bool = True,
    on: str = "processes",
    jobs: int = 1,
    on_start: Callable[[int], None] = lambda _: None,
    on_episode: Callable[[Path], None] = lambda _: None,
) -> Ingested:
    """Take episode files, and folders of them, into the workspace.

    Every file is read and verified, judged by itself and among its group, scored, stored under the
    hash of its content and then recorded, a group in one transaction. Called again after an
    interruption it goes on with the first group that is not recorded; nothing is doubled.
    Without `check` episodes stay `recorded`; ingesting them again judges them. Work is done `on` a
    runner with so many jobs. The callbacks hear how many files there are, and of each
    when it was looked at.
    """
    terms = IngestOptions(policy or default_policy(), pictures, batch, check, on, jobs)
    if policy is not None:
        check_policy(workspace, policy)
    files = files_of(paths)
    on_start(len(files))
    outcomes: list[IngestOutcome] = []
    of_set: list[Finding] = []
    # Groups of the files as named, not of those that are new: so they are the same every time.
    for first in range(0, len(files), GROUP):
        group = files[first : first + GROUP]
        outcomes += _take_in(
            workspace, group, terms, who=who, on_episode=on_episode, on_set=of_set.append
        )
    if of_set:
        with workspace.database.write() as connection:
            record(connection, [_set_event(finding, batch, who) for finding in of_set])
    if of_set or any(outcome.status not in ("known", "refused") for outcome in outcomes):
        # What came in is worth a head outside of the database, which nobody can take back.
        note_end(workspace.database, workspace.notes)
    return Ingested(tuple(outcomes), tuple(of_set))


def _set_event(finding: Finding, batch: str | None, who: str) -> Change:
    details = {"check": finding.check, "severity": finding.severity, "value": finding.value}
    return Change(who, "set finding", f"batch:{batch or 'none'}", finding.message, details)


def check_policy(workspace: Workspace, policy: Policy) -> None:
    """Raise CatalogError before anything is judged by a version that has other content here."""
    stated = {"hash": policy.hash, "name": policy.name, "version": policy.version,
              "text": policy.canonical()}  # fmt: skip
    with workspace.database.read() as connection:
        conflict = find_version_conflict(connection, policy.kind, stated)
    if conflict is not None:
        raise CatalogError(f"{conflict}.")


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The episode files that are meant, folders opened, none twice."""
    found: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise CatalogError(f"{path} does not exist; expected an episode or a folder of them.")
        known = (name for name, each in formats().items() if each.read and each.recognises(path))
        name = next(known, None)
        if name not in ("episodes", None):
            raise CatalogError(
                f"{path} is a dataset in {name}; expected episode files. "
                f"Import it first: corporeal import {path} --out EPISODES."
            )
        if name is None:
            raise CatalogError(f"{path}, got no episode; expected .h5 files that Corporeal wrote.")
        files = list_episode_files(path) if path.is_dir() else [path]
        if path.is_dir():
            refuse_links_out(path, filter(Path.is_symlink, files))
        for each in files:
            if each.is_file():
                found.setdefault(each.resolve(), each)
    return list(found.values())


def _take_in(
    workspace: Workspace,
    group: Sequence[Path],
    terms: IngestOptions,
    *,
    who: str,
    on_episode: Callable[[Path], None],
    on_set: Callable[[Finding], None],
) -> list[IngestOutcome]:
    """One group: what is known is passed over, the rest is judged, stored and recorded."""
    done: dict[Path, IngestOutcome] = {}
    digests = dict(_digests(group, done))
    fresh = _fresh(workspace, digests, terms, done, who=who)
    for path in group:
        if path in done or fresh[digests[path]] != path:
            on_episode(path)
    whole = _whole(workspace, inspect_files(fresh, terms), done)
    for path in fresh.values():
        if path in done:
            on_episode(path)
    candidates = judge_files(whole, terms, workspace.database, on_episode=on_episode, on_set=on_set)
    stored = [each for each in candidates if _store(workspace, each, done)]
    with workspace.database.write() as connection:
        admitted = admit(connection, stored, who=who)
    for outcome in admitted:
        done[outcome.path] = outcome
        if outcome.state == "erased" and outcome.hash is not None:
            # Erased by somebody else while it was looked at here: it must not lie there again.
            workspace.store.erase(outcome.hash)
    return [_told(path, digests, done, fresh) for path in group]


def _digests(group: Sequence[Path], done: dict[Path, IngestOutcome]) -> Iterator[tuple[Path, str]]:
    for path in group:
        try:
            yield path, digest_of(path)
        except OSError as error:
            done[path] = IngestOutcome(path, "damaged", reason=f"cannot be read ({error.strerror})")


def _fresh(
    workspace: Workspace,
    digests: dict[Path, str],
    terms: IngestOptions,
    done: dict[Path, IngestOutcome],
    *,
    who: str,
) -> dict[str, Path]:
    """The files that there is something to do for, by their hashes; the others are done."""
    with workspace.database.read() as connection:
        rows = find_by_hash(connection, digests.values())
        policies = policies_of(connection, [row.id for row in rows.values()])
    fresh: dict[str, Path] = {}
    for path, digest in digests.items():
        row = rows.get(digest)
        if row is None or (terms.check and row.state == "recorded"):
            fresh.setdefault(digest, path)
        else:
            known = _known(workspace, path, digest, row, who=who)
            judged_by = policies.get(row.id)
            if terms.check and judged_by is not None and judged_by.hash != terms.policy.hash:
                named = f"{judged_by.name}@{judged_by.version}"
                reason = f"judged before under {named}; judge it anew with: corporeal rejudge"
                known = replace(known, reason=known.reason or reason, is_outdated=True)
            done[path] = known
    return fresh


def _version_conflicts(connection: Connection, looks: Sequence[Inspected]) -> dict[Path, str]:
    """Why files are refused whose documents bear a version that has another content already."""
    first: dict[tuple[str, str, str], Mapping[str, str]] = {}
    conflicts: dict[Path, str] = {}
    for look in looks:
        documents = look.entry.documents if look.entry is not None else {}
        for kind, document in documents.items():
            if kind not in VERSIONED:
                continue
            reason = find_version_conflict(connection, kind, document)
            earlier = first.setdefault((kind, document["name"], document["version"]), document)
            if reason is None and earlier["hash"] != document["hash"]:
                reason = describe_version_conflict(kind, document, earlier["hash"], earlier["text"])
            if reason is not None:
                conflicts.setdefault(look.path, reason)
    return conflicts


def _whole(
    workspace: Workspace, looks: Sequence[Inspected], done: dict[Path, IngestOutcome]
) -> list[Inspected]:
    """What can be judged: not the damaged, and nothing that would replace another episode."""
    with workspace.database.read() as connection:
        taken = hashes_of(connection, [look.entry.id for look in looks if look.entry is not None])
        conflicts = _version_conflicts(connection, looks)
    whole: list[Inspected] = []
    for look in looks:
        if look.entry is None:
            done[look.path] = IngestOutcome(
                look.path, "damaged", hash=look.digest, reason=look.reason
            )
            continue
        name = look.entry.id
        if look.path in conflicts:
            reason = conflicts[look.path]
            done[look.path] = IngestOutcome(look.path, "refused", name, look.digest, reason=reason)
            continue
        # The first of two files with one id is the one that counts.
        if taken.setdefault(name, look.digest) == look.digest:
            whole.append(look)
        else:
            reason = other_content(name, taken[name])
            done[look.path] = IngestOutcome(look.path, "refused", name, look.digest, reason=reason)
    return whole


def _known(
    workspace: Workspace, path: Path, digest: str, row: StoredEpisode, *, who: str
) -> IngestOutcome:
    """A file that the catalogue has. Its object is replaced if it was lost or changed."""
    if row.state == "erased":
        return IngestOutcome(path, "refused", row.id, digest, row.state, reason=erased(row.id))
    known = IngestOutcome(path, "known", row.id, digest, row.state)
    damage = find_damage(workspace.store, digest)
    if damage is None:
        return known
    if workspace.store.put(path, replace=True) != digest:
        return replace(known, status="damaged", reason=_CHANGED)
    with workspace.database.write() as connection:
        change = Change(who, "mended", f"episode:{row.id}", damage, {"hash": digest})
        record(connection, [change])
    return replace(known, reason=f"its object was put in again: {damage}", is_mended=True)


def _store(workspace: Workspace, candidate: JudgedFile, done: dict[Path, IngestOutcome]) -> bool:
    """Store the file; one that was changed since it was looked at is not recorded."""
    path, store = candidate.path, workspace.store
    is_there = store.has(candidate.digest) is not None
    is_rotten = is_there and find_damage(store, candidate.digest) is not None
    if store.put(path, replace=is_rotten) == candidate.digest:
        return True
    done[path] = IngestOutcome(path, "damaged", hash=candidate.digest, reason=_CHANGED)
    return False


def _told(
    path: Path, digests: dict[Path, str], done: dict[Path, IngestOutcome], fresh: dict[str, Path]
) -> IngestOutcome:
    """What became of the file; a second one with the same content shares the first one's fate."""
    if path in done:
        return done[path]
    first = done[fresh[digests[path]]]
    status: Status = "known" if first.status in ("added", "judged") else first.status
    return replace(first, path=path, status=status)


def admit(
    connection: Connection, candidates: Sequence[JudgedFile], *, who: str
) -> list[IngestOutcome]:
    """Enter files whose objects are stored, inside a transaction; what became of each.

    Another writer may have entered some of them meanwhile: those are left as they are.
    """
    if not candidates:
        return []
    # Writers look and write one after the other, so that two of them add nothing twice.
    take_turn(connection)
    there = find_by_hash(connection, [each.digest for each in candidates])
    taken = hashes_of(connection, [each.entry.id for each in candidates])
    fresh: list[JudgedFile] = []
    outcomes: list[IngestOutcome] = []
    for each in candidates:
        row, other = there.get(each.digest), taken.get(each.entry.id)
        if row is not None and row.state == "erased":
            outcomes.append(_outcome(each, "refused", "erased", erased(row.id)))
        elif row is not None and (row.state != "recorded" or each.verdict is None):
            outcomes.append(_outcome(each, "known", row.state))
        elif row is not None:
            complete_episode(connection, row.id, each.entry, who=who)
            outcomes.append(_outcome(each, "judged", each.verdict, each.reason))
            _move(connection, row.id, each, who=who)
        elif other is not None:
            outcomes.append(_outcome(each, "refused", None, other_content(each.entry.id, other)))
        else:
            taken[each.entry.id] = each.digest
            fresh.append(each)
    add_episodes(connection, [each.entry for each in fresh], who=who)
    for each in fresh:
        _move(connection, each.entry.id, each, who=who)
        outcomes.append(_outcome(each, "added", each.verdict or "recorded", each.reason))
    new = [each.id for each in outcomes if each.status in ("added", "judged") and each.id]
    held = hold_late(connection, new, who=who)
    practice = place_episodes(connection, new, who=who)
    outcomes = [
        replace(each, state="quarantined", reason=held[each.id]) if each.id in held else each
        for each in outcomes
    ]
    return [
        replace(each, practice=practice[each.id]) if each.id in practice else each
        for each in outcomes
    ]


def _outcome(
    candidate: JudgedFile, status: Status, state: State | None, reason: str | None = None
) -> IngestOutcome:
    entry = candidate.entry
    return IngestOutcome(
        candidate.path, status, entry.id, candidate.digest, state, entry.row.score, reason
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


def _move(connection: Connection, name: str, candidate: JudgedFile, *, who: str) -> None:
    """From recorded through checked to the verdict, each an event of its own."""
    if candidate.verdict is None:
        return
    policy = candidate.entry.row.policy
    move_episodes(connection, [name], "checked", who=who, why=f"checked under {policy}")
    move_episodes(connection, [name], candidate.verdict, who=who, why=candidate.reason)
