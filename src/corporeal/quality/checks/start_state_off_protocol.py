"""The episode starts as its protocol says."""

from __future__ import annotations

from collections.abc import Iterator

from corporeal.quality.check import Check
from corporeal.quality.evidence.protocol_rules import judge, protocol_of
from corporeal.quality.finding import Finding
from corporeal.quality.subject import Subject


def find(subject: Subject) -> Iterator[Finding]:
    """Yield ways in which the first moments differ from the protocol's start state.

    Why: a policy starts where its demonstrations start; a moving or crouching start is unseen.
    Fix: wait until everything rests before recording; trim what came too early.
    """
    yield from judge(subject, protocol_of(subject).start, at_end=False)


CHECK = Check(find, topic="protocol", severity="quarantine", formerly=("protocol_start_state",))
