"""Arms that begin to move and come to rest: from what the hands do and what they were told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from corporeal.episode.recording import Recording
from corporeal.labelling.event import (
    EventDetector,
    PhysicalEvent,
    arm_joints,
    at_ns,
    hand_tracks,
)
from corporeal.schema import roles
from corporeal.signal.runs import crossing_s, runs
from corporeal.signal.track import Array, Track

# How far a hand is from its joints, to make a hand's speed of a joint's where nobody can tell.
_LEVER_M = 0.35
_MOST_TAIL_S, _STILL_S = 0.08, 0.12


class _Speed(NamedTuple):
    """The speed of the faster hand in m/s, how far to trust it, and that of each hand."""

    time_s: Array
    faster: Array
    path: str
    sure: float
    sides: Mapping[str, Array]


def find(
    recording: Recording,
    *,
    on_purpose_m_s: float = 0.01,
    begin_m_s: float = 0.015,
    rest_m_s: float = 0.018,
    rest_share: float = 0.08,
    plain_m_s: float = 0.045,
    least_s: float = 0.08,
    pause_s: float = 0.95,
    smooth_s: float = 0.05,
) -> Iterator[PhysicalEvent]:
    """The first and last moment of each stretch in which a hand moves; pauses do not end one.

    Why: a demonstration begins with the first deliberate motion and ends when the arms rest. What
    was told goes on creeping after the hand has stopped, and a hand swings on after it was told to
    stop: it moves on purpose while both do.
    """
    moving = _hand_speed(recording, smooth_s)
    if moving is None:
        return
    time_s, speed, path, sure, sides = moving
    step_s = float(np.median(np.diff(time_s)))
    least = max(2, round(least_s / step_s))
    for first, stop in runs(speed > plain_m_s, least=least, gap=round(pause_s / step_s)):
        begin = _before(speed, first, begin_m_s)
        peak = float(speed[max(first, stop - round(1.0 / step_s)) : stop].max())
        level = max(rest_m_s, rest_share * peak)
        end = _after(speed, stop, first, level)
        for name, place, edge in (("motion_begins", begin, begin_m_s), ("motion_ends", end, level)):
            if 0 < place < len(speed):
                when = crossing_s(time_s, speed, place, edge)
                after = name == "motion_ends"
                clear = _clear(time_s, speed, when, edge, after=after)
                # Smoothing makes a beginning as much too early as its limit makes it too late.
                when += _tail_s(moving, when, edge, on_purpose_m_s) if after else 0.0
                yield PhysicalEvent(
                    at_ns(when), name, "", path, sure * clear, at_ns(step_s / clear**2),
                    {"peak_m_s": peak, "way_m": _ways(sides, first, stop, step_s)},
                )  # fmt: skip


def _tail_s(moving: _Speed, when: float, edge: float, level: float) -> float:
    """How long a motion goes on below the limit, at the slope that it has there.

    A limit low enough for the slowest motion would lie within the tremor of another; a hand that
    does not come to rest at all has no tail.
    """
    ahead = np.interp((when + 0.02, when + _STILL_S), moving.time_s, moving.faster)
    slope = (edge - float(ahead[0])) / 0.02
    if edge <= level or slope <= 0.0 or float(ahead[1]) > level:
        return 0.0
    return min((edge - level) / slope, _MOST_TAIL_S)


def _ways(sides: Mapping[str, Array], first: int, stop: int, step_s: float) -> dict[str, float]:
    """How far each hand goes in a stretch."""
    return {side: float(speed[first:stop].sum() * step_s) for side, speed in sides.items()}


def _hand_speed(recording: Recording, smooth_s: float) -> _Speed | None:
    done = hand_tracks(recording, roles.JOINT_POSITION, in_world=False)
    told = hand_tracks(recording, roles.JOINT_POSITION_TARGET, in_world=False)
    known = done or told
    if not known:
        joints = arm_joints(recording)
        if joints is None:
            return None
        return _Speed(joints.seconds, _LEVER_M * joints.speed(smooth_s), joints.label, 0.7, {})
    any_hand = next(iter(known.values()))
    sides = {
        side: _slower(hand, told.get(side) if done else None, smooth_s)
        for side, hand in known.items()
    }
    faster: Array = np.max(list(sides.values()), axis=0)
    return _Speed(any_hand.seconds, faster, any_hand.label, 1.0 if done and told else 0.85, sides)


def _slower(hand: Track, told: Track | None, smooth_s: float) -> Array:
    speed = hand.speed(smooth_s)
    if told is None:
        return speed
    asked = np.interp(hand.seconds, told.seconds, told.speed(smooth_s))
    slower: Array = np.minimum(speed, asked)
    return slower


def _before(speed: Array, first: int, level: float) -> int:
    """Back from where motion is plain to where it began."""
    below = np.flatnonzero(speed[:first] <= level)
    return int(below[-1]) + 1 if len(below) else 0


def _after(speed: Array, stop: int, first: int, level: float) -> int:
    """From where motion is no longer plain to where it ended, on this side or that."""
    if speed[stop - 1] <= level:
        above = np.flatnonzero(speed[first:stop] > level)
        return first + int(above[-1]) + 1 if len(above) else stop
    below = np.flatnonzero(speed[stop:] <= level)
    return stop + int(below[0]) if len(below) else len(speed)


def _clear(time_s: Array, speed: Array, when: float, level: float, *, after: bool) -> float:
    """How plain the change is, 0.3 to 1: still on the one side, moving soon on the other."""
    still = slice(*np.searchsorted(time_s, (when, when + 0.5) if after else (when - 0.5, when)))
    fast = slice(*np.searchsorted(time_s, (when - 0.2, when) if after else (when, when + 0.2)))
    if still.stop - still.start < 2 or fast.stop - fast.start < 2:
        return 0.5
    quiet = float(np.median(speed[still])) / level
    loud = float(speed[fast].max()) / level
    return float(np.clip(1.1 - 0.7 * quiet, 0.3, 1.0) * np.clip(loud / 3.0, 0.5, 1.0))


DETECTOR = EventDetector(find, names=("motion_begins", "motion_ends"))
