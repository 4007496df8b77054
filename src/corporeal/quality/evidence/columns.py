"""What the numbers in a column are: how many make a radian, its smallest step, where it wraps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corporeal.embodiment.joints import is_hand
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array

TURN = 2 * np.pi
DEGREES = 180.0 / np.pi
# Servos count a turn in so many steps.
TICKS = 4096
# No joint of a robot goes farther than two turns, rad: what does is in another unit.
FARTHEST = 2 * TURN
# Whole numbers beyond this are no degrees but steps of a servo.
MOST_DEGREES = 720.0
# If this share of the columns that should be radians goes so far, all of them are in that unit.
SHARE_FAR = 0.3
# A step from one end to the other that misses a turn by less than this share of it is a wrap.
NEAR_TURN = 0.1
# Levels of a switch, and the share of samples that are at one of its two ends.
MOST_LEVELS, AT_ENDS, END = 6, 0.9, 0.02
# Fewer steps than this do not tell how large the smallest is.
FEWEST_STEPS = 20
STATED = {"rad": 1.0, "rad/s": 1.0, "deg": DEGREES, "deg/s": DEGREES}


@dataclass(frozen=True, eq=False)
class Columns:
    """One stream with its holes bridged and its wraps undone, (T, D), and what a number is there.

    `radian` (D,) is how many make a radian: 1, or 57.3 where the numbers can only be degrees. Of a
    column that is no angle it says what is as much as a radian is of a joint.
    """

    values: Array
    radian: Array
    switches: Flags
    """Columns (D,) that are open or shut, and hardly anything between."""

    @cached_property
    def tick(self) -> Array:
        """The smallest step (D,), below which nothing can be read; it takes sorting all of them."""
        return ticks_of(self.values)


@once_per_subject
def columns_of(subject: Subject, label: str) -> Columns:
    """The columns of one stream, looked at once."""
    track = subject.tracks[label]
    values = np.asarray(bridge_gaps(track.values))
    robot = subject.recording.embodiment
    hands = np.array([is_hand(name, robot) for name in track.names], bool)
    radian = np.array([STATED.get(unit, 1.0) for unit in track.units])
    if track.spec.name in (*roles.MEASURED, *roles.COMMANDED):
        radian = radians_in(values, track.units, hands)
    elif track.spec.name == roles.JOINT_VELOCITY and set(track.units) == {"1"}:
        # A velocity without a unit has that of the positions.
        position = subject.find_track(roles.JOINT_POSITION)
        if position is not None and position.names == track.names:
            radian = columns_of(subject, position.label).radian
    unwrapped = unwrap(values, radian)
    return Columns(unwrapped, radian, switches_in(values))


def radians_in(values: Array, units: tuple[str, ...], hands: Flags) -> Array:
    """How many of its numbers make a radian, for every column (T, D).

    A stated unit holds, unless the numbers go farther than any joint does.
    """
    size = np.abs(values).max(axis=0, initial=0.0)
    doubtful = np.array([unit in ("1", "rad") for unit in units], bool)
    far = (size > FARTHEST) & doubtful
    arms = doubtful & ~hands
    if arms.any() and far[arms].mean() >= SHARE_FAR:
        far |= doubtful
    whole = bool((values[:, far] == np.round(values[:, far])).all())
    counts = far & (size > MOST_DEGREES) & whole
    if counts.any():
        counts = far
    radian = np.array([STATED.get(unit, 1.0) for unit in units])
    radian[far] = DEGREES
    radian[counts] = TICKS / TURN
    return np.asarray(radian)


def unwrap(values: Array, radian: Array) -> Array:
    """The values (T, D) without their steps from one end of the turn to the other."""
    if len(values) < 2:
        return values
    turn = TURN * radian
    change = np.diff(values, axis=0)
    near = np.abs(np.abs(change) - turn) < NEAR_TURN * turn
    # Only a column that fills the turn comes to its ends.
    near &= np.ptp(values, axis=0) < (1 + NEAR_TURN) * turn
    if not near.any():
        return values
    back = np.where(near, -np.sign(change) * turn, 0.0)
    return np.asarray(values + np.concatenate((np.zeros_like(values[:1]), np.cumsum(back, axis=0))))


def ticks_of(values: Array) -> Array:
    """The smallest step (D,) of every column; of one that is not stepped, hardly anything."""
    steps = np.abs(np.diff(values, axis=0))
    if not len(steps):
        return np.zeros(values.shape[1])
    ordered = np.sort(steps, axis=0)
    still = (ordered <= 0).sum(axis=0)
    moves = len(steps) - still
    place = np.minimum(still + moves // 20, len(steps) - 1)
    tick = ordered[place, np.arange(values.shape[1])]
    return np.asarray(np.where(moves >= FEWEST_STEPS, tick, 0.0))


def switches_in(values: Array) -> Flags:
    """Columns that take a few values only, or are nearly always at one of their two ends."""
    some = values[:: max(1, len(values) // 400)]
    if not len(some):
        return np.zeros(values.shape[1], bool)
    levels = (np.diff(np.sort(some, axis=0), axis=0) > 0).sum(axis=0) + 1
    low, high = some.min(axis=0), some.max(axis=0)
    near = END * (high - low)
    ends = ((some <= low + near) | (some >= high - near)).mean(axis=0)
    both = np.minimum((some <= low + near).mean(axis=0), (some >= high - near).mean(axis=0))
    return np.asarray((levels <= MOST_LEVELS) | ((ends > AT_ENDS) & (both > 0.02)))
