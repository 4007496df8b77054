"""How many frequencies the speed of a movement needs: spectral arc length (SPARC)."""

import numpy as np

from corporeal.quality.scoring.motion import CUTOFF_HZ, RATE_HZ, motion_of
from corporeal.quality.scoring.score import Measure, Score
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array

FLOOR = 0.05


def measure(subject: Subject) -> Measure:
    """The mean spectral arc length of the movements.

    Formula: minus the length of the curve of the speed's amplitude spectrum, scaled to 1 at 0 Hz,
    against frequency, scaled to 1 at the cut-off; the cut-off is the highest frequency up to 9 Hz
    at which the spectrum is 0.05 or more. Movement by movement from one stop to the next; the mean
    weighted by the way. No unit. Higher (closer to nought) is better: a minimum-jerk reach has
    about -1.5.
    """
    movements, value = motion_of(subject).measure_bouts(
        lambda trail, span: arc_length(trail.speed[slice(*span)])
    )
    sentence = f"{len(movements)} movements have a mean arc length of {value:.2f}."
    return Measure(value, "1", sentence)


def arc_length(speed: Array) -> float:
    """Spectral arc length of one movement from its speed (T,)."""
    count = 1 << int(np.ceil(np.log2(len(speed))) + 4)
    spectrum = np.abs(np.fft.rfft(speed, count))
    frequency = np.fft.rfftfreq(count, 1 / RATE_HZ)
    spectrum = spectrum / max(float(spectrum[0]), 1e-12)
    within = (frequency <= CUTOFF_HZ) & (spectrum >= FLOOR)
    stop = max(2, int(np.flatnonzero(within)[-1]) + 1)
    steps = np.diff(frequency[:stop]) / (frequency[stop - 1] - frequency[0])
    return -float(np.hypot(steps, np.diff(spectrum[:stop])).sum())


SCORE = Score(
    measure,
    unit="1",
    better="higher",
    good=-1.5,
    bad=-5.0,
    reference="Balasubramanian, Melendez-Calderon, Roby-Brami and Burdet 2015",
)
