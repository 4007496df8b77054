"""A retargeted robot follows hands and feet that were seen, not ones made up to fill a gap."""

import numpy as np

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings, drawn
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.runs import runs


def find(subject: Subject, *, max_gap_s: float = 0.5, min_confidence: float = 0.5) -> Findings:
    """Yield each hand or foot whose goal is unsure for longer than `max_gap_s` at a time.

    Unsure is a `retarget_confidence` of `min_confidence` or less: the point was hidden, or thrown
    out, and put where its neighbours in time have it.

    Why: what nobody saw is invented; a policy would learn the invention as if it were shown.
    Fix: capture it again with the markers in view, or retarget with the gap cut out.
    """
    track = subject.track(roles.RETARGET_CONFIDENCE)
    if not len(track):
        raise NotAssessed(f"{track.label} has no samples")
    step_s = float(np.median(np.diff(track.seconds))) if len(track) > 1 else 0.0
    for column, name in enumerate(track.names):
        unsure = track.values[:, column] <= min_confidence
        lasts = {(a, b): (b - a) * step_s for a, b in runs(unsure)}
        frames = tuple(span for span, long_s in lasts.items() if long_s > max_gap_s)
        if not frames:
            continue
        worst = max(frames, key=lambda span: lasts[span])
        yield Finding(
            f"the {name.replace('_', ' ')} was not seen for {lasts[worst]:.2f} s from "
            f"{track.seconds[worst[0]]:.2f} s on: its motion is made up.",
            stream=track.label,
            frames=frames,
            value=lasts[worst],
            limit=max_gap_s,
            evidence=drawn(track, *worst, [column]),
        )


CHECK = Check(find, topic="frames", severity="quarantine", unit="s", formerly=("retarget_seen",))
