"""How long the operator stands still in the middle of the task."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.scoring.motion import (
    RATE_HZ,
    STOP_S,
    Flags,
    Motion,
    lasting,
    motion_of,
    on_grid,
    openings_of,
)
from corporeal.quality.scoring.score import Measure, Score
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs

# A gripper that moves faster than this share of its range per second is at work.
BUSY_SHARE = 0.2
AROUND_S = 0.4


def measure(subject: Subject) -> Measure:
    """The share of time spent in pauses.

    Formula: the share of the time from the first motion to the last during which all hands are at
    rest and no gripper works, nor did nor will within 0.4 s: a grasp takes a stop. Unit: 1.
    Lower is better. A stop lasts 0.2 s or longer. Tasks that ask for a pause never come to nought:
    give them a reference of their own.
    """
    motion = motion_of(subject)
    idle = lasting(motion.resting & ~_gripping(subject, motion), STOP_S)
    pauses = runs(idle)
    value = float(idle.mean())
    seconds = value * motion.duration_s
    sentence = f"{len(pauses)} pauses take {seconds:.1f} of {motion.duration_s:.1f} s."
    return Measure(value, "1", sentence)


def _gripping(subject: Subject, motion: Motion) -> Flags:
    busy = np.zeros(len(motion.joints), bool)
    for hand in openings_of(subject):
        try:
            values = on_grid(hand.opening, motion.time_ns)
        except NotAssessed:
            continue
        span = np.ptp(values, axis=0)
        speed = np.abs(np.gradient(values, 1 / RATE_HZ, axis=0))
        moving = lasting((speed > BUSY_SHARE * np.maximum(span, 1e-3)).any(axis=1), 0.06)
        reach = np.ones(2 * round(AROUND_S * RATE_HZ) + 1)
        busy |= np.convolve(moving, reach, "same") > 0
    return busy


SCORE = Score(
    measure,
    unit="1",
    better="lower",
    good=0.0,
    bad=0.6,
    reference="Rohrer et al. 2002, movement arrest period ratio",
)
