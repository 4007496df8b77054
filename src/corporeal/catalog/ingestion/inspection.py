"""Looks at files on their way in: all bytes verified, then checks and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from corporeal.catalog.episodes.rows import EpisodeEntry
from corporeal.catalog.ingestion.episode_entry import entry_of, judged, reason_for
from corporeal.episode import Episode
from corporeal.episode.overview import verify
from corporeal.episode.recording import recording_of
from corporeal.errors import CorporealError
from corporeal.exchange import open_dataset
from corporeal.protocol import Protocol
from corporeal.quality import Subject
from corporeal.quality.check import Verdict
from corporeal.quality.inspection import EpisodeReport, InspectionOptions, inspect
from corporeal.quality.policy import Policy
from corporeal.quality.scoring import Measured, measure, score_batch
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
            return Inspected(path, digest, entry, measured, _protocol(episode))
    except (CorporealError, OSError) as error:
        return Inspected(path, digest, reason=str(error))


def _protocol(episode: Episode) -> Protocol | None:
    text = episode.documents.get("protocol")
    if text is None:
        return None
    return Protocol.parse(text, source=f"{episode.path}:protocol", suffix=".json")


def judge_files(
    looks: Sequence[Inspected], terms: IngestOptions, *, on_episode: Callable[[Path], None]
) -> list[JudgedFile]:
    """Checks and scores. Episodes of one protocol are held to it, and compared with each other.

    Nothing is said of them where the options ask for no check.
    """
    if not terms.check:
        for look in looks:
            on_episode(look.path)
        return [JudgedFile(look.path, look.entry) for look in looks if look.entry is not None]
    judged_files: dict[str, JudgedFile] = {}
    rules = {look.protocol.hash if look.protocol else "": look.protocol for look in looks}
    for rule, protocol in rules.items():
        own = [look for look in looks if (look.protocol.hash if look.protocol else "") == rule]
        for candidate in _judge_together(own, protocol, terms, on_episode):
            judged_files[candidate.digest] = candidate
    return [judged_files[look.digest] for look in looks]


def _judge_together(
    looks: Sequence[Inspected],
    protocol: Protocol | None,
    terms: IngestOptions,
    on_episode: Callable[[Path], None],
) -> list[JudgedFile]:
    paths = [look.path for look in looks]

    def tell(report: EpisodeReport) -> None:
        on_episode(paths[report.index])

    report = inspect(
        partial(open_dataset, paths),
        InspectionOptions(terms.policy, protocol=protocol, pictures=terms.pictures),
        on=terms.on,
        jobs=terms.jobs,
        on_episode=tell,
    )
    measured = [
        replace(look.measured, index=number)
        for number, look in enumerate(looks)
        if look.measured is not None
    ]
    scores = {score.index: score for score in score_batch(measured)}
    candidates = []
    for number, (look, about) in enumerate(zip(looks, report.episodes, strict=True)):
        assert look.entry is not None
        entry = judged(look.entry, about, scores.get(number), terms.policy)
        candidates.append(JudgedFile(look.path, entry, about.verdict, reason_for(about)))
    return candidates
