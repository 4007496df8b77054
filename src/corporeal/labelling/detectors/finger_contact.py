"""Fingers that touch something, and let go of it: from the pressure on their pads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import EventDetector, PhysicalEvent
from corporeal.labelling.track import at_ns, crossing_s, despiked, noise_of, runs, sided


def find(
    recording: Recording,
    *,
    share: float = 0.13,
    least_s: float = 0.12,
    join_s: float = 0.15,
    least_noises: float = 40.0,
) -> Iterator[PhysicalEvent]:
    """Sustained pressure above `share` of what the pad bears in this episode.

    Why: a grasp begins when the pads bear load, not when the fingers were told to close, nor when
    one of them brushes the object: with both on it the load is about a sixth of the full grip.
    """
    for side, pad in sided(recording, "{side}_tactile"):
        raw = pad.values.sum(axis=1)
        pressure = despiked(raw)
        quiet, strong = (float(each) for each in np.quantile(pressure, (0.1, 0.98)))
        if strong - quiet < least_noises * noise_of(raw):
            continue
        level = quiet + share * (strong - quiet)
        touching = pressure > level
        for first, stop in runs(touching, max(2, round(least_s / pad.step_s)),
                                join=round(join_s / pad.step_s)):  # fmt: skip
            held = float(np.median(pressure[first:stop]))
            confidence = min(1.0, (held - quiet) / max(strong - quiet, 1e-9) + 0.3)
            facts = {"held": held - quiet}
            for name, place in (("contact_begins", first), ("contact_ends", stop)):
                if 0 < place < len(pressure):
                    yield PhysicalEvent(
                        at_ns(crossing_s(pad.time_s, pressure, place, level)), name, side,
                        pad.path, confidence, at_ns(pad.step_s / 2), facts,
                    )  # fmt: skip


DETECTOR = EventDetector(find, names=("contact_begins", "contact_ends"))
