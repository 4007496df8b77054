"""Failures are kept and labelled, or not kept, as the protocol says."""

from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield a failure that the protocol does not keep, and an end that nobody labelled.

    An episode without a label is only noted, where the protocol keeps failures.

    Why: a failure without a label is a demonstration of how to fail.
    Fix: say how each episode ended, when it is recorded or in the review.
    """
    protocol, outcome = protocol_of(subject), subject.recording.facts.outcome
    if outcome.success is False and not protocol.keep_failures:
        yield Finding(f"{outcome}; the protocol keeps no failures")
    elif outcome.success is None and protocol.keep_failures:
        message = "nobody says whether it succeeded; the protocol wants failures labelled"
        yield Finding(message, severity="note")


CHECK = Check(find, topic="protocol", severity="quarantine")
