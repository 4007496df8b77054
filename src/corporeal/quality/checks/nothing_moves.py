"""Something moves: the episode demonstrates a motion."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array


def find(subject: Subject, *, min_range: float = 0.002, min_duration_s: float = 0.5) -> Findings:
    """Yield an episode in which no column of state or action covers more than `min_range`.

    Why: an episode in which nothing is demonstrated teaches a policy to stand still.
    Fix: reject the episode; find out whether the robot's stream or its recorder was dead.
    """
    state = subject.state
    if len(state) < 2 or state.seconds[-1] - state.seconds[0] < min_duration_s:
        raise NotAssessed(f"{state.label} lasts less than {min_duration_s} s")
    tracks = subject.joint_tracks
    ranges = [_range(track.values) for track in tracks if len(track)]
    widest = float(max(each.max(initial=0.0) for each in ranges))
    if widest > min_range:
        return
    said = " and ".join(track.label for track in tracks)
    seconds = state.seconds[-1] - state.seconds[0]
    message = f"nothing moves: {said} stay within {widest:.2g} for all {seconds:.1f} s"
    yield Finding(
        message, stream=state.label, frames=((0, len(state)),), value=widest, limit=min_range
    )


def _range(values: Array) -> Array:
    """Range of each column without its rarest values, as a share of its size where that is big."""
    whole = bridge_gaps(values)
    low, high = np.quantile(whole, (0.005, 0.995), axis=0)
    return np.asarray((high - low) / np.maximum(1.0, np.abs(np.median(whole, axis=0))))


CHECK = Check(find, topic="joints", severity="fail", unit="rad", formerly=("something_moves",))
