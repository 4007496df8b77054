"""Training of operators: what each phase asks for, and what their episodes show of it.

Evidence is counted from the episodes of the catalogue, from the moment a phase was begun: nobody
chooses afterwards which ones count, and a take that was discarded counts as a try.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import scipy
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import (
    decisions_of,
    find_reference,
    findings_of,
    last_assessments,
    measures_of,
    not_assessed_of,
    scores_of,
)
from corporeal.catalog.people import (
    PHASES,
    CalibrationPhase,
    Certificate,
    Certification,
    TrainingPhase,
    TrainingStart,
    begin_phase,
    find_certification,
    find_operator,
    give_certificate,
    list_certificates,
    phases_of,
)
from corporeal.catalog.permission import Actor, PersonHiddenError, sees_person, why_hidden
from corporeal.catalog.query import (
    PRESENT,
    And,
    Comparison,
    MetadataField,
    OneOf,
    read_fields,
)
from corporeal.quality.assessment import RULES
from corporeal.quality.check import checks
from corporeal.units import SECOND_NS
from corporeal.words import counted, listed, percent

PhaseState = Literal["not begun", "under way", "passed", "failed"]
APPROACH = ("approach_x", "approach_y", "approach_z")
_GRASP = "grasp_success"
_LEAST_APPROACHES = 5
_HOUR_S = 3600.0


@dataclass(frozen=True)
class Criterion:
    """One thing a phase asks for: `passed` is None while it cannot be judged.

    `proves` is the exact lower bound of a share at the document's confidence, where it is one.
    """

    name: str
    passed: bool | None
    words: str
    value: float | None = None
    limit: float | None = None
    proves: float | None = None


@dataclass(frozen=True)
class PhaseEvidence:
    """What the episodes of one phase show; `episodes` of `wanted` are there."""

    phase: TrainingPhase
    state: PhaseState
    words: str
    begun_at: str | None = None
    attempt: int = 0
    episodes: int = 0
    wanted: int | None = None
    criteria: tuple[Criterion, ...] = ()
    last_ns: int | None = None


@dataclass(frozen=True)
class TaskTraining:
    """Where an operator stands in one task: every phase, and the certificates they have had."""

    operator: str
    task: str
    document: str
    phases: tuple[PhaseEvidence, ...]
    certificates: tuple[Certificate, ...]

    @property
    def is_ready(self) -> bool:
        """Whether the evidence suffices for a certificate."""
        return all(each.state == "passed" for each in self.phases)

    @property
    def missing(self) -> str:
        """What is missing for a certificate, in words; empty where nothing is."""
        return "; ".join(f"{each.phase}: {each.words}"
                         for each in self.phases if each.state != "passed")  # fmt: skip


@dataclass(frozen=True)
class _Try:
    """One episode as training sees it."""

    id: str
    recorded_ns: int
    duration_s: float
    is_good: bool
    robot: str | None


def share_bound(good: int, of: int, confidence: float = 0.95) -> float:
    """The share that so many of so many prove: the exact one-sided lower bound (Clopper-Pearson).

    20 of 20 prove 86 % and 18 of 20 prove 72 % at 95 %.
    """
    if not 0 <= good <= of or of < 1:
        raise CatalogError(f"share, got {good} of {of}; expected at most as many, of at least one.")
    if good == 0:
        return 0.0
    return float(scipy.stats.beta.ppf(1 - confidence, good, of - good + 1))


def needed_to_prove(share: float, confidence: float = 0.95) -> int:
    """How many tries without a single failure prove that more than this share succeed."""
    number = int(np.ceil(np.log(1 - confidence) / np.log(share)))
    while share_bound(number, number, confidence) <= share:
        number += 1
    return number


def read_training(
    connection: Connection, operator: str, task: str, document: Certification
) -> TaskTraining:
    """Every phase of an operator's training for a task, with its evidence."""
    find_operator(connection, operator)
    starts = phases_of(connection, operator, task)
    phases: list[PhaseEvidence] = []
    for number, phase in enumerate(PHASES):
        own = [each for each in starts if each.phase == phase]
        if not own:
            phases.append(PhaseEvidence(phase, "not begun", "not begun"))
            continue
        later = [each.begun_at for each in starts if PHASES.index(each.phase) > number
                 and each.begun_at > own[-1].begun_at]  # fmt: skip
        tries = _tries(connection, operator, task, own[-1], until=min(later, default=None))
        phases.append(_evidence(connection, own, tries, document, task, operator))
    certificates = tuple(list_certificates(connection, operator=operator, task=task))
    return TaskTraining(operator, task, document.reference, tuple(phases), certificates)


