"""A foot that stands does not slide."""

import numpy as np

from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.foot_stance import drift_of
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs


def find(subject: Subject, *, max_slide_m: float = 0.035) -> Findings:
    """Yield the frames in which a standing foot has slid over `max_slide_m` since it stood.

    Standing is flat on the ground, and loaded where an ankle sensor tells. What both feet move
    together is the base's, and has a check of its own.

    Why: a sliding foot is a leg that was solved without its contact, or joints that are wrong.
    Fix: solve the legs again with the stance held, or drop the frames.
    """
    drift = drift_of(subject)
    seconds = drift.time_ns / 1e9
    for column, name in enumerate(drift.names):
        slid = drift.own[:, column]
        bad = slid > max_slide_m
        if np.count_nonzero(bad) < 2:
            continue
        worst = int(np.argmax(slid))
        yield Finding(
            f"the {name} foot slides by {slid[worst]:.3f} m while it stands, at "
            f"{seconds[worst]:.2f} s.",
            stream=drift.label,
            frames=runs(bad),
            value=float(slid[worst]),
            limit=max_slide_m,
            evidence=drawn_whole(seconds, {"slide_m": slid}),
        )


CHECK = Check(
    find,
    topic="frames",
    severity="quarantine",
    rests_on=("robot",),
    unit="m",
    formerly=("feet_slide",),
)
