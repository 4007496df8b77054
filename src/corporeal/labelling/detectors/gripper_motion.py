"""Grippers that close, stop on something, and open: from their opening and what was commanded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import EventDetector, PhysicalEvent, openings, run_events
from corporeal.signal.hands import HandOpening
from corporeal.signal.runs import runs
from corporeal.signal.track import Array


def find(
    recording: Recording, *, share: float = 0.08, least_s: float = 0.06
) -> Iterator[PhysicalEvent]:
    """Moments at which a gripper begins to close or open, or closes no further.

    Why: where there is no tactile pad, fingers that stop short of their target hold something.
    """
    for hand in openings(recording):
        if not hand.moves:
            continue
        opening = hand.opening.smooth(0.02)
        width = opening.values[:, 0]
        speed = np.gradient(width, opening.seconds)
        usual = share * float(np.abs(speed).max())
        for sign, begins, ends in ((-1, "gripper_closes", "gripper_stops"),
                                   (1, "gripper_opens", "gripper_is_open")):  # fmt: skip
            yield from _moves(hand, sign * speed, usual, (begins, ends), least_s)


def _moves(
    hand: HandOpening, speed: Array, level: float, names: tuple[str, str], least_s: float
) -> Iterator[PhysicalEvent]:
    gripper = hand.opening
    least = max(2, round(least_s / gripper.period_s))
    for first, stop in runs(speed > level, least=least, gap=least):
        peak = float(np.quantile(speed[first:stop], 0.9))
        # Grippers move at an even speed: half of it is where smoothing moves no edge.
        fast = np.flatnonzero(speed[first:stop] > peak / 2) + first
        yield from run_events(
            names, gripper, speed, peak / 2, (int(fast[0]), int(fast[-1]) + 1), side=hand.side,
            confidence=hand.sure * min(1.0, peak / (6 * level)), uncertainty_s=gripper.period_s / 2,
        )  # fmt: skip


DETECTOR = EventDetector(
    find, names=("gripper_closes", "gripper_stops", "gripper_opens", "gripper_is_open")
)