def begin(
    connection: Connection, operator: str, task: str, phase: TrainingPhase,
    document: Certification, *, by: Actor, why: str | None = None, now: datetime | None = None,
) -> TrainingStart:  # fmt: skip
    """Begin a phase, inside a transaction; one that another must come before needs a reason.

    Whoever may not see the operator's figures is not told by this what is passed, and needs one.
    """
    if not sees_person(by, operator) and phase != PHASES[0]:
        if why is None:
            raise PersonHiddenError(
                f"phase {phase} of {operator!r}: {why_hidden(by)} Say --why to begin it."
            )
        return begin_phase(connection, operator, task, phase, document, by=by, why=why, now=now)
    training = read_training(connection, operator, task, document)
    earlier = [each for each in training.phases[: PHASES.index(phase)] if each.state != "passed"]
    renewed = training.certificates and phase == document.retraining
    if earlier and why is None and not renewed:
        raise CatalogError(
            f"phase {phase}, got {earlier[0].phase} before it that is {earlier[0].state} "
            f"({earlier[0].words}); expected it passed. Say --why to begin all the same."
        )
    return begin_phase(connection, operator, task, phase, document, by=by, why=why, now=now)


def certify(
    connection: Connection, operator: str, task: str, document: Certification, *, by: Actor,
    valid_from: datetime | None = None, why: str | None = None,
) -> Certificate:  # fmt: skip
    """Give a certificate where the evidence suffices, inside a transaction; else with a reason.

    It holds from now on, or from an earlier moment after the last episode of the evidence. Where
    the workspace does not show the operator's figures to whoever gives it, only a reason counts,
    and no figure is kept.
    """
    if not sees_person(by, operator):
        if why is None:
            raise PersonHiddenError(
                f"evidence of {operator!r}: {why_hidden(by)} Say --why to give a certificate by "
                "what you know otherwise."
            )
        return give_certificate(connection, operator, task, document, by=by, evidence={},
                                valid_from=valid_from, why=why)  # fmt: skip
    training = read_training(connection, operator, task, document)
    before = _missing_before(connection, operator, document)
    renewal = _missing_renewal(training, document)
    missing = [words for words in (training.missing, renewal, before) if words]
    if missing and why is None:
        raise CatalogError(
            f"certificate of {operator!r} for {task!r}, got evidence that does not suffice "
            f"({'; '.join(missing)}); expected every phase passed. Say --why to give it all the "
            "same."
        )
    last = max((each.last_ns or 0 for each in training.phases), default=0)
    if valid_from is not None and valid_from.timestamp() * SECOND_NS < last:
        shown = datetime.fromtimestamp(last / SECOND_NS, UTC).isoformat(timespec="minutes")
        raise CatalogError(
            f"certificate, got {valid_from.isoformat()}; expected a moment after the last episode "
            f"of the evidence, {shown}: what was recorded before it is practice."
        )
    return give_certificate(
        connection, operator, task, document, by=by, valid_from=valid_from,
        why=why if missing else None,
        evidence={"phases": [_plain(each) for each in training.phases]},
    )  # fmt: skip


def certification_for(connection: Connection, operator: str, task: str) -> Certification | None:
    """The document that an operator was last trained or certified by; None for neither."""
    starts = phases_of(connection, operator, task)
    if starts:
        return find_certification(connection, starts[-1].document)
    given = list_certificates(connection, operator=operator, task=task)
    return find_certification(connection, given[-1].document) if given else None


