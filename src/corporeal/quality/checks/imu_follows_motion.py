"""Inertial sensors turn when the links they sit on turn."""

from __future__ import annotations

from collections.abc import Iterator

from corporeal.quality.check import Check
from corporeal.quality.evidence.motion_pairs import imu_pairs, sure
from corporeal.quality.finding import Finding, NotAssessed
from corporeal.quality.subject import Subject


def find(
    subject: Subject, *, max_lag_s: float = 0.005, min_confidence: float = 0.8
) -> Iterator[Finding]:
    """Yield each IMU whose gyroscope is more than `max_lag_s` early or late.

    It is held against the turning of its link, from the base pose or from the legs over a standing
    foot, whichever agrees better; three deviations of the estimate are added to the limit.

    Why: an IMU out of step misleads state estimation and every policy that sees it.
    Fix: correct the offset of the IMU's clock, and align again.
    """
    looked = 0
    for pair, lag in imu_pairs(subject):
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
        raise NotAssessed("the links with an IMU turn too little")


CHECK = Check(find, topic="lag", severity="fail", unit="s")
