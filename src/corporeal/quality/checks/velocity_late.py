"""Joint velocities are stamped as the joint positions that they lead to."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.lag_pairs import sure, velocity_pairs
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
        if abs(lag.seconds) > limit + 3 * lag.deviation_s:
            message = (
                f"{pair.label} is {1e3 * abs(lag.seconds):.0f} ms"
                f" {'late' if lag.seconds > 0 else 'early'} against {pair.what}"
                f" (confidence {lag.confidence:.2f})"
            )
            yield Finding(message, stream=pair.label, value=lag.seconds, limit=limit)


CHECK = Check(find, topic="lag", severity="fail", unit="s", formerly=("velocity_leads_position",))
