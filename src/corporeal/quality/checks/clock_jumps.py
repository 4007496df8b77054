"""All stamps of the episode lie in one stretch of time."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.evidence.stray_stamps import in_words, stray_stamps
from corporeal.quality.subject import Subject
from corporeal.signal.runs import runs


def find(subject: Subject, *, max_step_s: float = 3600.0) -> Findings:
    """Yield each stream with stamps more than `max_step_s` away from where most samples lie.

    The other checks judge the episode without these samples, and a stray stamp between good ones as
    if it lay between them.

    Why: a device without a clock of its own wakes in 1970 and is set by the network later; one such
    stamp, or one damaged bit, makes ten seconds last for decades.
    Fix: wait until the clocks are set before recording, or correct the stamps by the offset.
    """
    if not any(len(signal) for signal in subject.recording.signals.values()):
        raise NotAssessed("no stream has samples")
    for stream in stray_stamps(subject.recording, longest_step_s=max_step_s):
        count, whole = int(stream.strays.sum()), len(stream.strays)
        frames = runs(stream.strays)
        side = "before" if stream.away_s < 0 else "after"
        yield Finding(
            f"the clock of {stream.label} jumps: {count} of {whole} stamps lie up to"
            f" {in_words(stream.away_s)} {side} the rest of the episode, first at frame"
            f" {frames[0][0]}",
            stream=stream.label,
            frames=frames[:200],
            value=float(np.abs(stream.away_s)),
            limit=max_step_s,
        )


CHECK = Check(find, topic="time", severity="quarantine", unit="s")
