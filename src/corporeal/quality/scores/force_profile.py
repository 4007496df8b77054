"""How much of the time the forces are not those that the task usually has."""

from collections.abc import Sequence

import numpy as np

from corporeal.quality.scoring.motion import Floats, Profile
from corporeal.quality.scoring.score import Measure, Score

LEAST = 8
WIDTH = 3.0


def measure(profiles: Sequence[Profile], count: int) -> list[Measure | str]:
    """The share of every episode outside the envelope of all.

    Formula: the share of 100 points from the first motion to the last at which the force on the
    hands (against that at the start) is outside the task's envelope: the median over the episodes,
    plus and minus three times 1.4826 times the median absolute deviation, and no less than a tenth
    of the highest median. Without force sensors the joint torques take their place. Unit: 1. Lower
    is better. Needs eight episodes.
    """
    units = {profile.force_unit for profile in profiles if profile.force is not None}
    found: list[Measure | str] = ["no force was measured"] * len(profiles)
    for unit in units:
        own = [
            n for n, one in enumerate(profiles) if one.force is not None and one.force_unit == unit
        ]
        curves = [force for n in own if (force := profiles[n].force) is not None]
        for number, value in zip(own, _outside(curves), strict=True):
            found[number] = value
    return found[:count]


def _outside(curves: list[Floats]) -> list[Measure | str]:
    if len(curves) < LEAST:
        return [f"{len(curves)} episodes with forces; {LEAST} are needed"] * len(curves)
    table = np.stack(curves).astype(np.float64)
    usual = np.median(table, axis=0)
    spread = 1.4826 * np.median(np.abs(table - usual), axis=0)
    width = np.maximum(WIDTH * spread, 0.1 * max(float(usual.max()), 1e-9))
    shares = (np.abs(table - usual) > width).mean(axis=1)
    return [
        Measure(
            float(share),
            "1",
            f"{100 * share:.0f} % of the time the force is outside the envelope.",
        )
        for share in shares
    ]


SCORE = Score(
    measure,
    unit="1",
    better="lower",
    good=0.0,
    bad=0.4,
    reference="median and MAD envelope over the task",
    scope="batch",
)
