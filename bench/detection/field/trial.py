"""Makes one mistake, writes the files, checks them as a user does, and judges what is said."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from bench.detection.field.mistake import Mistake
from bench.detection.field.mistakes import every_mistake
from bench.detection.field.sites import SITES, Site
from bench.detection.field.take import CannotPlantError, Mark, Take
from bench.detection.split import Half, half_of_seed
from corporeal import open_dataset
from corporeal.episode.recording import Dataset
from corporeal.errors import CorporealError
from corporeal.quality.assessment import assess
from corporeal.quality.batch import Batch
from corporeal.quality.check import Finding
from corporeal.quality.inspection import EpisodeReport, InspectionOptions, inspect_episode
from corporeal.quality.policy import default_policy
from corporeal.units import SECOND_NS

ROBOT = "g1"
NEAR_NS = SECOND_NS // 2
"""A finding so close to the mistake is at its place."""
# What the streams of a take are called once they were read back.
_CALLED = {
    "joint_position": ("observation.state", "state"),
    "joint_position_target": ("action",),
    "head_left": ("head", "head_left_image_raw_compressed"),
    "external_front": ("front",),
}


@dataclass(frozen=True)
class Trial:
    """One mistake at one site; the seed draws take, joint, time and strength."""

    mistake: str
    site: str
    seed: int

    @property
    def half(self) -> Half:
        """Whether it may be looked at."""
        return half_of_seed(self.seed)


@dataclass(frozen=True)
class Outcome:
    """What was said. `named`: a check that stands for the mistake, in the right take and stream.

    `located`: it also names the column and lies near the time, where the mistake has those.
    `elsewhere`: findings on takes in which nothing was changed. `beside`: other checks that fired
    on the takes that were.
    """

    trial: Trial
    skipped: str | None = None
    error: str | None = None
    named: bool = False
    located: bool = False
    said: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    mark: str = ""


@dataclass(frozen=True, eq=False)
class Said:
    """A finding, the number of the take that it is about, and when in it, in ns from its start."""

    take: int | None
    finding: Finding
    spans_ns: tuple[tuple[int, int], ...] = ()

    @property
    def key(self) -> tuple[int | None, str, str | None]:
        """By which the findings of good and bad files are compared."""
        return self.take, self.finding.check, self.finding.stream


@dataclass(frozen=True, eq=False)
class Examined:
    """All that `corporeal check` says of some files."""

    findings: tuple[Said, ...]
    reports: dict[int, EpisodeReport] = field(default_factory=dict)


@cache
def _options() -> InspectionOptions:
    return InspectionOptions(policy=default_policy(), pictures=True)


def examine(paths: Sequence[Path], known: Mapping[int, EpisodeReport] | None = None) -> Examined:
    """Open and check the files; takes whose report is known are compared but not checked again."""
    try:
        dataset = open_dataset([*paths], robot=ROBOT)
    except CorporealError as error:
        unreadable = Finding(str(error), check="episode_unreadable", severity="fail")
        return Examined((Said(None, unreadable),))
    reports, findings = {}, []
    for number in dataset.episodes:
        ready = (known or {}).get(number)
        reports[number] = ready or inspect_episode(dataset, number, _options())
        findings += [
            Said(number, each, _times(dataset, number, each))
            for each in reports[number].assessment.findings
        ]
    batch = Batch(
        episodes=tuple(each.synopsis for each in reports.values() if each.synopsis is not None),
        statistics=dataset.statistics,
        facts=dataset.facts,
        defects=dataset.defects,
    )
    judged = assess(batch, scope="batch", rules=default_policy().rules(), pictures=True)
    for each in judged.findings:
        findings += [Said(number, each) for number in (each.episodes or (None,))]
    return Examined(tuple(findings), reports)


def _times(dataset: Dataset, number: int, finding: Finding) -> tuple[tuple[int, int], ...]:
    if not finding.frames or finding.stream is None:
        return ()
    signal = dataset.open(number).signals.get(finding.stream)
    if signal is None or not len(signal):
        return ()
    time_ns = np.asarray(signal.time_ns)
    last = len(time_ns) - 1
    return tuple(
        (
            int(time_ns[min(first, last)] - time_ns[0]),
            int(time_ns[min(stop - 1, last)] - time_ns[0]),
        )
        for first, stop in finding.frames
    )


@dataclass(frozen=True, eq=False)
class _Clean:
    """The files of a site without a mistake, and what is said of them."""

    takes: list[Take]
    paths: list[Path]
    examined: Examined
    folder: tempfile.TemporaryDirectory[str]


@cache
def clean(site: str, half: Half) -> _Clean:
    """The site's takes of one half, written and checked once."""
    takes = SITES[site].takes(half)
    folder = tempfile.TemporaryDirectory(prefix=f"detection-{site}-")
    paths = SITES[site].write(Path(folder.name) / "clean", takes, {})
    return _Clean(takes, paths, examine(paths), folder)


