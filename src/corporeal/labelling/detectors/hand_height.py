"""A hand that holds something and rises with it, or sinks to put it down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import (
    EventDetector,
    Hold,
    PhysicalEvent,
    at_ns,
    hand_tracks,
    holds,
)
from corporeal.signal.runs import crossing_s, runs
from corporeal.signal.track import Track
from corporeal.units import SECOND_NS


def find(
    recording: Recording, *, height_m: float = 0.02, least_s: float = 0.2
) -> Iterator[PhysicalEvent]:
    """The moment at which a holding hand is `height_m` above where it took hold.

    Why: where nothing tracks the object, what is held rises with the hand.
    """
    hands = hand_tracks(recording)
    for hold in holds(recording):
        if hold.side in hands:
            yield from _lift(hands[hold.side].smooth(0.03), hold, height_m, least_s)


def _lift(hand: Track, hold: Hold, height_m: float, least_s: float) -> Iterator[PhysicalEvent]:
    edges = (hold.begin_ns / SECOND_NS, hold.end_ns / SECOND_NS)
    first, stop = np.searchsorted(hand.seconds, edges)
    if stop - first < 5:
        return
    time_s, height = hand.seconds[first:stop], hand.values[first:stop, 2]
    # The hand may still sink while the fingers close.
    up = height - np.minimum.accumulate(height)
    found = runs(up > height_m, least=max(2, round(least_s / hand.period_s)))
    if found:
        yield PhysicalEvent(
            at_ns(crossing_s(time_s, up, found[0][0], height_m)), "hand_lifts", hold.side,
            hand.label, 0.8 * hold.confidence, at_ns(hand.period_s),
        )  # fmt: skip


DETECTOR = EventDetector(find, names=("hand_lifts",))
