"""The episode ends as its protocol says."""

from __future__ import annotations

from collections.abc import Iterator

from corporeal.quality.check import Check
from corporeal.quality.evidence.protocol_rules import judge, not_failed, protocol_of
from corporeal.quality.finding import Finding
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Iterator[Finding]:
    """Yield ways in which the last moments differ from the protocol's end state.

    Why: an episode that stops before its goal rests teaches a policy to stop there.
    Fix: record until everything rests; keep a truncated one among the failures.
    """
    protocol = protocol_of(subject)
    not_failed(subject)
    yield from judge(subject, protocol.end, at_end=True)


CHECK = Check(find, topic="protocol", severity="quarantine", formerly=("protocol_end_state",))
