"""A hand that closes, stays closed while the arm goes on, and opens again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import (
    EventDetector,
    PhysicalEvent,
    arm_joints,
    at_ns,
    hand_tracks,
    openings,
    track,
)
from corporeal.signal.hands import HandOpening
from corporeal.signal.runs import crossing_s, runs
from corporeal.signal.track import Array, Track

_LEVER_M, _CARRIED_M = 0.35, 0.05


def find(
    recording: Recording, *, share: float = 0.35, least_s: float = 0.4
) -> Iterator[PhysicalEvent]:
    """From where a closing hand has come to its closed end to where it begins to open again.

    Why: the fingers of a hand are soft, and many report no force: that they closed and stayed so
    while the arm carried on is all there is to see. It is no proof that something is in the hand.
    """
    for hand in openings(recording):
        if hand.is_gripper and hand.target is not None:
            continue  # It shows when something keeps it open.
        if track(recording, f"{hand.side}_tactile") is not None:
            continue
        if not hand.moves:
            continue
        width = hand.opening.smooth(0.05).values[:, 0]
        stroke = float(np.ptp(width))
        level = float(width.min()) + share * stroke
        least = max(2, round(least_s / hand.opening.period_s))
        for first, stop in runs(width < level, least=least, gap=least // 2):
            yield from _hold(recording, hand, width, level, (first, stop))


def _hold(
    recording: Recording, hand: HandOpening, width: Array, level: float, run: tuple[int, int]
) -> Iterator[PhysicalEvent]:
    """Both ends of a hold; one that was there when the recording began has no beginning."""
    first, stop = run
    time_s = hand.opening.seconds
    carried = _way_m(recording, hand.side, time_s[first], time_s[min(stop, len(time_s)) - 1])
    confidence = hand.sure * (0.7 if carried > _CARRIED_M else 0.35)
    for name, place in (("hand_holds", first), ("hand_releases", stop)):
        if 0 < place < len(width):
            yield PhysicalEvent(
                at_ns(crossing_s(time_s, width, place, level)), name, hand.side,
                hand.opening.label, confidence, at_ns(4 * hand.opening.period_s),
                {"carried_m": carried},
            )  # fmt: skip


def _way_m(recording: Recording, side: str, start_s: float, stop_s: float) -> float:
    """How far the hand is carried between two moments, at its farthest."""
    hands = hand_tracks(recording, in_world=False)
    arm: Track | None = hands.get(side)
    scale = 1.0
    if arm is None:
        arm, scale = arm_joints(recording), _LEVER_M
    if arm is None:
        return 0.0
    inside = arm.values[(arm.seconds >= start_s) & (arm.seconds <= stop_s)]
    if not len(inside):
        return 0.0
    return scale * float(np.linalg.norm(inside - inside[0], axis=1).max())


DETECTOR = EventDetector(find, names=("hand_holds", "hand_releases"))
