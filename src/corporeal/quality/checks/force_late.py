"""Forces at the wrists change when the hands move."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Findings
from corporeal.quality.evidence.lag_pairs import force_pairs, out_of_step, sure
from corporeal.quality.subject import Subject


def find(subject: Subject, *, max_lag_s: float = 0.03, min_confidence: float = 0.85) -> Findings:
    """Yield each wrist force that is more than `max_lag_s` early or late.

    It is held against the weight of the hand as the joints turn and accelerate it. The limit is
    wider than the 5 ms between streams, since what the hand carries swings; only a wrist whose
    force is clearly explained counts.

    Why: contact seen too early or too late pairs a grasp with the wrong picture and posture.
    Fix: correct the offset of the sensor's clock, and align again.
    """
    looked = [(pair, lag) for pair, lag in force_pairs(subject) if sure(lag, min_confidence)]
    if not looked:
        raise NotAssessed("no wrist force follows from the motion alone")
    yield from out_of_step(looked, max_lag_s)


CHECK = Check(
    find, topic="lag", severity="quarantine", unit="s", formerly=("force_follows_motion",)
)
