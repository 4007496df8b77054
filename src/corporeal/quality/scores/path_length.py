"""How much farther the hands go than they have to."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.scoring.motion import motion_of
from corporeal.quality.scoring.score import Measure, Score
from corporeal.quality.subject import Subject


def measure(subject: Subject) -> Measure:
    """The way over the straight way.

    Formula: the sum of the ways of all movements over the sum of the straight lines from their
    start to their end, from one stop to the next. 1 is straight; an overshoot that is taken back, a
    detour and a shake all add. No unit. Lower is better. A movement that ends where it began has no
    straight line; it counts with the diameter of the space it crossed.
    """
    motion = motion_of(subject)
    way = straight = 0.0
    for trail in motion.trails:
        for first, stop in trail.bouts:
            path = trail.position[first:stop]
            way += float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
            # The farthest point from the start: also right where the movement comes back.
            straight += float(np.linalg.norm(path - path[0], axis=1).max())
    if straight <= 0:
        raise NotAssessed("no movement lasts long enough")
    value = way / straight
    unit = motion.trails[0].unit
    length = f" ({way:.2f} {unit} for {straight:.2f} {unit})" if unit != "1" else ""
    return Measure(value, "1", f"The way is {value:.2f} times the straight one{length}.")


SCORE = Score(
    measure,
    unit="1",
    better="lower",
    good=1.0,
    bad=4.0,
    reference="index of curvature, Archambault et al. 1999",
)
