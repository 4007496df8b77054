"""Looks at files on their way in: all bytes verified, then checks and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from corporeal.catalog.database import Database
from corporeal.catalog.episodes.peers import Reference, find_peers, find_reference
from corporeal.catalog.episodes.rows import EpisodeEntry
from corporeal.catalog.ingestion.detectors import KeptDetector, find_detector
from corporeal.catalog.ingestion.episode_entry import entry_of, judged, reason_for
from corporeal.catalog.ingestion.seen_pictures import SeenPictures, find_seen
from corporeal.episode import Episode
from corporeal.episode.overview import verify
from corporeal.episode.recording import recording_of
from corporeal.errors import CorporealError
from corporeal.exchange import open_dataset
from corporeal.protocol import Protocol
from corporeal.quality import Subject
from corporeal.quality.check import Finding, Verdict
from corporeal.quality.inspection import EpisodeReport, InspectionOptions, Opener, inspect
from corporeal.quality.policy import Policy
from corporeal.quality.scoring import (
    Measured,
    Profile,
    measure,
    pack_profile,
    score_against,
    unpack_profile,
)
from corporeal.quality.synopsis import Synopsis, unpack_synopsis
from corporeal.runner import run

# A second process costs about two seconds to start; fewer files than this do not pay for it.
_WORTH_A_PROCESS = 8


@dataclass(frozen=True)
class IngestOptions:
    """How to look at files, `on` which runner; `check` False means that nothing is judged."""

    policy: Policy
    pictures: bool = True
    batch: str | None = None
    check: bool = True
    on: str = "processes"
    jobs: int = 1


@dataclass(frozen=True, eq=False)
class Inspected:
    """A file that was read: its entry and measures, or the reason why it has none."""

    path: Path
    digest: str
    entry: EpisodeEntry | None = None
    measured: Measured | None = None
    protocol: Protocol | None = None
    reason: str | None = None


@dataclass(frozen=True)
class JudgedFile:
    """A file that was read; no `verdict` means that nobody has judged its episode."""

    path: Path
    entry: EpisodeEntry
    verdict: Verdict | None = None
    reason: str | None = None

    @property
    def digest(self) -> str:
        """The hash of the file."""
        return self.entry.hash


def inspect_files(files: Mapping[str, Path], terms: IngestOptions) -> list[Inspected]:
    """Read files, given by their hashes; what is wrong with one is said of that one alone."""
    items = list(files.items())
    jobs = terms.jobs
    if terms.on == "processes":
        jobs = max(1, min(jobs, len(items) // _WORTH_A_PROCESS))
    found: dict[int, Inspected] = {}
    with closing(run(partial(_look, terms), items, on=terms.on, jobs=jobs)) as results:
        for done in results:
            digest, path = items[done.place]
            # A file that ends every worker which opens it has no value, only an error.
            found[done.place] = done.value or Inspected(path, digest, reason=str(done.error))
    return [found[place] for place in range(len(items))]


def _look(terms: IngestOptions, _: None, item: tuple[str, Path]) -> Inspected:
    digest, path = item
    try:
        damage = verify(path)
        if damage:
            where = f"{damage[0].path}: " if damage[0].path else ""
            more = f", and {len(damage) - 1} more" if len(damage) > 1 else ""
            return Inspected(path, digest, reason=f"{where}{damage[0].message}{more}")
        with Episode.open(path) as episode:
            entry = entry_of(episode, digest=digest, size=path.stat().st_size, batch=terms.batch)
            if not terms.check:
                return Inspected(path, digest, entry)
            measured = measure(Subject(recording_of(episode)))
            return Inspected(path, digest, entry, measured, protocol_of(episode))
    except (CorporealError, OSError) as error:
        return Inspected(path, digest, reason=str(error))


def protocol_of(episode: Episode) -> Protocol | None:
    """The protocol that an episode carries."""
    text = episode.documents.get("protocol")
    if text is None:
        return None
    return Protocol.parse(text, source=f"{episode.path}:protocol", suffix=".json")


def judge_files(
    looks: Sequence[Inspected],
    terms: IngestOptions,
    database: Database,
    *,
    on_episode: Callable[[Path], None],
    on_set: Callable[[Finding], None] = lambda _: None,
) -> list[JudgedFile]:
    """Checks and scores. Episodes of one protocol are held to it, and compared with each other.

    They are compared with what the catalogue has of their tasks as well. `on_set` hears what is
    found of all together and of no single one. Nothing is said of them
    where the options ask for no check.
    """
    if not terms.check:
        for look in looks:
            on_episode(look.path)
        return [JudgedFile(look.path, look.entry) for look in looks if look.entry is not None]
    judged_files: dict[str, JudgedFile] = {}
    rules = {look.protocol.hash if look.protocol else "": look.protocol for look in looks}
    for rule, protocol in rules.items():
        own = [look for look in looks if (look.protocol.hash if look.protocol else "") == rule]
        opener = partial(open_dataset, [look.path for look in own])
        company = find_company(database, own)
        for candidate in judge_together(opener, own, protocol, terms, company, on_episode, on_set):
            judged_files[candidate.digest] = candidate
    return [judged_files[look.digest] for look in looks]


@dataclass(frozen=True, eq=False)
class Company:
    """What episodes are compared with: stored ones of their tasks, and the tasks' references."""

    peers: tuple[Synopsis, ...]
    earlier: tuple[Synopsis, ...]
    """Those of other batches."""
    arrived: Mapping[int, str]
    """When each came in that is in the catalogue, by its number."""
    references: Mapping[tuple[str | None, str | None], Reference | None]
    detectors: Mapping[tuple[str | None, str | None], KeptDetector | None]
    seen: Mapping[int, SeenPictures] = field(default_factory=dict)
    """What was said of pictures that nobody looks at now, by the episode's number."""


