"""Feet that strike the ground and leave it: from the force in the ankles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import EventDetector, PhysicalEvent, run_events, sided
from corporeal.signal.runs import runs


def find(
    recording: Recording, *, share: float = 0.15, least_s: float = 0.08
) -> Iterator[PhysicalEvent]:
    """A foot bears more than `share` of the most it bears, or less.

    Why: steps are counted, and slipping is judged, between strike and lift.
    """
    for side, ankle in sided(recording, "{side}_ankle_wrench", "{side}_foot_wrench"):
        load = np.linalg.norm(ankle.smooth(0.01).values[:, :3], axis=1)
        most = float(np.quantile(load, 0.95))
        level = share * most
        if most < 1.0 or float(load.min()) > level:
            continue
        least = max(2, round(least_s / ankle.period_s))
        for run in runs(load > level, least=least, gap=least // 2):
            yield from run_events(
                ("foot_strikes", "foot_leaves"), ankle, load, level, run, side=side,
                confidence=0.9, uncertainty_s=ankle.period_s,
            )  # fmt: skip


DETECTOR = EventDetector(find, names=("foot_strikes", "foot_leaves"))
