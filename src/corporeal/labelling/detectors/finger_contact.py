"""Fingers that touch something, and let go of it: from the pressure on their pads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import EventDetector, PhysicalEvent, run_events, sided
from corporeal.signal.filters import despike, estimate_noise
from corporeal.signal.runs import runs


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
        pressure = despike(raw)
        quiet, strong = (float(each) for each in np.quantile(pressure, (0.1, 0.98)))
        if strong - quiet < least_noises * estimate_noise(raw):
            continue
        level = quiet + share * (strong - quiet)
        for first, stop in runs(pressure > level, least=max(2, round(least_s / pad.period_s)),
                                gap=round(join_s / pad.period_s)):  # fmt: skip
            pressed = float(np.median(pressure[first:stop])) - quiet
            yield from run_events(
                ("contact_begins", "contact_ends"), pad, pressure, level, (first, stop), side=side,
                confidence=min(1.0, pressed / max(strong - quiet, 1e-9) + 0.3),
                uncertainty_s=pad.period_s / 2, facts={"held": pressed},
            )  # fmt: skip


DETECTOR = EventDetector(find, names=("contact_begins", "contact_ends"))
