"""While both feet stand, the base is where the legs put it."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.foot_stance import drift_of
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import runs


def find(subject: Subject, *, max_drift_m: float = 0.035) -> Findings:
    """Yield the frames in which the base has moved over `max_drift_m` away from standing feet.

    Feet that stand and move together with the base, by the same way, do not move: the base does.

    Why: a tracker that drifts moves the whole robot, and every hand, through the room.
    Fix: correct the base by the feet, or calibrate the tracker.
    """
    drift = drift_of(subject)
    bad = drift.common > max_drift_m
    if np.count_nonzero(bad) < 2:
        return
    seconds = drift.time_ns / 1e9
    worst = int(np.argmax(drift.common))
    label = subject.track(roles.BASE_POSE).label
    when = np.searchsorted(subject.track(roles.BASE_POSE).time_ns, drift.time_ns)
    frames = tuple((int(when[first]), int(when[stop - 1]) + 1) for first, stop in runs(bad))
    yield Finding(
        f"the base in {label} moves {drift.common[worst]:.3f} m away from feet that stand, by "
        f"{seconds[worst]:.2f} s.",
        stream=label,
        frames=frames,
        value=float(drift.common[worst]),
        limit=max_drift_m,
        evidence=drawn_whole(seconds, {"drift_m": drift.common}),
    )


CHECK = Check(
    find,
    topic="frames",
    severity="quarantine",
    rests_on=("robot",),
    unit="m",
    formerly=("base_follows_feet",),
)
