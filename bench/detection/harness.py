"""Plants faults, runs the checks, and notes what was found, named and located."""

from __future__ import annotations

import shutil
import tempfile
import traceback
import warnings
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bench.detection.fault import EpisodeSet, Fault, NotApplicable, Spans, Truth
from bench.detection.faults import every_fault
from bench.detection.sources import FAMILY, Plan, dataset_folder, open_set
from corporeal.embodiment import open_robot
from corporeal.episode.recording import Recording
from corporeal.errors import CorporealError
from corporeal.exchange.opening import open_dataset
from corporeal.quality import Subject
from corporeal.quality.assessment import assess
from corporeal.quality.batch import Batch, Synopsis
from corporeal.quality.check import Finding
from corporeal.quality.inspection import (
    EpisodeReport,
    InspectionOptions,
    inspect,
    inspect_recording,
)
from corporeal.quality.policy import default_policy

Key = tuple[str, str | None]


@dataclass(frozen=True)
class Trial:
    """One fault of one strength in one episode of one kind of data."""

    fault: str
    kind: str
    place: int
    strength: float
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What the checks said of a trial. `skipped` says why there was none.

    `detected`: a new finding that is no note; `named`: one of a check that stands for the fault,
    about a right stream. `off_by` are frames between the truth and the nearest range that a
    naming finding gave, None where none was given. `others` are checks that fired besides.
    """

    trial: Trial
    skipped: str | None = None
    error: str | None = None
    detected: bool = False
    named: bool = False
    off_by: float | None = None
    verdict: str = "accepted"
    others: tuple[str, ...] = ()
    wrong_stream: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    truth: str = ""


@dataclass(frozen=True)
class Control:
    """What the checks said of one clean episode, or of a clean set as a whole."""

    kind: str
    place: int | None
    id: str
    alarms: tuple[tuple[str, str | None, str, str], ...] = ()
    """Check, stream, severity, message."""
    not_assessed: dict[str, str] = field(default_factory=dict)
    error: str | None = None


def judge(
    findings: Sequence[Finding], known: set[Key], truth: Truth, fault: Fault
) -> dict[str, Any]:
    """Detected, named and located, from the findings that the clean episode did not have."""
    new = [
        each
        for each in findings
        if each.severity != "note" and (each.check, each.stream) not in known
    ]
    right = [each for each in new if each.check in fault.expected]
    naming = [each for each in right if _stream_fits(each, truth)]
    return {
        "detected": bool(new),
        "named": bool(naming),
        "off_by": off_by(truth.frames, naming),
        "others": tuple(sorted({each.check for each in new} - fault.expected)),
        "wrong_stream": tuple(
            sorted({f"{each.check}:{each.stream}" for each in right} if not naming else ())
        ),
        "messages": tuple(f"{each.check}: {each.message}" for each in (naming or new)[:2]),
        "truth": f"{truth.streams[:1]} frames {truth.frames[:2]} episodes {truth.episodes}",
    }


def _stream_fits(finding: Finding, truth: Truth) -> bool:
    return not truth.streams or finding.stream is None or finding.stream in truth.streams


def off_by(truth: Spans, findings: Sequence[Finding]) -> float | None:
    """Mean distance in frames from every true range to the nearest reported one."""
    reported = [span for each in findings for span in each.frames]
    if not truth or not reported:
        return None
    distances = []
    for first, stop in truth:
        gaps = [max(0, begin - stop + 1, first - end + 1) for begin, end in reported]
        distances.append(min(gaps))
    return float(np.mean(distances))


@cache
def _request(pictures: bool) -> InspectionOptions:
    return InspectionOptions(policy=default_policy(), pictures=pictures, quick=not pictures)


@cache
def _clean(plan: Plan, kind: str, place: int, pictures: bool) -> EpisodeReport:
    recording = open_set(kind, plan).recordings[place]
    return inspect_recording(recording, _request(pictures))


def _synopses(plan: Plan, kind: str, pictures: bool) -> list[Synopsis]:
    count = len(open_set(kind, plan).recordings)
    reports = [_clean(plan, kind, place, pictures) for place in range(count)]
    return [each.synopsis for each in reports if each.synopsis is not None]


def _batch_findings(
    episodes: EpisodeSet, synopses: Sequence[Synopsis], pictures: bool
) -> tuple[Finding, ...]:
    ordered = tuple(sorted(synopses, key=lambda each: each.index))
    batch = Batch(ordered, episodes.statistics, episodes.facts, episodes.defects)
    rules = default_policy().rules()
    return assess(batch, scope="batch", rules=rules, pictures=pictures).findings


@cache
def _known_to_batch(
    plan: Plan, kind: str, pictures: bool, task: str | None = None
) -> tuple[Finding, ...]:
    """What the batch checks say of the clean set, or of its episodes of one task."""
    episodes = open_set(kind, plan)
    synopses = _synopses(plan, kind, pictures)
    if task is None:
        return _batch_findings(episodes, synopses, pictures)
    some = [each for each in synopses if each.task == task]
    return _batch_findings(replace(episodes, statistics={}), some, pictures)


def run_trial(plan: Plan, trial: Trial) -> Outcome:
    """Plant one fault and judge what the checks say."""
    fault = every_fault()[trial.fault]
    try:
        if fault.scope == "folder":
            return _folder_trial(plan, trial, fault)
        episodes = open_set(trial.kind, plan)
        family = {trial.kind, FAMILY.get(trial.kind, trial.kind)}
        if (fault.data and not fault.data & family) or (trial.kind == "failed" and not fault.data):
            raise NotApplicable("not for this kind of data")
        if len(episodes.recordings) < fault.among:
            raise NotApplicable(f"fewer than {fault.among} episodes")
        rng = np.random.default_rng([trial.seed, zlib.crc32(trial.fault.encode()), trial.place])
        if fault.scope == "set":
            return _set_trial(plan, trial, fault, episodes, rng)
        return _episode_trial(plan, trial, fault, episodes, rng)
    except NotApplicable as reason:
        return Outcome(trial, skipped=str(reason))
    except Exception as error:  # A check that crashes is a result, not the end of the run.
        return Outcome(trial, error=_where(error))


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    last = ([each for each in frames if "/corporeal/" in each.filename] or frames)[-1]
    return f"{type(error).__name__}: {error} at {Path(last.filename).name}:{last.lineno}"


def _episode_trial(
    plan: Plan, trial: Trial, fault: Fault, episodes: EpisodeSet, rng: np.random.Generator
) -> Outcome:
    clean = episodes.recordings[trial.place]
    faulty, truth = fault.inject(clean, rng, trial.strength)
    report = inspect_recording(faulty, _request(fault.pictures))
    before = _clean(plan, trial.kind, trial.place, fault.pictures)
    known = {(each.check, each.stream) for each in before.assessment.findings}
    about = _about(plan, trial, fault, episodes, report, clean)
    found = (*report.assessment.findings, *about)
    report = replace(report, batch_findings=about)
    return Outcome(trial, verdict=report.verdict, **judge(found, known, truth, fault))


def _about(
    plan: Plan,
    trial: Trial,
    fault: Fault,
    episodes: EpisodeSet,
    report: EpisodeReport,
    clean: Recording,
) -> tuple[Finding, ...]:
    """What the batch checks newly say of this episode among the clean ones of its set."""
    if report.synopsis is None:
        return ()
    # Motions are compared with those of their task, and the others would only take time; cameras
    # stand where they stand in every task. What the source claims of the whole is left out: it
    # would give away every changed number.
    task = None if fault.pictures else Subject(clean).task
    others = [
        each
        for each in _synopses(plan, trial.kind, fault.pictures)
        if each.index != clean.index and task in (None, each.task)
    ]
    unclaimed = replace(episodes, statistics={})
    found = _batch_findings(unclaimed, [*others, report.synopsis], fault.pictures)
    before = {
        (each.check, each.stream)
        for each in _known_to_batch(plan, trial.kind, fault.pictures, task)
        if not each.episodes or clean.index in each.episodes
    }
    return tuple(
        each
        for each in found
        if (not each.episodes or clean.index in each.episodes)
        and (each.check, each.stream) not in before
    )


def _set_trial(
    plan: Plan, trial: Trial, fault: Fault, episodes: EpisodeSet, rng: np.random.Generator
) -> Outcome:
    changed, truth = fault.inject(episodes, rng, trial.strength)
    synopses: list[Synopsis] = []
    findings: list[Finding] = []
    for place, recording in enumerate(changed.recordings):
        if recording is episodes.recordings[place]:
            report = _clean(plan, trial.kind, place, fault.pictures)
        else:
            report = inspect_recording(recording, _request(fault.pictures))
            findings += report.assessment.findings
        if report.synopsis is not None:
            synopses.append(report.synopsis)
    found = _batch_findings(changed, synopses, fault.pictures)
    wanted = set(truth.episodes)
    about = [
        each for each in found if not wanted or not each.episodes or wanted & set(each.episodes)
    ]
    known = {
        (each.check, each.stream) for each in _known_to_batch(plan, trial.kind, fault.pictures)
    }
    judged = judge([*about, *findings], known, truth, fault)
    return Outcome(trial, verdict="failed" if judged["detected"] else "accepted", **judged)


def inspect_folder(folder: Path, *, pictures: bool) -> tuple[Finding, ...]:
    """Everything that is said of a dataset on disk, with the episodes that it is said of."""
    try:
        robot = open_robot("g1")
        report = inspect(partial(open_dataset, folder, robot=robot), _request(pictures))
    except CorporealError as error:
        return (Finding(str(error), check="episode_unreadable", severity="fail"),)
    found = list(report.batch.findings)
    for episode in report.episodes:
        found += [replace(each, episodes=(episode.index,)) for each in episode.assessment.findings]
    return tuple(found)


@cache
def _known_of_folder(plan: Plan, kind: str, pictures: bool) -> tuple[Finding, ...]:
    return inspect_folder(dataset_folder(kind, plan), pictures=pictures)


def _folder_trial(plan: Plan, trial: Trial, fault: Fault) -> Outcome:
    rng = np.random.default_rng([trial.seed, zlib.crc32(trial.fault.encode())])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "set"
        shutil.copytree(dataset_folder(trial.kind, plan), folder)
        faulty, truth = fault.inject(folder, rng, trial.strength)
        found = inspect_folder(faulty, pictures=fault.pictures)
    known = {
        (each.check, each.stream, each.episodes)
        for each in _known_of_folder(plan, trial.kind, fault.pictures)
    }
    new = [each for each in found if (each.check, each.stream, each.episodes) not in known]
    wanted = set(truth.episodes)
    about = [each for each in new if not wanted or not each.episodes or wanted & set(each.episodes)]
    judged = judge(about, set(), truth, fault)
    return Outcome(trial, verdict="failed" if judged["detected"] else "accepted", **judged)


def run_control(plan: Plan, kind: str, place: int | None, pictures: bool) -> Control:
    """What the checks say where nothing was planted; without a place, of the set as a whole."""
    try:
        if place is None:
            findings = _known_to_batch(plan, kind, pictures)
            return Control(kind, None, "the set", _alarms(findings, kind))
        report = _clean(plan, kind, place, pictures)
    except NotApplicable as reason:
        return Control(kind, place, "", error=f"skipped: {reason}")
    except Exception as error:
        return Control(kind, place, "", error=_where(error))
    alarms = _alarms(report.assessment.findings, kind)
    return Control(kind, place, report.id, alarms, dict(report.assessment.not_assessed))


# What is true of a kind of data, and so no false alarm.
TRUE_OF = {"failed": {"task_failed", "robot_fell", "base_height_wrong"}}


def _alarms(findings: Sequence[Finding], kind: str) -> tuple[tuple[str, str | None, str, str], ...]:
    return tuple(
        (each.check, each.stream, str(each.severity), each.message)
        for each in findings
        if each.check not in TRUE_OF.get(kind, ())
    )


# Trials in one go: enough that a process reads a set once, few enough to see them pass.
PIECE = 24

Job = tuple[Plan, list[Trial], list[tuple[str, int | None, bool]]]


def _work(job: Job) -> tuple[list[Outcome], list[Control]]:
    plan, trials, controls = job
    # The tests of the project allow none, so a check that warns is as bad as one that crashes.
    warnings.simplefilter("error", RuntimeWarning)
    return (
        [run_trial(plan, trial) for trial in trials],
        [run_control(plan, *control) for control in controls],
    )


def run_all(
    plan: Plan,
    trials: Sequence[Trial],
    controls: Sequence[tuple[str, int | None, bool]],
    *,
    jobs: int = 2,
) -> Iterator[tuple[list[Outcome], list[Control]]]:
    """Everything, in pieces that stay within one kind of data so that it is read once."""
    pieces: list[Job] = []
    for kind in dict.fromkeys([trial.kind for trial in trials] + [each[0] for each in controls]):
        quiet = [each for each in controls if each[0] == kind]
        mine = [trial for trial in trials if trial.kind == kind]
        pieces += [
            (plan, [], quiet[first : first + PIECE]) for first in range(0, len(quiet), PIECE)
        ]
        pieces += [(plan, mine[first : first + PIECE], []) for first in range(0, len(mine), PIECE)]
    if jobs == 1:
        yield from map(_work, pieces)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_work, pieces)
