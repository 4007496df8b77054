"""Whether the object was taken, and at which attempt."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.quality.scoring.motion import RATE_HZ, Flags, on_grid, openings_of, pressure_track
from corporeal.quality.scoring.score import Measure, Score
from corporeal.quality.subject import Subject
from corporeal.signal.grid import even_times
from corporeal.signal.hands import HandOpening
from corporeal.signal.runs import runs
from corporeal.signal.track import Array

HOLD_S, RELEASE_S = 0.5, 0.4
FAILED = ("missed_grasp", "slip", "drop")


def measure(subject: Subject) -> Measure:
    """One over the number of the attempt that succeeded.

    Formula: 1 / n where the n-th closing of a gripper is the first that holds something for half a
    second and does not lose it before the gripper opens; 0 where none does, or where the recorded
    outcome says that the grasp failed. A gripper is closed below the middle of its range. It holds
    something while its skin feels more than a tenth of its strongest pressure and ten times its
    noise, or, without skin, while the object keeps it more than a tenth of its range from where it
    was told to go. Unit: 1. Higher is better. Not assessed where no gripper closes,
    or where only fingers do, of which nothing tells whether they hold something.
    """
    failure = subject.recording.facts.outcome.failure
    if failure in FAILED:
        return Measure(0.0, "1", f"The recorded outcome is {failure}.")
    attempts = sorted(_attempts(subject))
    if not attempts:
        raise NotAssessed("no hand closes that would show whether it holds something")
    held = [number for number, (_, success) in enumerate(attempts, 1) if success]
    if not held:
        return Measure(0.0, "1", f"None of {len(attempts)} closings holds anything.")
    ordinal = "at the first attempt" if held[0] == 1 else f"at attempt {held[0]}"
    return Measure(1.0 / held[0], "1", f"The object is held {ordinal}.")


def _attempts(subject: Subject) -> Iterator[tuple[float, bool]]:
    """When each closing began, and whether something was held till the end of it."""
    for hand in openings_of(subject):
        track = hand.opening
        if len(track) < 2 or not hand.moves:
            continue
        try:
            step_ns = round(1e9 / RATE_HZ)
            grid = even_times(track.time_ns[0], track.time_ns[-1], step_ns).astype(np.int64)
            opening = on_grid(track, grid)[:, 0]
            holding = _holding(subject, hand, grid, opening)
        except NotAssessed:
            continue
        span = float(np.ptp(opening))
        if span < 1e-3:
            continue
        closed = opening < opening.max() - 0.5 * span
        for first, stop in runs(closed, gap=round(0.2 * RATE_HZ) - 1):
            if stop - first >= HOLD_S * RATE_HZ:
                yield float(grid[first]), _kept(holding[first:stop])


def _holding(subject: Subject, hand: HandOpening, grid: NDArray[np.int64], opening: Array) -> Flags:
    skin = pressure_track(subject, hand.side)
    if skin is not None:
        felt = on_grid(skin, grid)[:, 0]
        open_wide = opening > opening.max() - 0.5 * float(np.ptp(opening))
        rest = felt[open_wide]
        felt = felt - np.median(rest)
        noise = 1.4826 * float(np.median(np.abs(rest - np.median(rest))))
        return np.asarray(felt > max(0.1 * float(felt.max()), 10.0 * noise, 1e-9))
    if hand.target is None or not hand.is_gripper:
        raise NotAssessed(f"nothing tells whether the {hand.side} hand holds something")
    target = on_grid(hand.target, grid)[:, 0]
    return np.asarray(opening - target > 0.1 * float(np.ptp(opening)))


def _kept(holding: Flags) -> bool:
    """Held for long enough, and up to the last moment before the gripper opens."""
    longest = max((stop - first for first, stop in runs(holding, gap=4)), default=0)
    # The fingers let go a moment before they have passed the middle of their way.
    margin = round(RELEASE_S * RATE_HZ)
    before_end = holding[-2 * margin : -margin]
    return longest >= HOLD_S * RATE_HZ and bool(before_end.any())


SCORE = Score(
    measure,
    unit="1",
    better="higher",
    good=1.0,
    bad=0.0,
    reference="first-attempt success, a usual measure of grasping",
)