def _missing_renewal(training: TaskTraining, document: Certification) -> str | None:
    """What a further certificate needs: evidence that a former one was given for counts once."""
    former = [each.valid_from for each in training.certificates if each.why is None]
    evidence = training.phases[PHASES.index(document.retraining)]
    if not former or (evidence.begun_at is not None and evidence.begun_at > max(former)):
        return None
    return (
        f"phase {document.retraining} was not begun again since the certificate from "
        f"{max(former)[:10]} on"
    )


def _missing_before(connection: Connection, operator: str, document: Certification) -> str | None:
    """Tasks that need a certificate first, such as standing before walking."""
    stamp = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    lacking = [
        task for task in document.after
        if not any(each.holds(stamp) for each in list_certificates(
            connection, operator=operator, task=task))
    ]  # fmt: skip
    return f"no certificate for {listed(lacking)}, which comes first" if lacking else None


def _plain(evidence: PhaseEvidence) -> dict[str, Any]:
    return asdict(evidence) | {"criteria": [asdict(each) for each in evidence.criteria]}


def _tries(
    connection: Connection, operator: str, task: str, start: TrainingStart, *, until: str | None
) -> list[_Try]:
    """Episodes recorded in a phase, the oldest first; those without a time cannot count."""
    mine = And((PRESENT, Comparison("operator", "=", operator), Comparison("task", "=", task)))
    discarded = MetadataField("discarded", "any")
    rows = read_fields(connection, "id", "recorded", "duration_s", "success", "verdict", "robot",
                       discarded, where=mine)  # fmt: skip
    begin_ns = _unix_ns(start.begun_at)
    end_ns = None if until is None else _unix_ns(until)
    tries = [
        _Try(row[0], row[1], row[2] or 0.0, _is_good(row[3], row[4]) and row[6] is None, row[5])
        for row in rows
        if row[1] is not None and row[1] >= begin_ns and (end_ns is None or row[1] < end_ns)
    ]
    return sorted(tries, key=lambda each: (each.recorded_ns, each.id))


def _is_good(success: bool | None, verdict: str | None) -> bool:
    """Whether a try counts as one that succeeded: said so, or accepted, and failed by nobody."""
    return verdict != "failed" and (success is True or (success is None and verdict == "accepted"))


def _evidence(
    connection: Connection, starts: Sequence[TrainingStart], tries: Sequence[_Try],
    document: Certification, task: str, operator: str,
) -> PhaseEvidence:  # fmt: skip
    start = starts[-1]
    if start.phase == "practice":
        wanted, series = None, list(tries)
        criteria = _practice(series, document)
        is_full = len(series) >= document.practice.latest
    elif start.phase == "protocol":
        wanted = document.protocol.reviewed
        series = list(tries[:wanted])
        criteria = _protocol(connection, series, document, operator)
        is_full = len(series) >= wanted
    else:
        wanted = document.calibration.episodes
        series = list(tries[:wanted])
        is_full = len(series) >= wanted
        criteria = _calibration(connection, series, document, task) if is_full else []
    passed = is_full and all(each.passed for each in criteria)
    # A phase of practice goes on until it is passed; a series that is full has failed.
    fails = is_full and start.phase == "calibration" and not passed
    state: PhaseState = "passed" if passed else "failed" if fails else "under way"
    return PhaseEvidence(
        start.phase, state, _phase_words(state, len(series), wanted, criteria), start.begun_at,
        len(starts), len(series), wanted, tuple(criteria),
        series[-1].recorded_ns if series else None,
    )  # fmt: skip


def _phase_words(
    state: PhaseState, count: int, wanted: int | None, criteria: Sequence[Criterion]
) -> str:
    of = "" if wanted is None else f" of {wanted}"
    open_ones = [each.words for each in criteria if not each.passed]
    number = counted(count, "episode") if not of else f"{count}{of} episodes"
    return "; ".join([f"{state}, {number}", *open_ones])


