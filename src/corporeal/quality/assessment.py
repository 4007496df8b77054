"""Runs the checks on one recording: findings, what could not be assessed, the verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.episode.facts import JOINTS, ROBOT
from corporeal.episode.recording import Recording
from corporeal.errors import CorporealError, NotAssessed
from corporeal.protocol import Protocol
from corporeal.quality.check import Check, Finding, Verdict, checks, verdict
from corporeal.quality.evidence.stray_stamps import cut_signal
from corporeal.quality.policy import CheckRule, Policy
from corporeal.quality.subject import Judgement, Subject
from corporeal.units import SECOND_NS

LONGEST_S = 1200.0
PIECE_S = 300.0
_MOST_SPANS = 1000
UNSEEN = "pictures were not looked at"
"""Why a check of pictures could not run where nobody wanted them decoded."""
# The rules of a protocol and the check that judges each, in the order of the document.
RULES = {
    "start state": "start_state_off_protocol",
    "end state": "end_state_off_protocol",
    "approaches": "approaches_off_protocol",
    "force": "force_off_protocol",
    "lift clearance": "lift_height_off_protocol",
    "placement": "placement_off_protocol",
    "duration": "duration_off_protocol",
    "pre-roll and post-roll": "roll_length_off_protocol",
    "speed": "speed_off_protocol",
    "pause at the grasp": "grasp_pause_off_protocol",
    "prohibited behaviour": "behaviour_off_protocol",
    "cameras": "cameras_off_protocol",
    "operators": "operators_off_protocol",
    "operator rotation": "rotation_off_protocol",
    "control interface": "interface_off_protocol",
    "initial conditions": "randomisation_off_protocol",
    "card of the campaign": "card_not_followed",
    "spread of initial conditions": "start_spread_off_protocol",
    "diversity of approach": "approach_diversity_off_protocol",
    "edge cases": "edge_case_off_protocol",
    "share of edge cases": "edge_share_off_protocol",
    "failures": "failure_off_protocol",
}
_OF_A_BATCH = {
    "approaches_off_protocol",
    "operators_off_protocol",
    "rotation_off_protocol",
    "start_spread_off_protocol",
    "approach_diversity_off_protocol",
    "edge_share_off_protocol",
}


@dataclass(frozen=True)
class Assessment:
    """What the checks say of one episode. `not_assessed` gives the reason by check."""

    findings: tuple[Finding, ...]
    not_assessed: Mapping[str, str]

    @property
    def verdict(self) -> Verdict:
        """What follows from the findings."""
        return verdict(self.findings)

    def to_json(self) -> dict[str, Any]:
        """Findings and what was not assessed, as `corporeal check --json` prints them."""
        return {
            "findings": [finding.to_json() for finding in self.findings],
            "not_assessed": [
                {"check": name, "reason": reason} for name, reason in self.not_assessed.items()
            ],
        }


def assess(
    subject: Any,
    *,
    scope: str = "episode",
    rules: Mapping[str, CheckRule] | None = None,
    pictures: bool = True,
    only: tuple[str, ...] | None = None,
) -> Assessment:
    """Run every check of this scope; `only` names those to run. A batch goes the same way."""
    findings: list[Finding] = []
    reasons: dict[str, str] = {}
    for name, check in checks().items():
        rule = (rules or {}).get(name, CheckRule())
        if check.scope != scope or rule.enabled is False:
            continue
        if only is not None and name not in only:
            continue
        if check.pictures and not pictures:
            reasons[name] = UNSEEN
            continue
        try:
            findings.extend(_run(name, check, rule, subject))
        except NotAssessed as reason:
            reasons[name] = str(reason)
    return Assessment(tuple(findings), reasons)


def with_reasons(assessment: Assessment, seen: Assessment | None) -> Assessment:
    """The assessment without pictures: what their checks could judge as far as `seen` tells."""
    if seen is None:
        return assessment
    reasons = {
        name: seen.not_assessed.get(name, "") if reason == UNSEEN else reason
        for name, reason in assessment.not_assessed.items()
    }
    kept = {name: reason for name, reason in reasons.items() if reason}
    return replace(assessment, not_assessed=kept)


def with_seen(
    assessment: Assessment, seen: Assessment | None, rules: Mapping[str, CheckRule]
) -> Assessment:
    """The same with the findings that were `seen`, each as severe as the rules have it now."""
    if seen is None:
        return assessment
    findings = []
    for finding in seen.findings:
        rule = rules.get(finding.check, CheckRule())
        if rule.enabled is False:
            continue
        stated = rule.severity if rule.severity != checks()[finding.check].severity else None
        findings.append(replace(finding, severity=stated or finding.severity))
    return replace(assessment, findings=(*assessment.findings, *findings))


def _run(name: str, check: Check, rule: CheckRule, subject: Subject) -> list[Finding]:
    """The severity is the policy's where it says other than the check, else the finding's own."""
    findings = []
    stated = rule.severity if rule.severity != check.severity else None
    doubts = _assumed(check, subject)
    try:
        for finding in check.find(subject, **rule.limits):
            severity = stated or finding.severity or check.severity
            if doubts:
                severity = "quarantine" if severity == "fail" else severity
                message = f"{finding.message.rstrip('.')}; this rests on what is assumed: {doubts}"
                finding = replace(finding, message=message)
            findings.append(replace(finding, check=finding.check or name, severity=severity))
    except NotAssessed:
        if not findings:
            raise
    except CorporealError as error:
        raise NotAssessed(str(error)) from error
    return findings


def _assumed(check: Check, subject: Subject) -> str:
    """What the check must know and the reader of the source assumed; empty if nothing."""
    if not check.rests_on:
        return ""
    premises = (*check.rests_on, *((JOINTS,) if ROBOT in check.rests_on else ()))
    assumed = subject.recording.facts.assumptions_of(*premises)
    return "; ".join(f"{each.of}, {each.text}" for each in assumed)


@cache
def program_hash() -> str:
    """A hash of the program that judges: another check or score makes another hash."""
    folder = Path(__file__).parent
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def weigh_needs(
    assessment: Assessment, subject: Subject, policy: Policy, *, pictures: bool = True
) -> Assessment:
    """The assessment with a finding where a check that the policy needs could not run.

    Without `pictures` the checks that decode them are not needed.
    """
    robot = subject.recording.embodiment
    needed = policy.needed(
        has=subject.traits,
        mode=subject.recording.facts.mode,
        task=subject.task,
        robot=None if robot is None else robot.name,
    )
    wanted = [name for name in needed if pictures or not checks()[name].pictures]
    judged = assess(
        Judgement(wanted, assessment.not_assessed),
        scope="judgement",
        rules=policy.rules(task=subject.task, robot=None if robot is None else robot.name),
    )
    return replace(assessment, findings=assessment.findings + judged.findings)


@dataclass(frozen=True, eq=False)
class Excerpt:
    """A piece of a recording, and at which sample of each signal it begins."""

    recording: Recording
    first: Mapping[str, int]


def span_s(recording: Recording) -> float:
    """Seconds from the first to the last sample of all signals."""
    ends = [
        (float(signal.time_ns.min()), float(signal.time_ns.max()))
        for signal in recording.signals.values()
        if len(signal)
    ]
    if not ends:
        return 0.0
    return (max(last for _, last in ends) - min(first for first, _ in ends)) / SECOND_NS


def excerpts(recording: Recording, *, piece_s: float = PIECE_S) -> Iterator[Excerpt]:
    """The recording in pieces of equal time, one after the other, where there are samples."""
    signals = {label: signal for label, signal in recording.signals.items() if len(signal)}
    begin = min(int(signal.time_ns.min()) for signal in signals.values())
    count = max(1, round(span_s(recording) / piece_s))
    edges = [begin + round(number * piece_s * SECOND_NS) for number in range(1, count)]
    cuts = {}
    for label, signal in signals.items():
        # A clock that steps back must not make a cut step back.
        within = np.searchsorted(np.maximum.accumulate(signal.time_ns), edges)
        cuts[label] = [0, *within.tolist(), len(signal)]
    filled = np.any([np.diff(places) > 0 for places in cuts.values()], axis=0)
    for number in np.flatnonzero(filled).tolist():
        parts = {
            label: cut_signal(signal, cuts[label][number], cuts[label][number + 1])
            for label, signal in signals.items()
        }
        first = {label: cuts[label][number] for label in signals}
        yield Excerpt(replace(recording, signals=parts), first)


def combined(pieces: Iterable[tuple[Excerpt, Assessment]]) -> Assessment:
    """What is said of the pieces, as said of the whole: frames counted from its beginning.

    Findings of one check on one stream become one, with the frames of all and the words of the
    first. A check that was assessed in some piece counts as assessed.
    """
    merged: dict[tuple[str, str | None], Finding] = {}
    reasons: list[Mapping[str, str]] = []
    for excerpt, assessment in pieces:
        reasons.append(assessment.not_assessed)
        for finding in assessment.findings:
            shift = excerpt.first.get(finding.stream or "", 0)
            frames = tuple((first + shift, stop + shift) for first, stop in finding.frames)
            before = merged.setdefault((finding.check, finding.stream), replace(finding, frames=()))
            whole = (before.frames + frames)[:_MOST_SPANS]
            both = bool(before.columns and finding.columns)
            columns = tuple(dict.fromkeys(before.columns + finding.columns)) if both else ()
            joined = replace(before, frames=whole, columns=columns)
            merged[finding.check, finding.stream] = joined
    nowhere = {
        name: reason
        for name, reason in (reasons[0] if reasons else {}).items()
        if all(name in others for others in reasons)
    }
    return Assessment(tuple(merged.values()), nowhere)


@dataclass(frozen=True)
class ProtocolRule:
    """One rule of the protocol: kept, broken, or None where it could not be judged."""

    name: str
    check: str
    kept: bool | None
    message: str


def adherence(
    assessment: Assessment, protocol: Protocol, *, batch: bool = False
) -> tuple[ProtocolRule, ...]:
    """Every rule of the protocol that is judged per episode, or per `batch`."""
    rules = []
    for name, check in RULES.items():
        if (check in _OF_A_BATCH) != batch:
            continue
        findings = [found for found in assessment.findings if found.check == check]
        broken = [found.message for found in findings if found.severity != "note"]
        kept: bool | None = True
        message = f"as {protocol.reference} says"
        if broken:
            kept, message = False, "; ".join(broken)
        elif findings:
            # A note says what could not be judged, such as what people are asked.
            kept, message = None, "; ".join(found.message for found in findings)
        elif check in assessment.not_assessed:
            kept, message = None, assessment.not_assessed[check]
        rules.append(ProtocolRule(name, check, kept, message))
    return tuple(rules)