def find_company(
    database: Database, looks: Sequence[Inspected], *, pictures: bool = True
) -> Company:
    """The company of files that are judged together, whose numbers come before its own.

    Without `pictures` it has what was said of them before.
    """
    rows = [look.entry.row for look in looks if look.entry is not None]
    own, batches = {row.id for row in rows}, {row.batch for row in rows}
    peers: list[Synopsis] = []
    earlier: list[Synopsis] = []
    references, detectors = {}, {}
    arrived = {number: look.entry.row.ingested_at for number, look in enumerate(looks)
               if look.entry is not None and look.entry.row.ingested_at}  # fmt: skip
    with database.read() as connection:
        for task, robot in dict.fromkeys((row.task, row.robot) for row in rows):
            references[task, robot] = find_reference(connection, task, robot)
            detectors[task, robot] = find_detector(connection, task, robot)
            for peer in find_peers(connection, task, robot, besides=own):
                index = len(looks) + len(peers)
                arrived[index] = peer.ingested_at
                peers.append(unpack_synopsis(peer.content, peer.metadata, index=index))
                if peer.batch is None or peer.batch not in batches:
                    earlier.append(peers[-1])
        seen = {} if pictures else find_seen(connection, sorted(own))
    known = {number: seen[look.entry.row.id] for number, look in enumerate(looks)
             if look.entry is not None and look.entry.row.id in seen}  # fmt: skip
    return Company(tuple(peers), tuple(earlier), arrived, references, detectors, known)


def judge_together(
    opener: Opener,
    looks: Sequence[Inspected],
    protocol: Protocol | None,
    terms: IngestOptions,
    company: Company,
    on_episode: Callable[[Path], None],
    on_set: Callable[[Finding], None] = lambda _: None,
) -> list[JudgedFile]:
    """Judge the episodes of a dataset, which were looked at one by one in its order."""

    def tell(report: EpisodeReport) -> None:
        on_episode(looks[report.index].path)

    learnt = [company.detectors[_kind_of(look)] for look in looks]
    usual = {number: kept.detector for number, kept in enumerate(learnt) if kept is not None}
    report = inspect(
        opener,
        InspectionOptions(
            terms.policy,
            protocol=protocol,
            detectors=usual,
            pictures=terms.pictures,
            seen={number: kept.assessment for number, kept in company.seen.items()},
        ),
        on=terms.on,
        jobs=terms.jobs,
        beside=company.peers,
        earlier=company.earlier,
        arrived=company.arrived,
        on_episode=tell,
    )
    for finding in report.batch.findings:
        if not finding.episodes:
            on_set(finding)
    names = {number: look.path.name for number, look in enumerate(looks)}
    names |= {peer.index: f"{peer.id[:13]} of the catalogue" for peer in company.peers}
    profiles: dict[str, Mapping[str, Profile]] = {}
    candidates = []
    for number, (look, about, kept) in enumerate(zip(looks, report.episodes, learnt, strict=True)):
        assert look.entry is not None
        row, measured, profile = look.entry.row, look.measured, None
        reference = company.references[row.task, row.robot]
        if reference is not None and reference.name not in profiles:
            profiles[reference.name] = {
                name: unpack_profile(data) for name, data in reference.profiles.items()
            }
        against = None if reference is None else profiles[reference.name]
        score = None if measured is None else score_against(measured, against)
        if measured is not None and measured.profile is not None:
            profile = pack_profile(measured.profile)
        named = None if reference is None else reference.name
        entry = judged(
            look.entry,
            about,
            score,
            terms.policy,
            reference=named,
            detector=None if kept is None else kept.document,
            names=names,
            pictures=terms.pictures,
        )
        if entry.synopsis is not None and number in company.seen:
            entry = replace(entry, synopsis=company.seen[number].put_into(entry.synopsis))
        candidates.append(
            JudgedFile(look.path, replace(entry, profile=profile), about.verdict,
                       reason_for(about, names))
        )  # fmt: skip
    return candidates


def _kind_of(look: Inspected) -> tuple[str | None, str | None]:
    assert look.entry is not None
    return look.entry.row.task, look.entry.row.robot
