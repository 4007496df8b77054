"""The robot was controlled through an interface that the protocol allows."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.protocol_rules import protocol_of
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Findings:
    """Yield episodes made with a control interface for which the protocol has no instructions.

    Which it was is read from `interface` in the metadata.

    Why: every interface has its own speed, its own grip and its own faults.
    Fix: use one of the protocol's, or write instructions for this one.
    """
    allowed = protocol_of(subject).interfaces
    if not allowed:
        raise NotAssessed("the protocol names no interface")
    stated = subject.recording.facts.other.get("interface")
    if not stated:
        raise NotAssessed("the metadata does not say which interface was used")
    names = [each.interface for each in allowed]
    if str(stated) not in names:
        yield Finding(f"interface {str(stated)[:60]!r} is none of the protocol's: "
                      f"{', '.join(names)}")  # fmt: skip


CHECK = Check(find, topic="protocol", severity="quarantine")
