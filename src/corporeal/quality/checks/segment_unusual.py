"""Every second is like those of good episodes of the task."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject


def find(subject: Subject, *, max_score: float = 1.0) -> Findings:
    """Yield the stretches that a detector learnt from good episodes finds unusual.

    The score is in units of the detector's own limit.

    Why: a slip, a knock or a stumble seldom breaks a limit, but it is unlike what went well.
    Fix: look at the stretch; keep the episode as a failure, or learn again with it if it is good.
    """
    if subject.detector is None:
        raise NotAssessed("no detector of the task; learn one from good episodes: corporeal learn")
    state = subject.state
    for segment in subject.detector.segments_of(subject):
        if segment.score <= max_score:
            continue
        first, stop = np.searchsorted(state.time_ns, [segment.start_ns, segment.end_ns])
        start_s, end_s = segment.start_ns / 1e9, segment.end_ns / 1e9
        yield Finding(
            f"from {start_s:.2f} s to {end_s:.2f} s it is not like good episodes of the task: "
            f"{segment.score:.1f} times the limit",
            stream=state.label,
            frames=((int(first), max(int(stop), int(first) + 1)),),
            value=segment.score,
            limit=max_score,
        )


CHECK = Check(find, topic="sets", severity="quarantine", formerly=("segments_are_usual",))
