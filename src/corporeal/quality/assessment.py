"""Runs the checks on one recording: findings, what could not be assessed, the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import ImageSequence, Recording, Signal, VideoFile
from corporeal.errors import CorporealError, NotAssessed
from corporeal.protocol import Protocol
from corporeal.quality.check import Check, Finding, Severity, Verdict, checks, verdict
from corporeal.quality.subject import Subject
from corporeal.signal import SignalPart
from corporeal.units import SECOND_NS

LONGEST_S = 1200.0
PIECE_S = 300.0
_MOST_SPANS = 1000
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
}
_OF_A_BATCH = {"approaches_off_protocol", "operators_off_protocol"}


@dataclass(frozen=True)
class CheckSetting:
    """How a policy runs one check: its limits, and what a finding of it means."""

    severity: Severity | None = None
    limits: Mapping[str, Any] | None = None
    enabled: bool = True


@dataclass(frozen=True)
class Assessment:
    """What the checks say of one episode. `not_assessed` gives the reason by check."""

    findings: tuple[Finding, ...]
    not_assessed: Mapping[str, str]

    @property
    def verdict(self) -> Verdict:
        """What follows from the findings."""
        return verdict(self.findings)


def assess(
    subject: Any,
    *,
    scope: str = "episode",
    settings: Mapping[str, CheckSetting] | None = None,
    pictures: bool = True,
    only: tuple[str, ...] | None = None,
) -> Assessment:
    """Run every check of this scope; `only` names those to run. A batch goes the same way."""
    findings: list[Finding] = []
    reasons: dict[str, str] = {}
    for name, check in checks().items():
        setting = (settings or {}).get(name, CheckSetting())
        if check.scope != scope or not setting.enabled or (only is not None and name not in only):
            continue
        if check.pictures and not pictures:
            reasons[name] = "pictures were not looked at"
            continue
        try:
            findings.extend(_run(name, check, setting, subject))
        except NotAssessed as reason:
            reasons[name] = str(reason)
    return Assessment(tuple(findings), reasons)


def _severity(finding: Finding, check: Check, setting: CheckSetting) -> Severity:
    """The policy's, where it says other than the check; else the finding's own, if it has one."""
    if setting.severity is not None and setting.severity != check.severity:
        return setting.severity
    return finding.severity or check.severity


def _run(name: str, check: Check, setting: CheckSetting, subject: Subject) -> list[Finding]:
    found = []
    limits = dict(setting.limits or {})
    try:
        for finding in check.find(subject, **limits):
            severity = _severity(finding, check, setting)
            found.append(replace(finding, check=finding.check or name, severity=severity))
    except NotAssessed:
        if not found:
            raise
    except CorporealError as error:
        raise NotAssessed(str(error)) from error
    return found


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
    """The recording in pieces of equal time, one after the other."""
    signals = {label: signal for label, signal in recording.signals.items() if len(signal)}
    begin = min(int(signal.time_ns.min()) for signal in signals.values())
    count = max(1, round(span_s(recording) / piece_s))
    edges = [begin + round(number * piece_s * SECOND_NS) for number in range(1, count)]
    cuts = {
        label: [0, *_cuts(signal.time_ns, edges), len(signal)] for label, signal in signals.items()
    }
    for number in range(count):
        parts = {
            label: _part(signal, cuts[label][number], cuts[label][number + 1])
            for label, signal in signals.items()
        }
        first = {label: cuts[label][number] for label in signals}
        yield Excerpt(replace(recording, signals=parts), first)


def _cuts(time_ns: NDArray[np.int64], edges: list[int]) -> list[int]:
    # A clock that steps back must not make a cut step back.
    places = np.searchsorted(np.maximum.accumulate(time_ns), edges)
    return [int(place) for place in places]


def _part(signal: Signal, first: int, stop: int) -> Signal:
    if isinstance(signal, VideoFile):
        return replace(
            signal,
            time_ns=signal.time_ns[first:stop],
            first=signal.first + first,
            count=stop - first,
        )
    if isinstance(signal, ImageSequence):
        return replace(
            signal, time_ns=signal.time_ns[first:stop], pictures=signal.pictures[first:stop]
        )
    return SignalPart(signal, first, stop)


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
            moved = _moved(finding, excerpt.first.get(finding.stream or "", 0))
            key = (finding.check, finding.stream)
            merged[key] = _together(merged[key], moved) if key in merged else moved
    nowhere = {
        name: reason
        for name, reason in (reasons[0] if reasons else {}).items()
        if all(name in each for each in reasons)
    }
    return Assessment(tuple(merged.values()), nowhere)


def _moved(finding: Finding, first: int) -> Finding:
    frames = tuple((begin + first, stop + first) for begin, stop in finding.frames)
    return replace(finding, frames=frames)


def _together(one: Finding, other: Finding) -> Finding:
    return replace(one, frames=(one.frames + other.frames)[:_MOST_SPANS])


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
    found = []
    for name, check in RULES.items():
        if (check in _OF_A_BATCH) != batch:
            continue
        messages = [each.message for each in assessment.findings if each.check == check]
        if messages:
            found.append(ProtocolRule(name, check, False, "; ".join(messages)))
        elif check in assessment.not_assessed:
            found.append(ProtocolRule(name, check, None, assessment.not_assessed[check]))
        else:
            found.append(ProtocolRule(name, check, True, f"as {protocol.reference} says"))
    return tuple(found)
