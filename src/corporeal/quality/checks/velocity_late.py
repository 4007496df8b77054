"""Joint velocities are stamped as the joint positions that they lead to."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Findings
from corporeal.quality.evidence.lag_pairs import out_of_step, sure, velocity_pairs
from corporeal.quality.subject import Subject


def find(
    subject: Subject,
    *,
    max_lag_s: float = 0.005,
    max_lag: float = 0.6,
    min_confidence: float = 0.6,
) -> Findings:
    """Yield the velocity stream that is more than `max_lag_s` early or late.

    It is held against the rate of change of the positions. A lag of `max_lag` frames is allowed in
    any case: a velocity that was worked out from the position before is half a frame late. Three
    deviations of the estimate are added to the limit.

    Why: a policy that sees a velocity of another moment learns a wrong response.
    Fix: stamp both where they are read from the motors; correct the offset and align again.
    """
    for pair, lag in velocity_pairs(subject):
        if not sure(lag, min_confidence):
            raise NotAssessed("the joints move too little to compare velocity and position")
        limit = max(max_lag_s, max_lag * subject.tracks[pair.label].period_s)
        yield from out_of_step([(pair, lag)], limit)


CHECK = Check(find, topic="lag", severity="fail", unit="s", formerly=("velocity_leads_position",))
