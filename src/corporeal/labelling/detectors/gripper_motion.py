"""Grippers that close, stop on something, and open: from their opening and what was commanded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import EventDetector, PhysicalEvent, run_events, sided
from corporeal.signal.filters import estimate_noise
from corporeal.signal.runs import runs
from corporeal.signal.track import Array, Track


def find(
    recording: Recording, *, share: float = 0.08, least_s: float = 0.06
) -> Iterator[PhysicalEvent]:
    """Moments at which a gripper begins to close or open, or closes no further.

    Why: where there is no tactile pad, fingers that stop short of their target hold something.
    """
    for side, gripper in sided(recording, "{side}_gripper", "{side}_hand"):
        opening = gripper.smooth(0.02)
        width = opening.values.mean(axis=1)
        stroke = float(width.max() - width.min())
        if stroke < max(1e-4, 12 * estimate_noise(gripper.values.mean(axis=1))):
            continue
        speed = np.gradient(width, opening.seconds)
        usual = share * float(np.abs(speed).max())
        for sign, begins, ends in ((-1, "gripper_closes", "gripper_stops"),
                                   (1, "gripper_opens", "gripper_is_open")):  # fmt: skip
            yield from _moves(gripper, sign * speed, usual, (begins, ends), side, least_s)


def _moves(
    gripper: Track, speed: Array, level: float,
    names: tuple[str, str], side: str, least_s: float,
) -> Iterator[PhysicalEvent]:  # fmt: skip
    least = max(2, round(least_s / gripper.period_s))
    for first, stop in runs(speed > level, least=least, gap=least):
        peak = float(np.quantile(speed[first:stop], 0.9))
        # Grippers move at an even speed: half of it is where smoothing moves no edge.
        fast = np.flatnonzero(speed[first:stop] > peak / 2) + first
        yield from run_events(
            names, gripper, speed, peak / 2, (int(fast[0]), int(fast[-1]) + 1), side=side,
            confidence=min(1.0, peak / (6 * level)), uncertainty_s=gripper.period_s / 2,
        )  # fmt: skip


DETECTOR = EventDetector(
    find, names=("gripper_closes", "gripper_stops", "gripper_opens", "gripper_is_open")
)
