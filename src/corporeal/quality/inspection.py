"""Inspects whole datasets: every episode on its own, then all of them together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from corporeal.episode.recording import Dataset, ImageSequence, Ledger, Recording, VideoFile
from corporeal.errors import CorporealError
from corporeal.notebook import html_table
from corporeal.protocol import Protocol
from corporeal.quality.assessment import (
    LONGEST_S,
    Assessment,
    ProtocolRule,
    adherence,
    assess,
    combined,
    excerpts,
    span_s,
    weigh_needs,
    with_reasons,
    with_seen,
)
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.causes import join_causes, join_with_batch
from corporeal.quality.check import Finding, Verdict, checks, findings_html, verdict
from corporeal.quality.evidence.stray_stamps import SettledRecording, settle_clocks
from corporeal.quality.exhibit import Exhibit as Exhibit
from corporeal.quality.exhibit import exhibits_of
from corporeal.quality.neighbours import Neighbours as Neighbours
from corporeal.quality.neighbours import compares_episodes, read_neighbours
from corporeal.quality.policy import CheckRule, Policy
from corporeal.quality.subject import Subject
from corporeal.quality.synopsis import synopsis
from corporeal.runner import RunnerError, run, runner_of

# A second process costs about two seconds to start; fewer episodes than this do not pay for it.
_WORTH_A_PROCESS = 16
# Nor does less work than this, where no pictures are decoded and so every number costs about this.
_WORTH_S, _NUMBER_S = 3.0, 1.5e-6
Opener = Callable[[], Dataset]
"""Opens the dataset anew; picklable, since every process calls it for itself."""


@dataclass(frozen=True)
class InspectionOptions:
    """How to inspect."""

    policy: Policy
    protocol: Any = None
    detector: Any = None
    detectors: Mapping[int, Any] = field(default_factory=dict)
    """The detector of single episodes by their numbers, before `detector`."""
    pictures: bool = True
    seen: Mapping[int, Assessment] = field(default_factory=dict)
    """Without `pictures`: what was said of them when they were last looked at, by episode."""
    only: tuple[str, ...] | None = None
    quick: bool = False
    """A first look: pictures that were not looked at on purpose are no need that was not met."""
    alone: bool = True
    """Whether episodes of the set that a single file lies in are no company for it."""
    exhibits: bool = False
    """Keep pictures of what was found, for a report that people look at."""


@dataclass(frozen=True, eq=False)
class EpisodeReport:
    """What there is to say of one episode. `verdict` also counts what the batch says of it."""

    index: int
    id: str
    source: Path
    assessment: Assessment
    synopsis: Synopsis | None = None
    exhibits: tuple[Exhibit, ...] = ()
    batch_findings: tuple[Finding, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything said of this episode, the batch's findings last."""
        return self.assessment.findings + self.batch_findings

    @property
    def verdict(self) -> Verdict:
        """What follows."""
        return verdict(self.findings)

    def to_json(self) -> dict[str, Any]:
        """The episode as `corporeal check --json` prints it."""
        return {
            "id": self.id,
            "index": self.index,
            "source": str(self.source),
            "verdict": self.verdict,
            **self.assessment.to_json(),
            "findings": [finding.to_json() for finding in self.findings],
        }

    def _repr_html_(self) -> str:
        """The episode's findings as a notebook shows them."""
        skipped = len(self.assessment.not_assessed)
        title = f"episode {self.index}, {self.source.name}: {self.verdict}"
        note = f"{skipped} checks not assessed" if skipped else ""
        return findings_html(title, self.findings, note=note)


@dataclass(frozen=True, eq=False)
class Report:
    """What there is to say of a dataset."""

    source: Path
    format: str
    episodes: tuple[EpisodeReport, ...]
    batch: Assessment
    policy: Policy
    facts: dict[str, Any] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    """Every item of the source, and what became of it when it was read."""
    protocol: Protocol | None = None
    """What the episodes were held to."""
    neighbours: Neighbours = field(default_factory=Neighbours)
    """Episodes of the set that these lie in, which they were compared with."""

    def adherence(self, episode: EpisodeReport) -> tuple[ProtocolRule, ...]:
        """Every rule of the protocol for one episode; nothing without a protocol."""
        if self.protocol is None:
            return ()
        return adherence(episode.assessment, self.protocol)

    @property
    def accepted(self) -> bool:
        """Nothing stands against the dataset or any episode of it."""
        return verdict(self.batch.findings) == "accepted" and all(
            episode.verdict == "accepted" for episode in self.episodes
        )

    def count(self, wanted: Verdict) -> int:
        """How many episodes have this verdict."""
        return sum(episode.verdict == wanted for episode in self.episodes)

    def to_json(self) -> dict[str, Any]:
        """The report as `corporeal check --json` prints it."""
        beside = {"neighbours": self.neighbours.to_json()} if self.neighbours.total else {}
        return {
            "source": str(self.source),
            "format": self.format,
            **beside,
            "policy": {"name": self.policy.reference, "hash": self.policy.hash},
            "episodes": [self._episode_json(episode) for episode in self.episodes],
            "set": self.batch.to_json(),
            "ledger": self.ledger.to_json(),
        }

    def _episode_json(self, episode: EpisodeReport) -> dict[str, Any]:
        rules = [vars(rule) for rule in self.adherence(episode)]
        return episode.to_json() | ({"adherence": rules} if rules else {})

    def _repr_html_(self) -> str:
        """The report as a notebook shows it: one row for each episode."""
        rows = (
            (
                episode.index,
                episode.source.name,
                episode.verdict,
                ", ".join(dict.fromkeys(each.check.replace("_", " ") for each in episode.findings)),
                len(episode.assessment.not_assessed),
            )
            for episode in self.episodes
        )
        verdicts = ", ".join(
            f"{self.count(word)} {word}" for word in ("accepted", "quarantined", "failed")
        )
        columns = ("episode", "source", "verdict", "findings", "checks not assessed")
        return html_table(f"{self.source.name}: {verdicts}", columns, rows)


