"""Inertial sensors turn when the links they sit on turn."""

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Findings
from corporeal.quality.evidence.lag_pairs import imu_pairs, out_of_step, sure
from corporeal.quality.subject import Subject


def find(subject: Subject, *, max_lag_s: float = 0.005, min_confidence: float = 0.8) -> Findings:
    """Yield each IMU whose gyroscope is more than `max_lag_s` early or late.

    It is held against the turning of its link, from the base pose or from the legs over a standing
    foot, whichever agrees better; three deviations of the estimate are added to the limit.

    Why: an IMU out of step misleads state estimation and every policy that sees it.
    Fix: correct the offset of the IMU's clock, and align again.
    """
    looked = [(pair, lag) for pair, lag in imu_pairs(subject) if sure(lag, min_confidence)]
    if not looked:
        raise NotAssessed("the links with an IMU turn too little")
    yield from out_of_step(looked, max_lag_s)


CHECK = Check(
    find,
    topic="lag",
    severity="fail",
    rests_on=("robot",),
    unit="s",
    formerly=("imu_follows_motion",),
)
