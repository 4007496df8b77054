"""The episode starts as its protocol says."""

from corporeal.quality.check import Check, Findings
from corporeal.quality.evidence.protocol_rules import RestTolerance, judge, protocol_of
from corporeal.quality.subject import Subject


def find(
    subject: Subject,
    *,
    max_sway_rad: float = 0.08,
    max_sway_m: float = 0.005,
    min_height_share: float = 0.8,
) -> Findings:
    """Yield ways in which the first moments differ from the protocol's start state.

    Who stands still sways: a joint by up to `max_sway_rad`, an object by `max_sway_m`. Upright is
    above `min_height_share` of the standing height.

    Why: a policy starts where its demonstrations start; a moving or crouching start is unseen.
    Fix: wait until everything rests before recording; trim what came too early.
    """
    allowed = RestTolerance(max_sway_rad, max_sway_m, min_height_share)
    yield from judge(subject, protocol_of(subject).start, allowed, at_end=False)


CHECK = Check(find, topic="protocol", severity="quarantine", formerly=("protocol_start_state",))
