"""How often a movement has to be put right on its way."""

import numpy as np
import scipy

from corporeal.quality.scoring.motion import Span, Trail, motion_of
from corporeal.quality.scoring.score import Measure, Score
from corporeal.quality.subject import Subject

PROMINENCE = 0.1


def measure(subject: Subject) -> Measure:
    """Corrections per movement.

    Formula: sub-movements per movement: the peaks of the pace (the speed below 2.5 Hz) between two
    stops that stand out by a tenth of the highest, less one for the movement itself; weighted by
    the way. Unit: 1. Lower is better: 0 is one clean stroke from stop to stop.
    """
    corrections, value = motion_of(subject).measure_bouts(_corrections)
    sentence = f"{sum(corrections)} corrections in {len(corrections)} movements."
    return Measure(value, "1", sentence)


def _corrections(trail: Trail, span: Span) -> int:
    pace = np.concatenate(([0.0], trail.pace[slice(*span)], [0.0]))
    peaks, _ = scipy.signal.find_peaks(pace, prominence=PROMINENCE * float(pace.max()))
    return max(0, len(peaks) - 1)


SCORE = Score(
    measure,
    unit="1",
    better="lower",
    good=0.0,
    bad=6.0,
    reference="Rohrer et al. 2002, number of peaks",
)
