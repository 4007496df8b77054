"""Every second is like those of good episodes of the task."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.anomaly.envelope import CrossCheck
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject


def find(
    subject: Subject, *, max_score: float = 1.0, min_learnt: int = 10, max_alarms: float = 0.02
) -> Findings:
    """Yield the stretches that a detector learnt from good episodes finds unusual.

    The score is in units of the detector's own limit. It is a note where the detector learnt from
    fewer than `min_learnt` episodes, or where more than a share of `max_alarms` of those would be
    flagged by what the others teach.

    Why: a slip, a knock or a stumble seldom breaks a limit, but it is unlike what went well.
    Fix: look at the stretch; keep the episode as a failure, or learn again with it if it is good.
    """
    if subject.detector is None:
        raise NotAssessed("no detector of the task; learn one from good episodes: corporeal learn")
    state = subject.state
    doubt = _doubt(subject.detector.cross_check, min_learnt, max_alarms)
    for segment in subject.detector.segments_of(subject):
        if segment.score <= max_score:
            continue
        first, stop = np.searchsorted(state.time_ns, [segment.start_ns, segment.end_ns])
        start_s, end_s = segment.start_ns / 1e9, segment.end_ns / 1e9
        yield Finding(
            f"from {start_s:.2f} s to {end_s:.2f} s it is not like good episodes of the task: "
            f"{segment.score:.1f} times the limit{doubt and f'; a note alone, since {doubt}'}",
            stream=state.label,
            frames=((int(first), max(int(stop), int(first) + 1)),),
            value=segment.score,
            limit=max_score,
            severity="note" if doubt else None,
        )


def _doubt(tried: CrossCheck | None, min_learnt: int, max_alarms: float) -> str:
    """Why the word of the detector holds nobody up; empty where it does."""
    if tried is None:
        return ""
    if tried.episodes < min_learnt:
        return f"it was learnt from {tried.episodes} good episodes and {min_learnt} tell enough"
    if tried.alarms is not None and tried.alarms > max_alarms * tried.episodes:
        return (
            f"{tried.alarms} of the {tried.episodes} good episodes that it was learnt from would "
            "be flagged as well"
        )
    return ""


CHECK = Check(find, topic="sets", severity="quarantine", formerly=("segments_are_usual",))
