"""Forces at the wrists change when the hands move."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Findings
from corporeal.quality.evidence.lag_pairs import force_pairs, out_of_step, sure
from corporeal.quality.subject import Subject

# What the hand carries swings: the estimate may be off by more than its own deviation says.
DOUBT = 6.0


def find(subject: Subject, *, max_lag_s: float = 0.005, min_confidence: float = 0.75) -> Findings:
    """Yield each wrist force that is more than `max_lag_s` early or late.

    It is held against the weight of the hand as the joints turn and accelerate it. Six deviations
    of the estimate are added to the limit, since what the hand carries swings; only a wrist whose
    force is clearly explained counts.

    Why: contact seen too early or too late pairs a grasp with the wrong picture and posture.
    Fix: correct the offset of the sensor's clock, and align again.
    """
    looked = [(pair, lag) for pair, lag in force_pairs(subject) if sure(lag, min_confidence)]
    if not looked:
        raise NotAssessed("no wrist force follows from the motion alone")
    yield from out_of_step(looked, max_lag_s, doubt=DOUBT)


CHECK = Check(
    find,
    topic="lag",
    severity="quarantine",
    rests_on=("robot",),
    unit="s",
    formerly=("force_follows_motion",),
)