def inspect(
    opener: Opener,
    request: InspectionOptions,
    *,
    on: str = "processes",
    jobs: int = 1,
    beside: tuple[Synopsis, ...] = (),
    earlier: tuple[Synopsis, ...] = (),
    arrived: Mapping[int, str] | None = None,
    on_episode: Callable[[EpisodeReport], None] = lambda _: None,
    on_start: Callable[[int], None] = lambda _: None,
) -> Report:
    """Inspect a dataset `on` a runner with so many jobs.

    `beside` are synopses of other episodes that these are compared with, under indices of their
    own; those of earlier batches among them are `earlier`, for drift, and `arrived` says when each
    came that is known. The callbacks hear how many
    episodes there are, and of each when it is done.
    """
    runner_of(on)
    dataset = opener()
    on_start(len(dataset.episodes))
    neighbours = Neighbours() if request.alone else _neighbours(opener, dataset, request, on, jobs)
    results: dict[int, EpisodeReport] = {}
    with closing(_results(opener, dataset, request, on, jobs)) as done:
        for result in done:
            results[result.index] = result
            on_episode(result)
    episodes = [results[number] for number in dataset.episodes]
    batch = Batch(
        episodes=(
            *(each.synopsis for each in episodes if each.synopsis is not None),
            *beside,
            *neighbours.synopses,
        ),
        statistics=dataset.statistics,
        facts=dataset.facts,
        defects=dataset.defects,
        protocol=request.protocol,
        earlier=earlier,
        beside=frozenset(each.index for each in beside),
        arrived=arrived or {},
    )
    judged = assess(
        batch,
        scope="batch",
        rules=request.policy.rules(),
        pictures=request.pictures,
        only=request.only,
    )
    judged = neighbours.without_others(judged)
    count = len(episodes) + neighbours.total
    return Report(
        source=dataset.source,
        format=dataset.format,
        episodes=tuple(_with_batch(each, judged, count) for each in episodes),
        batch=judged,
        policy=request.policy,
        facts=dict(dataset.facts),
        ledger=sum((each.ledger for each in episodes), dataset.ledger),
        protocol=request.protocol,
        neighbours=neighbours,
    )


def _neighbours(
    opener: Opener, dataset: Dataset, request: InspectionOptions, on: str, jobs: int
) -> Neighbours:
    """The company of a single file; none where no check asks for any."""
    asked = (name for name, check in checks().items() if check.scope == "batch")
    if request.only is not None and set(request.only).isdisjoint(asked):
        return Neighbours()
    return read_neighbours(opener, dataset, pictures=request.pictures, on=on, jobs=jobs)


def _with_batch(episode: EpisodeReport, judged: Assessment, count: int) -> EpisodeReport:
    """What is said of the set and names an episode is held against it, however many it names.

    Only what a reader finds wrong with the records of most of a set is a matter of the set.
    """
    about = tuple(
        each
        for each in judged.findings
        if episode.index in each.episodes
        and (compares_episodes(each) or 2 * len(each.episodes) <= max(2, count))
    )
    if not about:
        return episode
    about, own = join_with_batch(about, episode.assessment.findings)
    alone = replace(episode.assessment, findings=own)
    return replace(episode, assessment=alone, batch_findings=about)


