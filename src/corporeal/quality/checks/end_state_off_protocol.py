"""The episode ends as its protocol says."""

from corporeal.quality.check import Check, Findings
from corporeal.quality.evidence.protocol_rules import RestTolerance, judge, not_failed, protocol_of
from corporeal.quality.subject import Subject


def find(
    subject: Subject,
    *,
    max_sway_rad: float = 0.08,
    max_sway_m: float = 0.005,
    min_height_share: float = 0.8,
) -> Findings:
    """Yield ways in which the last moments differ from the protocol's end state.

    Who stands still sways: a joint by up to `max_sway_rad`, an object by `max_sway_m`. Upright is
    above `min_height_share` of the standing height.

    Why: an episode that stops before its goal rests teaches a policy to stop there.
    Fix: record until everything rests; keep a truncated one among the failures.
    """
    protocol = protocol_of(subject)
    not_failed(subject)
    allowed = RestTolerance(max_sway_rad, max_sway_m, min_height_share)
    yield from judge(subject, protocol.end, allowed, at_end=True)


CHECK = Check(find, topic="protocol", severity="quarantine", formerly=("protocol_end_state",))
