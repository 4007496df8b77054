"""Forces at the wrists change when the hands move."""

from __future__ import annotations

from collections.abc import Iterator

from corporeal.quality.check import Check
from corporeal.quality.evidence.motion_pairs import force_pairs, sure
from corporeal.quality.finding import Finding, NotAssessed
from corporeal.quality.subject import Subject


def find(
    subject: Subject, *, max_lag_s: float = 0.03, min_confidence: float = 0.85
) -> Iterator[Finding]:
    """Yield each wrist force that is more than `max_lag_s` early or late.

    It is held against the weight of the hand as the joints turn and accelerate it. The limit is
    wider than the 5 ms between streams, since what the hand carries swings; only a wrist whose
    force is clearly explained counts.

    Why: contact seen too early or too late pairs a grasp with the wrong picture and posture.
    Fix: correct the offset of the sensor's clock, and align again.
    """
    looked = 0
    for pair, lag in force_pairs(subject):
        if not sure(lag, min_confidence):
            continue
        looked += 1
        if abs(lag.seconds) > max_lag_s + 3 * lag.deviation_s:
            yield Finding(
                f"{pair.label} is {1e3 * abs(lag.seconds):.0f} ms"
                f" {'late' if lag.seconds > 0 else 'early'} against {pair.what}"
                f" (confidence {lag.confidence:.2f})",
                stream=pair.label,
                value=lag.seconds,
                limit=max_lag_s,
            )
    if not looked:
        raise NotAssessed("no wrist force follows from the motion alone")


CHECK = Check(find, topic="lag", severity="quarantine", unit="s")