def _results(
    opener: Opener, dataset: Dataset, request: InspectionOptions, on: str, jobs: int
) -> Generator[EpisodeReport, None, None]:
    """Every episode as it is done; one that ends its worker each time is a failed one."""
    numbers = dataset.episodes
    if on == "processes":
        jobs = max(1, min(jobs, len(numbers) // _WORTH_A_PROCESS, _most_jobs(dataset, request)))
    alone = on == "serial" or (on == "processes" and jobs == 1)
    # The dataset is open here already; other processes open it for themselves.
    prepare = (lambda: dataset) if alone else opener
    work = partial(inspect_episode, request=request)
    with closing(run(work, numbers, on=on, jobs=jobs, prepare=prepare)) as results:
        for done in results:
            if isinstance(done.error, RunnerError):
                yield _unreadable(dataset.source, numbers[done.place], done.error)
            elif done.error is not None:
                raise done.error
            elif done.value is not None:
                yield done.value


def _most_jobs(dataset: Dataset, request: InspectionOptions) -> int:
    """How many processes the work pays for, as far as the first episode tells."""
    try:
        signals = dataset.open(dataset.episodes[0]).signals.values() if dataset.episodes else ()
    except CorporealError:
        return len(dataset.episodes)
    if request.pictures and any(isinstance(one, VideoFile | ImageSequence) for one in signals):
        return len(dataset.episodes)
    each = sum(len(one) * one.spec.width for one in signals if one.spec.kind == "array")
    return int(each * len(dataset.episodes) * _NUMBER_S / _WORTH_S)


def _unreadable(source: Path, number: int, error: CorporealError) -> EpisodeReport:
    finding = Finding(str(error), check="episode_unreadable", severity="fail")
    return EpisodeReport(number, "", source, Assessment((finding,), {}))


def inspect_episode(dataset: Dataset, number: int, request: InspectionOptions) -> EpisodeReport:
    """One episode; one that cannot be opened is a failed one, and the others go on."""
    try:
        recording = dataset.open(number)
    except CorporealError as error:
        return _unreadable(dataset.source, number, error)
    return inspect_recording(recording, request)


def inspect_recording(recording: Recording, request: InspectionOptions) -> EpisodeReport:
    """Run the checks on one recording; a very long one goes in pieces and joins no batch."""
    report = EpisodeReport(
        recording.index,
        recording.id,
        recording.source,
        Assessment((), {}),
        ledger=recording.ledger,
    )
    settled = settle_clocks(recording)
    detector = request.detectors.get(recording.index, request.detector)
    subject = Subject(settled.recording, request.protocol, detector)
    if span_s(settled.recording) > LONGEST_S:
        pieces = (
            (piece, _assess(Subject(piece.recording, request.protocol, detector), request))
            for piece in excerpts(settled.recording)
        )
        assessment = _weigh(combined(pieces), subject, request)
        assessment = _with_jumps(assessment, recording, settled, request)
        return replace(report, assessment=_with_seen(assessment, subject, request))
    assessment = _weigh(_assess(subject, request), subject, request)
    exhibits = exhibits_of(subject, assessment.findings) if request.exhibits else ()
    assessment = _with_jumps(assessment, recording, settled, request)
    return replace(
        report,
        assessment=_with_seen(assessment, subject, request),
        synopsis=synopsis(subject, pictures=request.pictures),
        exhibits=exhibits,
    )


def _with_jumps(
    assessment: Assessment,
    recording: Recording,
    settled: SettledRecording,
    request: InspectionOptions,
) -> Assessment:
    """What is said of the recording without its stray stamps, and of them.

    Frames are counted from the recording's own beginning. What else is wrong with the time of a
    stream whose clock jumps has that one cause.
    """
    if not settled.strays:
        return assessment
    jumps = _assess(Subject(recording), replace(request, only=("clock_jumps",))).findings
    if request.only is not None and "clock_jumps" not in request.only:
        jumps = ()
    labels = {each.label for each in settled.strays}
    findings = []
    for finding in assessment.findings:
        known = checks().get(finding.check)
        if finding.stream in labels and known is not None and known.topic in ("time", "lag"):
            continue
        shift = settled.first.get(finding.stream or "", 0)
        frames = tuple((first + shift, stop + shift) for first, stop in finding.frames)
        findings.append(replace(finding, frames=frames))
    return replace(assessment, findings=(*jumps, *findings))


def _assess(subject: Subject, request: InspectionOptions) -> Assessment:
    rules = _rules(subject, request)
    return assess(subject, rules=rules, pictures=request.pictures, only=request.only)


def _rules(subject: Subject, request: InspectionOptions) -> dict[str, CheckRule]:
    robot = subject.recording.embodiment
    return request.policy.rules(task=subject.task, robot=None if robot is None else robot.name)


def _with_seen(assessment: Assessment, subject: Subject, request: InspectionOptions) -> Assessment:
    seen = request.seen.get(subject.recording.index)
    return with_seen(assessment, seen, _rules(subject, request))


def _weigh(assessment: Assessment, subject: Subject, request: InspectionOptions) -> Assessment:
    """One finding for each cause, and what is needed counted; not where some checks were named."""
    findings = join_causes(assessment.findings, subject.recording)
    assessment = replace(assessment, findings=findings)
    assessment = with_reasons(assessment, request.seen.get(subject.recording.index))
    if request.only is not None:
        return assessment
    left_out = request.quick and not request.pictures
    return weigh_needs(assessment, subject, request.policy, pictures=not left_out)
