"""While a hand holds something: from its pads, or from fingers that cannot close any further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corporeal.episode.recording import Recording
from corporeal.labelling.event import PhysicalEvent, detectors

BEGINS, ENDS = ("contact_begins", "grip_bears"), ("contact_ends", "grip_frees")
FOREVER_NS = 2**53
_DETECTORS = ("finger_contact", "grip_shortfall")


@dataclass(frozen=True)
class Hold:
    """A hand that holds something from one event to the other."""

    side: str
    begin: PhysicalEvent
    end: PhysicalEvent | None = None
    """None where it still holds when the recording ends."""

    @property
    def confidence(self) -> float:
        """That of the weaker event."""
        return min(self.begin.confidence, 1.0 if self.end is None else self.end.confidence)

    @property
    def begin_ns(self) -> int:
        """When it takes hold."""
        return self.begin.time_ns

    @property
    def end_ns(self) -> int:
        """When it lets go; far away where it never does."""
        return FOREVER_NS if self.end is None else self.end.time_ns


def holds(recording: Recording) -> tuple[Hold, ...]:
    """Every hold of each hand, in order of time; by its pads where it has any."""
    known = detectors()
    events = [event for name in _DETECTORS for event in known[name].find(recording)]
    return holds_in(sorted(events, key=lambda event: event.time_ns))


def holds_in(events: Sequence[PhysicalEvent]) -> tuple[Hold, ...]:
    """The holds that events tell of; pads are believed before fingers."""
    sides = {event.side for event in events if event.name in BEGINS}
    felt = {event.side for event in events if event.name == BEGINS[0]}
    found = [hold for side in sides for hold in _of(events, side, 0 if side in felt else 1)]
    return tuple(sorted(found, key=lambda hold: hold.begin_ns))


def _of(events: Sequence[PhysicalEvent], side: str, kind: int) -> Iterator[Hold]:
    begin: PhysicalEvent | None = None
    for event in events:
        if event.side != side:
            continue
        if event.name == BEGINS[kind] and begin is None:
            begin = event
        elif event.name == ENDS[kind] and begin is not None:
            yield Hold(side, begin, event)
            begin = None
    if begin is not None:
        yield Hold(side, begin)