def run_trial(trial: Trial) -> Outcome:
    """Make the mistake and judge what is said beyond what is said of the good files."""
    mistake, site = every_mistake()[trial.mistake], SITES[trial.site]
    rng = np.random.default_rng([trial.seed, zlib.crc32(f"{mistake.name}/{site.name}".encode())])
    try:
        ready = clean(trial.site, trial.half)
        with tempfile.TemporaryDirectory(prefix="detection-") as place:
            examined, mark = _plant(mistake, site, ready, rng, Path(place) / "set")
    except CannotPlantError as reason:
        return Outcome(trial, skipped=str(reason))
    except Exception as error:  # A check that crashes is a result, not the end of the run.
        return Outcome(trial, error=f"{type(error).__name__}: {error}")
    before = {each.key for each in ready.examined.findings}
    new = [
        each
        for each in examined.findings
        if each.key not in before and each.finding.severity != "note"
    ]
    return judge(trial, mistake, new, mark, ready.takes)


def _plant(
    mistake: Mistake, site: Site, ready: _Clean, rng: np.random.Generator, folder: Path
) -> tuple[Examined, Mark]:
    if mistake.in_files:
        paths = site.write(folder, ready.takes, {})
        mark = mistake.plant(paths, rng)
        return examine(paths), mark
    takes, mark = mistake.plant(list(ready.takes), rng)
    same = [number for number, take in enumerate(takes) if take is ready.takes[number]]
    several = len(ready.paths) > 1
    unchanged = {number: ready.paths[number] if several else ready.paths[0] for number in same}
    paths = site.write(folder, takes, unchanged)
    known = {
        number: ready.examined.reports[number]
        for number in same
        if number in ready.examined.reports
    }
    return examine(paths, known), mark


def judge(
    trial: Trial, mistake: Mistake, new: Sequence[Said], mark: Mark, takes: Sequence[Take]
) -> Outcome:
    """Named, located, and what else was said."""
    about = [each for each in new if each.take is None or not mark.takes or each.take in mark.takes]
    naming = [
        each
        for each in about
        if each.finding.check in mistake.expected and _stream_fits(each.finding, mark)
    ]
    located = [
        each
        for each in naming
        if _column_fits(each.finding, mark) and _time_fits(each, mark, takes)
    ]
    elsewhere = [each for each in new if each not in about]
    return Outcome(
        trial,
        named=bool(naming),
        located=bool(located),
        said=_words(located or naming),
        beside=_words(each for each in about if each.finding.check not in mistake.expected),
        elsewhere=_words(elsewhere),
        mark=f"takes {mark.takes} {', '.join(mark.streams[:2])} {', '.join(mark.columns[:3])} "
        f"{_seconds(mark, takes)}".strip(),
    )


def _words(said: Iterable[Said]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(f"{each.finding.check}: {each.finding.message[:160]}" for each in said)
    )[:4]


def _stream_fits(finding: Finding, mark: Mark) -> bool:
    if not mark.streams or finding.stream is None:
        return True
    called = [name for key in mark.streams for name in (key, *_CALLED.get(key, ()))]
    return any(
        stream.replace("/", ".").endswith(f".{name}") or stream == name
        for stream in (finding.stream, *finding.siblings)
        for name in called
    )


def _column_fits(finding: Finding, mark: Mark) -> bool:
    return not mark.columns or any(column in finding.message for column in mark.columns)


def _time_fits(said: Said, mark: Mark, takes: Sequence[Take]) -> bool:
    if mark.span_ns is None or not said.spans_ns:
        return True
    first, last = _from_start(mark, takes)
    return any(first - NEAR_NS <= stop and begin <= last + NEAR_NS for begin, stop in said.spans_ns)


def _from_start(mark: Mark, takes: Sequence[Take]) -> tuple[int, int]:
    """The span of the mistake counted from the start of its stream."""
    assert mark.span_ns is not None
    take = takes[mark.takes[0]]
    key = next(key for key in mark.streams if key in take.channels or key in take.films)
    start = int((take.channels.get(key) or take.films[key]).time_ns[0])
    return mark.span_ns[0] - start, mark.span_ns[1] - start


def _seconds(mark: Mark, takes: Sequence[Take]) -> str:
    if mark.span_ns is None:
        return ""
    first, last = _from_start(mark, takes)
    return f"{first / SECOND_NS:.2f} to {last / SECOND_NS:.2f} s"
