"""How an attempt ended, as far as signals tell: what was held, where it was let go of, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import PhysicalEvent
from corporeal.labelling.grip import Hold, holds_in
from corporeal.labelling.hands import hand_tracks
from corporeal.labelling.track import track
from corporeal.schema import roles
from corporeal.units import SECOND_NS

_HIGH_M = 0.04
"""What is let go of this far above where it was taken falls."""
_APART_M = 0.05
_FIRM_S, _NEAR_S = 0.5, 0.4


class Ending(NamedTuple):
    """Success or failure and its mode; nothing where signals do not tell."""

    outcome: Literal["success", "failure"] | None
    failure_mode: str | None = None


def ending(
    recording: Recording,
    events: Sequence[PhysicalEvent],
    labels: Sequence[str],
    order: Sequence[str],
) -> Ending:
    """How it ended, from the phases that were run through and those that a success has.

    An object beside its mark is for people to see: no signal knows where the mark is.
    """
    if any(event.name == "base_falls" for event in events):
        return Ending("failure", "fall")
    if not order:
        return Ending(None)
    if any(event.name == "hand_bumps" for event in events):
        return Ending("failure", "collision")
    if "grasp" in order:
        mode = _mode(recording, events, labels, order)
        if mode is not None:
            return Ending("failure", mode)
    return Ending("success") if list(labels) == list(order) else Ending(None)


def _mode(
    recording: Recording,
    events: Sequence[PhysicalEvent],
    labels: Sequence[str],
    order: Sequence[str],
) -> str | None:
    holds = holds_in(events)
    if not holds:
        return "missed_grasp"
    for hold in holds:
        if not _alone(hold, holds) or not _is_high(recording, hold, holds[0]):
            continue
        return "drop" if _opens(events, hold) else "slip"
    firm = sum(hold.end_ns - hold.begin_ns for hold in holds) > _FIRM_S * SECOND_NS
    if "transport" in order and "transport" not in labels:
        return "slip" if firm else "missed_grasp"
    if "exchange" in order and "exchange" not in labels:
        return "missed_grasp"
    if {hold.side for hold in holds} != {"left", "right"} and _needs_both(events, order):
        return "missed_grasp"
    return None


def _alone(hold: Hold, holds: Sequence[Hold]) -> bool:
    """Whether no hand has the object once this one has let go, and none takes it up at once."""
    soon = hold.end_ns + _NEAR_S * SECOND_NS
    return hold.end is not None and not any(
        other.end_ns > hold.end_ns and other.begin_ns < soon for other in holds
    )


def _needs_both(events: Sequence[PhysicalEvent], order: Sequence[str]) -> bool:
    """Both grippers were told to close together: a thing for two hands."""
    closes = {
        side: [event.time_ns for event in events
               if event.name == "gripper_closes" and event.side == side]
        for side in ("left", "right")
    }  # fmt: skip
    return "exchange" not in order and any(
        abs(left - right) < _NEAR_S * SECOND_NS
        for left in closes["left"]
        for right in closes["right"]
    )


def _opens(events: Sequence[PhysicalEvent], hold: Hold) -> bool:
    near = _NEAR_S * SECOND_NS
    return any(
        event.name == "gripper_opens"
        and event.side == hold.side
        and -near < hold.end_ns - event.time_ns < near
        for event in events
    )


def _is_high(recording: Recording, hold: Hold, first: Hold) -> bool:
    """Whether the object, else the hand, is well above where it was first taken when let go of."""
    thing = track(recording, roles.OBJECT_POSE)
    if thing is not None and thing.values.shape[1] >= 3:
        taken, left, high_m = thing, thing, _HIGH_M
    else:
        hands = hand_tracks(recording)
        if first.side not in hands or hold.side not in hands:
            return False
        taken, left = hands[first.side], hands[hold.side]
        # Two hands have the object at two places.
        high_m = _HIGH_M if first.side == hold.side else _HIGH_M + _APART_M
    before = np.interp(first.begin_ns / SECOND_NS, taken.seconds, taken.values[:, 2])
    after = np.interp(hold.end_ns / SECOND_NS, left.seconds, left.values[:, 2])
    return float(after - before) > high_m
