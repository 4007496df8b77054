"""A thing that goes from one hand to the other: the second takes hold, then the first lets go."""

from __future__ import annotations

from collections.abc import Iterator

from corporeal.episode.recording import Recording
from corporeal.labelling.event import EventDetector, Hold, PhysicalEvent, holds
from corporeal.units import SECOND_NS


def find(recording: Recording, *, alone_s: float = 1.0) -> Iterator[PhysicalEvent]:
    """Where one hand had held for `alone_s` before the other took hold too, and was left with it.

    Why: two hands that close together lift together; a hand that comes later takes over.
    """
    spans = list(holds(recording))
    for giver in spans:
        for taker in spans:
            if giver.side == taker.side or not _takes_over(giver, taker, alone_s):
                continue
            sure = min(giver.confidence, taker.confidence)
            yield _event(taker.begin, "second_hand_takes", sure, giver.side)
            if giver.end is not None:
                yield _event(giver.end, "first_hand_leaves", sure, taker.side)


def _takes_over(giver: Hold, taker: Hold, alone_s: float) -> bool:
    before = taker.begin_ns - giver.begin_ns
    after = taker.end_ns - giver.end_ns
    together = giver.end_ns - taker.begin_ns
    return before > alone_s * SECOND_NS and after > 0 and together > 0


def _event(of: PhysicalEvent, name: str, confidence: float, other: str) -> PhysicalEvent:
    return PhysicalEvent(
        of.time_ns, name, of.side, of.stream, confidence, of.uncertainty_ns, {"other": other}
    )


DETECTOR = EventDetector(find, names=("second_hand_takes", "first_hand_leaves"))
