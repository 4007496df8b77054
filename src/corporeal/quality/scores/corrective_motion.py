"""How often a movement has to be put right on its way."""

import numpy as np
import scipy

from corporeal.errors import NotAssessed
from corporeal.quality.scoring.motion import motion_of
from corporeal.quality.scoring.score import Measure, Score
from corporeal.quality.subject import Subject

PROMINENCE = 0.1


def measure(subject: Subject) -> Measure:
    """Corrections per movement.

    Formula: sub-movements per movement: the peaks of the pace (the speed below 2.5 Hz) between two
    stops that stand out by a tenth of the highest, less one for the movement itself; weighted by
    the way. Unit: 1. Lower is better: 0 is one clean stroke from stop to stop.
    """
    motion = motion_of(subject)
    found, ways = [], []
    for trail in motion.trails:
        for first, stop in trail.bouts:
            pace = np.concatenate(([0.0], trail.pace[first:stop], [0.0]))
            peaks, _ = scipy.signal.find_peaks(pace, prominence=PROMINENCE * float(pace.max()))
            found.append(max(0, len(peaks) - 1))
            ways.append(float(pace.sum()))
    if not found or not sum(ways):
        raise NotAssessed("no movement lasts long enough")
    value = float(np.average(found, weights=ways))
    sentence = f"{sum(found)} corrections in {len(found)} movements."
    return Measure(value, "1", sentence)


SCORE = Score(
    measure,
    unit="1",
    better="lower",
    good=0.0,
    bad=6.0,
    reference="Rohrer et al. 2002, number of peaks",
)
