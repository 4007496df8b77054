"""How smooth each movement is, whatever its length and pace: log dimensionless jerk."""

import numpy as np

from corporeal.quality.scoring.motion import RATE_HZ, motion_of
from corporeal.quality.scoring.score import Measure, Score
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array


def measure(subject: Subject) -> Measure:
    """The mean log dimensionless jerk of the movements.

    Formula: -ln(d^3 / v_max^2 * integral |v''|^2 dt) of the speed v of one movement of duration d,
    from one stop to the next; the mean over movements and hands weighted by the way they go. No
    unit. Higher (closer to nought) is better: a minimum-jerk reach has about -5.3. Movement by
    movement, so that an episode with more movements is not less smooth.
    """
    movements, value = motion_of(subject).measure_bouts(
        lambda trail, span: smoothness(trail.speed[slice(*span)])
    )
    sentence = f"{len(movements)} movements have a mean log dimensionless jerk of {value:.2f}."
    return Measure(value, "1", sentence)


def smoothness(speed: Array) -> float:
    """Log dimensionless jerk of one movement from its speed (T,)."""
    curve = np.gradient(np.gradient(speed, 1 / RATE_HZ), 1 / RATE_HZ)
    duration = len(speed) / RATE_HZ
    total = float(np.square(curve).sum() / RATE_HZ)
    peak = float(speed.max())
    return float(-np.log(max(total * duration**3 / max(peak, 1e-9) ** 2, 1e-9)))


SCORE = Score(
    measure,
    unit="1",
    better="higher",
    good=-6.0,
    bad=-17.0,
    reference="Balasubramanian, Melendez-Calderon and Burdet 2012",
)
