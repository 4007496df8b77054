"""A hand that strikes something: from the force in its wrist."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import EventDetector, PhysicalEvent, run_events, sided
from corporeal.signal.runs import runs


def find(
    recording: Recording, *, least_n: float = 30.0, least_s: float = 0.05, join_s: float = 0.3
) -> Iterator[PhysicalEvent]:
    """Where the wrist bears `least_n` more than it usually does.

    Why: what a hand was not to touch pushes harder than what it carries weighs.
    """
    for side, wrist in sided(recording, "{side}_wrist_wrench"):
        if wrist.values.shape[1] < 3:
            continue
        force = wrist.smooth(0.01).values[:, :3]
        load = np.linalg.norm(force - np.median(force, axis=0), axis=1)
        least = max(2, round(least_s / wrist.period_s))
        for first, stop in runs(load > least_n, least=least, gap=round(join_s / wrist.period_s)):
            most = float(load[first:stop].max())
            yield from run_events(
                ("hand_bumps", "bump_ends"), wrist, load, least_n, (first, stop), side=side,
                confidence=min(1.0, 0.5 * most / least_n), uncertainty_s=wrist.period_s,
                facts={"force_n": most},
            )  # fmt: skip


DETECTOR = EventDetector(find, names=("hand_bumps", "bump_ends"))
