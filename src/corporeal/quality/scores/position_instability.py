"""How much a hand moves while it should be still."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.scoring.motion import RATE_HZ, motion_of
from corporeal.quality.scoring.score import Measure, Score
from corporeal.quality.subject import Subject

LEAST_S = 0.5


def measure(subject: Subject) -> Measure:
    """The shake at rest.

    Formula: the root mean square of the part of the position between 2.5 Hz and 9 Hz while the hand
    is at rest, all hands that the task is done with together. Unit: m, or rad and 1 of the joints
    where the robot is not known. Lower is better. Not assessed where nothing rests for half a
    second in all.
    """
    motion = motion_of(subject)
    parts = []
    for trail in motion.trails:
        shake = trail.position - trail.intent
        parts.append(np.square(shake).sum(axis=1)[trail.resting])
    held = np.concatenate(parts)
    if len(held) < LEAST_S * RATE_HZ:
        raise NotAssessed("nothing is held still for long enough")
    value = float(np.sqrt(held.mean()))
    unit = motion.trails[0].unit
    seconds = len(held) / RATE_HZ
    return Measure(value, unit, f"At rest ({seconds:.1f} s) it shakes by {value:.2g} {unit}.")


SCORE = Score(
    measure,
    unit="m",
    better="lower",
    good=0.0002,
    bad=0.004,
    scales={"rad": (0.0004, 0.04), "1": (0.0004, 0.04)},
    logarithmic=True,
    reference="postural tremor, Elble and Randall 1978",
)