def _practice(tries: Sequence[_Try], document: Certification) -> list[Criterion]:
    asked = document.practice
    latest = tries[-asked.latest :]
    hours = sum(each.duration_s for each in tries) / _HOUR_S
    words = f"{hours:.1f} h of {asked.hours:g} h recorded"
    time = Criterion("hours", hours >= asked.hours, words, hours, asked.hours)
    good = sum(each.is_good for each in latest)
    share = _share(
        "success", good, len(latest), asked.success_above, document.confidence,
        above=True, proven=asked.proven, what="of the latest succeeded",
    )  # fmt: skip
    return [time, share]


def _protocol(
    connection: Connection, tries: Sequence[_Try], document: Certification, operator: str
) -> list[Criterion]:
    """Only eyes of others count: nobody reviews themselves into a certificate."""
    own = find_operator(connection, operator).account
    decisions = decisions_of(connection, [each.id for each in tries])
    seen = [each.verdict for each in decisions.values() if own is None or each.who != own]
    wanted = document.protocol.reviewed
    words = f"{len(seen)} of {wanted} looked at by somebody else"
    looked = Criterion("reviewed", len(seen) >= wanted, words, len(seen), wanted)
    good = sum(verdict == "accepted" for verdict in seen)
    return [looked, _share("accepted", good, len(seen), document.protocol.accepted,
                           document.confidence, what="of those were accepted")]  # fmt: skip


def _calibration(
    connection: Connection, tries: Sequence[_Try], document: Certification, task: str
) -> list[Criterion]:
    asked, ids = document.calibration, [each.id for each in tries]
    robot = Counter(each.robot for each in tries).most_common(1)[0][0]
    reference = find_reference(connection, task, robot)
    peers = [] if reference is None else sorted(set(reference.profiles) - set(ids))
    criteria: list[Criterion] = []
    if asked.grasps is not None:
        good = sum(_grasps(connection, each, asked.grasp_score) for each in tries)
        criteria.append(_share("grasps", good, len(tries), asked.grasps, document.confidence,
                               what="with a good grasp"))  # fmt: skip
    if asked.adherence is not None:
        criteria.append(_rules(connection, ids, asked.adherence))
    if not peers and any(each is not None for each in (asked.slower, asked.wider, asked.diversity)):
        words = (f"no reference of {task} to compare with; make one of its good episodes with: "
                 "corporeal rejudge")  # fmt: skip
        return [*criteria, Criterion("references", None, words)]
    own_s = np.array([each.duration_s for each in tries])
    where = OneOf("id", tuple(peers))
    theirs = [row[0] for row in read_fields(connection, "duration_s", where=where) if row[0]]
    criteria += _durations(own_s[own_s > 0], np.array(theirs), asked)
    if asked.diversity is not None:
        measures = measures_of(connection, [*ids, *peers])
        criteria.append(_diversity(measures, ids, peers, asked.diversity))
    return criteria


def _grasps(connection: Connection, each: _Try, least: float) -> bool:
    """By the score where it was measured, else by what became of the episode."""
    scores = {part.part: part.value for part in scores_of(connection, each.id)}
    value = scores.get(_GRASP)
    return each.is_good if value is None else value >= least and each.is_good


def _rules(connection: Connection, ids: Sequence[str], limit: float) -> Criterion:
    """The share of rules that were kept, of all that could be judged in these episodes."""
    scopes = {name: check.scope for name, check in checks().items()}
    mine = {check for check in RULES.values() if scopes.get(check) == "episode"}
    missing, judged = not_assessed_of(connection, ids), last_assessments(connection, ids)
    kept = broken = 0
    for name in ids:
        if name not in judged:
            continue
        found = {each.check: each.severity for each in findings_of(connection, name)
                 if each.check in mine}  # fmt: skip
        against = {check for check, severity in found.items() if severity != "note"}
        open_ones = {each.check for each in missing.get(name, ())} | (found.keys() - against)
        broken += len(against)
        kept += len(mine - open_ones - against)
    if not kept + broken:
        words = "no rule of a protocol could be judged; record under one"
        return Criterion("adherence", None, words, limit=limit)
    share = kept / (kept + broken)
    asked = f"{percent(share)}, {percent(limit)} asked"
    words = f"{kept} of {kept + broken} judged rules kept ({asked})"
    return Criterion("adherence", share >= limit, words, share, limit)


