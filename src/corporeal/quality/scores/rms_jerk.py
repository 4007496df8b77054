"""How sharply the motion changes: the root mean square of the jerk."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.scoring.motion import Trail, motion_of
from corporeal.quality.scoring.score import Measure, Score
from corporeal.quality.subject import Subject


def measure(subject: Subject) -> Measure:
    """The jerk of what the task is done with, over the time it moves.

    Formula: sqrt(mean |x'''|^2) over the time in motion, of the path x of each hand after a
    low-pass of 9 Hz on a grid of 50 Hz; hands weighted by how far they go. Unit: m/s3, or rad/s3
    and 1/s3 (shares of each column's range) of the joints where the robot is not known. Lower is
    better. The same motion done slower has less jerk: `log_dimensionless_jerk` is the part that
    pace does not change.
    """
    motion = motion_of(subject)
    found = [_jerk(trail) for trail in motion.trails]
    value = float(np.dot(found, motion.shares))
    unit = f"{motion.trails[0].unit}/s3"
    names = " and ".join(trail.name for trail in motion.trails)
    return Measure(value, unit, f"The root mean square jerk of {names} is {value:.3g} {unit}.")


def _jerk(trail: Trail) -> float:
    moving = ~trail.resting
    if not moving.any():
        raise NotAssessed(f"{trail.name} never moves for long enough")
    return float(np.sqrt(np.square(trail.jerk[moving]).sum(axis=1).mean()))


SCORE = Score(
    measure,
    unit="m/s3",
    better="lower",
    good=8.0,
    bad=150.0,
    scales={"rad/s3": (20.0, 1500.0), "1/s3": (20.0, 1500.0)},
    logarithmic=True,
    reference="Flash and Hogan 1985, minimum jerk",
)
