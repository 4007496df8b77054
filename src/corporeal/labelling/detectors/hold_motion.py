"""What a hand does around a hold: it comes near, carries aside, sets down, opens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import (
    EventDetector,
    Hold,
    PhysicalEvent,
    at_ns,
    detectors,
    hand_tracks,
    holds,
    openings,
    track,
)
from corporeal.schema import roles
from corporeal.signal.runs import crossing_s
from corporeal.signal.track import Array, Track
from corporeal.units import SECOND_NS

_SURE, _APART_S, _LOOK_BACK_S, _LIFTED_M = 0.9, 0.4, 10.0, 0.02
_STIRS = 0.01
"""Of its stroke, so far has a hand been told to open when it begins to."""


def find(
    recording: Recording,
    *,
    near_m: float = 0.05,
    aside_m: float = 0.05,
    slow_m_s: float = 0.25,
    opens_s: float = 1.5,
) -> Iterator[PhysicalEvent]:
    """The moments at which a hand is `near_m` from where it takes hold, has carried what it holds
    `aside_m` sideways, is `near_m` from where it lets go, and begins to open.

    Why: these tell approach from pre-grasp, lift from transport, transport from place, and place
    from release. A hand that is fast when it lets go has thrown or lost the object, not placed it.
    """
    hands = {side: hand.smooth(0.03) for side, hand in hand_tracks(recording).items()}
    thing = track(recording, roles.OBJECT_POSE)
    spans = holds(recording)
    opened = [event for event in detectors()["gripper_motion"].find(recording)
              if event.name == "gripper_opens"]  # fmt: skip
    for hold in spans:
        is_first = not any(other.begin_ns < hold.begin_ns < other.end_ns for other in spans)
        is_last = not _goes_on(hold, spans)
        hand = hands.get(hold.side)
        carried = thing.smooth(0.02) if thing is not None and thing.values.shape[1] >= 3 else hand
        if hand is not None and is_first:
            yield from _comes_near(hand, hold, near_m)
        if carried is not None and is_first:
            yield from _carries(carried, hold, aside_m)
        if carried is not None and is_last:
            yield from _sets_down(carried, hand or carried, hold, near_m, slow_m_s)
        if is_last:
            yield from _opens(recording, hold, opened, opens_s)


def _goes_on(hold: Hold, spans: Sequence[Hold]) -> bool:
    """Whether another hand has the object when this one lets go of it."""
    soon = hold.end_ns + _APART_S * SECOND_NS
    return any(other.end_ns > hold.end_ns and other.begin_ns < soon for other in spans)


def _comes_near(hand: Track, hold: Hold, near_m: float) -> Iterator[PhysicalEvent]:
    begin = hold.begin_ns / SECOND_NS
    first, stop = np.searchsorted(hand.seconds, (begin - _LOOK_BACK_S, begin))
    apart = _apart(hand, _point(hand, begin))[first:stop]
    yield from _within(hand, apart, int(first), near_m, "hand_nears", hold)


def _sets_down(
    carried: Track, hand: Track, hold: Hold, near_m: float, slow_m_s: float
) -> Iterator[PhysicalEvent]:
    if hold.end is None:
        return
    edges = (hold.begin_ns / SECOND_NS, hold.end_ns / SECOND_NS)
    if float(np.interp(edges[1], hand.seconds, hand.speed(0.05))) > slow_m_s:
        return
    first, stop = np.searchsorted(carried.seconds, edges)
    apart = _apart(carried, _point(carried, edges[1]))[first:stop]
    yield from _within(carried, apart, int(first), near_m, "set_down_begins", hold)


def _carries(carried: Track, hold: Hold, aside_m: float) -> Iterator[PhysicalEvent]:
    begin = hold.begin_ns / SECOND_NS
    first, stop = np.searchsorted(carried.seconds, (begin, hold.end_ns / SECOND_NS))
    way = carried.values[first:stop, :3] - _point(carried, begin)
    aside = np.linalg.norm(way[:, :2], axis=1)
    there = np.flatnonzero((aside > aside_m) & (np.maximum.accumulate(way[:, 2]) > _LIFTED_M))
    if len(there):
        place = int(there[0])
        is_crossing = place > 0 and aside[place - 1] <= aside_m
        when = (crossing_s(carried.seconds[first:stop], aside, place, aside_m)
                if is_crossing else float(carried.seconds[first + place]))  # fmt: skip
        yield _event(when, "carry_begins", carried, hold)


def _opens(
    recording: Recording, hold: Hold, opened: Sequence[PhysicalEvent], opens_s: float
) -> Iterator[PhysicalEvent]:
    """The hand is told to open, which unloads the fingers before they part; else they part."""
    if hold.end is None:
        return
    target = next((hand.target for hand in openings(recording)
                   if hand.side == hold.side and hand.target is not None), None)  # fmt: skip
    if target is not None:
        yield from _told_to_open(target, hold, opens_s)
        return
    own = [event for event in opened if event.side == hold.side
           and 0 <= hold.end_ns - event.time_ns <= opens_s * SECOND_NS
           and event.time_ns > hold.begin_ns]  # fmt: skip
    for last in own[-1:]:
        sure = min(_SURE, last.confidence, hold.confidence)
        yield PhysicalEvent(
            last.time_ns, "grip_opens", hold.side, last.stream, sure, last.uncertainty_ns
        )


def _told_to_open(target: Track, hold: Hold, opens_s: float) -> Iterator[PhysicalEvent]:
    end = hold.end_ns / SECOND_NS
    first, stop = np.searchsorted(target.seconds, (max(hold.begin_ns / SECOND_NS, end - opens_s),
                                                   end))  # fmt: skip
    width = target.values[first:stop, 0]
    if len(width) < 2:
        return
    level = float(width.min()) + _STIRS * float(np.ptp(target.values[:, 0]))
    closed = np.flatnonzero(width <= level)
    if len(closed) and closed[-1] + 1 < len(width):
        place = int(closed[-1]) + 1
        when = crossing_s(target.seconds[first:stop], width, place, level)
        yield _event(when, "grip_opens", target, hold)


def _within(
    moved: Track, apart: Array, first: int, near_m: float, name: str, hold: Hold
) -> Iterator[PhysicalEvent]:
    """Where a distance comes below a limit for the last time; none where it was never above."""
    far = np.flatnonzero(apart > near_m)
    if len(far) and far[-1] + 1 < len(apart):
        place = int(far[-1]) + 1
        time_s = moved.seconds[first : first + len(apart)]
        yield _event(crossing_s(time_s, apart, place, near_m), name, moved, hold)


def _event(when_s: float, name: str, moved: Track, hold: Hold) -> PhysicalEvent:
    return PhysicalEvent(at_ns(when_s), name, hold.side, moved.label, _SURE * hold.confidence,
                         at_ns(moved.period_s))  # fmt: skip


def _apart(moved: Track, point: Array) -> Array:
    distance: Array = np.linalg.norm(moved.values[:, :3] - point, axis=1)
    return distance


def _point(moved: Track, when_s: float) -> Array:
    """Where it is (3,) at a moment between two samples."""
    return np.array([np.interp(when_s, moved.seconds, moved.values[:, axis]) for axis in range(3)])


DETECTOR = EventDetector(
    find, names=("hand_nears", "carry_begins", "set_down_begins", "grip_opens")
)