def _durations(own: Any, theirs: Any, asked: CalibrationPhase) -> list[Criterion]:
    """Where the middle of the durations lies, and how far they scatter, against the references."""
    criteria = []
    if len(own) < 2 or len(theirs) < 2:
        return [Criterion("time", None, "too few durations to compare")]
    median, usual = float(np.median(own)), float(np.median(theirs))
    if asked.slower is not None:
        ratio = median / usual
        words = f"median {median:.1f} s, references {usual:.1f} s ({asked.slower:g} times at most)"
        criteria.append(Criterion("time", ratio <= asked.slower, words, ratio, asked.slower))
    if asked.wider is not None:
        spreads = [float(np.std(np.log(each), ddof=1)) for each in (own, theirs)]
        ratio = spreads[0] / max(spreads[1], 1e-3)
        words = (f"durations scatter by {percent(spreads[0])}, references {percent(spreads[1])} "
                 f"({asked.wider:g} times at most)")  # fmt: skip
        criteria.append(Criterion("scatter", ratio <= asked.wider, words, ratio, asked.wider))
    return criteria


def _diversity(
    measures: Mapping[str, Mapping[str, float]], ids: Sequence[str], peers: Sequence[str],
    limit: float,
) -> Criterion:  # fmt: skip
    """How far directions of approach differ from their mean, against the references."""
    spreads = [approach_spread([measures[name] for name in names if name in measures])
               for names in (ids, peers)]  # fmt: skip
    own, theirs = spreads
    if own is None or theirs is None:
        words = (f"fewer than {_LEAST_APPROACHES} approaches could be seen; leave diversity empty "
                 "where a task has none")  # fmt: skip
        return Criterion("diversity", None, words, limit=limit)
    ratio = own / max(theirs, 1e-6)
    words = (f"approaches differ by {np.degrees(own):.0f} degrees, references "
             f"{np.degrees(theirs):.0f} ({percent(limit)} at least)")  # fmt: skip
    return Criterion("diversity", ratio >= limit, words, ratio, limit)


def approach_spread(measures: Sequence[Mapping[str, float]]) -> float | None:
    """Root mean square angle (rad) of directions of approach to their mean; None for too few."""
    rows = [[each[name] for name in APPROACH] for each in measures if set(APPROACH) <= each.keys()]
    if len(rows) < _LEAST_APPROACHES:
        return None
    directions = np.array(rows)
    mean = directions.mean(axis=0)
    cosines = directions @ mean / max(float(np.linalg.norm(mean)), 1e-9)
    return float(np.sqrt(np.mean(np.arccos(np.clip(cosines, -1, 1)) ** 2)))


def _share(
    name: str, good: int, of: int, limit: float, confidence: float, *, what: str,
    above: bool = False, proven: bool = False,
) -> Criterion:  # fmt: skip
    """A share against its limit, with what so few can prove said beside it."""
    if not of:
        return Criterion(name, None, f"nothing to count yet ({percent(limit)} asked)", limit=limit)
    share, bound = good / of, share_bound(good, of, confidence)
    passed = share > limit if above else share >= limit
    if proven:
        passed = bound > limit
    asked = f"{'more than ' if above else ''}{percent(limit)} asked"
    sure = f"proves {percent(bound)} with {100 * confidence:g} % confidence"
    words = f"{good} of {of} {what} ({percent(share)}, {asked}; {sure})"
    if proven and not passed:
        words += f"; {needed_to_prove(limit, confidence)} without a failure would prove it"
    return Criterion(name, passed, words, share, limit, bound)


def _unix_ns(stamp: str) -> int:
    return round(datetime.fromisoformat(stamp).timestamp() * SECOND_NS)
