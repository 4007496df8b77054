"""How far the time taken is from what the task usually takes."""

from collections.abc import Sequence

import numpy as np

from corporeal.quality.scoring.motion import Profile
from corporeal.quality.scoring.score import Measure, Score

LEAST = 4


def measure(profiles: Sequence[Profile], count: int) -> list[Measure | str]:
    """The deviation of every episode's duration from the median.

    Formula: |ln(duration / median duration of the task)|, from the first motion to the last. Unit:
    1; 0.7 is half or twice as long. Lower is better: too long is hesitant, too short is hasty.
    Needs four episodes of the task.
    """
    if len(profiles) < LEAST:
        return [f"{len(profiles)} episodes of the task; {LEAST} are needed"] * count
    durations = np.array([profile.duration_s for profile in profiles])
    usual = float(np.median(durations))
    return [
        Measure(
            float(abs(np.log(duration / usual))),
            "1",
            f"It takes {duration:.1f} s where {usual:.1f} s is usual.",
        )
        for duration in durations[:count]
    ]


SCORE = Score(
    measure,
    unit="1",
    better="lower",
    good=0.0,
    bad=0.7,
    reference="time on task against the median",
    scope="batch",
)
