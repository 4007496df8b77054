"""Fingers that something keeps from closing: a gripper that stays wider than it was told."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import EventDetector, PhysicalEvent, openings, run_events, track
from corporeal.signal.filters import estimate_noise
from corporeal.signal.runs import runs


def find(
    recording: Recording,
    *,
    share: float = 0.06,
    lag_s: float = 0.06,
    least_s: float = 0.15,
    join_s: float = 0.1,
) -> Iterator[PhysicalEvent]:
    """Where the opening stays more than `share` of the stroke above its target of `lag_s` ago.

    Why: a hand without pads shows in this way, and only in this way, that it holds something.
    Where there are pads, they know better, and this says nothing.
    """
    for hand in openings(recording):
        side, gripper, target = hand.side, hand.opening, hand.target
        if target is None or not hand.is_gripper or track(recording, f"{side}_tactile") is not None:
            continue
        width = gripper.smooth(0.01).values[:, 0]
        stroke = float(np.ptp(target.values))
        asked = np.interp(gripper.seconds - lag_s, target.seconds, target.values[:, 0])
        short = width - asked
        level = max(share * stroke, 8 * estimate_noise(width))
        if stroke < 1e-4:
            continue
        # Fingers that met each other hold nothing, whatever they were told.
        shut = min(0.0, float(width.min())) + share * stroke
        kept = (short > level) & (width > shut)
        least, join = (max(2, round(each / gripper.period_s)) for each in (least_s, join_s))
        for first, stop in runs(kept, least=least, gap=join):
            lacking = float(np.median(short[first:stop]))
            yield from run_events(
                ("grip_bears", "grip_frees"), gripper, short, level, (first, stop), side=side,
                confidence=0.8 * hand.sure * min(1.0, lacking / (2 * level)),
                uncertainty_s=2 * gripper.period_s, facts={"short_m": lacking},
            )  # fmt: skip


DETECTOR = EventDetector(find, names=("grip_bears", "grip_frees"))
