"""Leader arms and exoskeletons: their joints as those of the robot, offsets found and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import UnknownNameError
from corporeal.geometry import Array
from corporeal.teleoperation.operator_input import SIDES, InputError, Side

# Among the names of a leader's joints: how far its grippers, or triggers, are open.
GRIPPERS: Final[Mapping[str, Side]] = {f"{side}_gripper": side for side in SIDES}
# Leader arms are put together in steps of a quarter turn.
QUARTER_RAD = np.pi / 2
# Farther from the robot than this after the offsets are taken out, a leader is not aligned, rad.
ALIGNED_RAD = 0.35
# Speeds are smoothed by so much; after so long without a sample there are none, s.
_SMOOTH_S, _LOST_S = 0.01, 0.1


@dataclass
class LeaderArm:
    """One stream of leader joints; `columns` (k,) are which commanded joints it leads.

    `offsets` (k,) and `signs` (k,) make its angles the robot's: sign * angle + offset. It leads
    once it was aligned. A sample has `width` numbers, of which the columns `chosen` (k,) lead and
    those of `grips` say how far the hands are open, up to `wide_open`; `openings` are 0 to 1.
    """

    columns: NDArray[np.int64]
    signs: Array
    offsets: Array
    width: int
    chosen: NDArray[np.int64]
    grips: Mapping[Side, int] = field(default_factory=dict)
    wide_open: float = 1.0
    is_ready: bool = False
    angles: Array = field(default_factory=lambda: np.zeros(0))
    rates: Array = field(default_factory=lambda: np.zeros(0))
    openings: dict[Side, float] = field(default_factory=dict)
    received_ns: int = 0

    def update(self, sample: Array, received_ns: int) -> None:
        """Take a sample; one of another length, or whose joints are not finite, is left out."""
        if len(sample) != self.width or not np.isfinite(sample[self.chosen]).all():
            return
        joints = sample[self.chosen].astype(np.float64)
        seconds = (received_ns - self.received_ns) / 1e9
        if self.angles.shape != joints.shape or not 0 < seconds < _LOST_S:
            self.rates = np.zeros(len(joints))
        else:
            share = seconds / (seconds + _SMOOTH_S)
            self.rates = self.rates + share * ((joints - self.angles) / seconds - self.rates)
        self.angles, self.received_ns = joints, received_ns
        for side, column in self.grips.items():
            if np.isfinite(sample[column]):
                opening = float(sample[column]) / self.wide_open
                self.openings[side] = float(np.clip(opening, 0.0, 1.0))

    def align(self, robot: Array) -> None:
        """Find the offsets while person and robot (n,) hold the same pose; raises InputError."""
        if self.angles.shape != self.columns.shape:
            raise InputError("leader arm, got no sample yet. Switch it on and align again.")
        turned = self.signs * self.angles
        self.offsets = QUARTER_RAD * np.round((robot[self.columns] - turned) / QUARTER_RAD)
        off = np.abs(turned + self.offsets - robot[self.columns])
        if (off > ALIGNED_RAD).any():
            worst = int(np.argmax(off))
            raise InputError(
                f"leader arm, got joint {worst + 1} at {np.degrees(off[worst]):.0f} degrees from "
                f"the robot's; expected {np.degrees(ALIGNED_RAD):.0f} at most. Hold it as the "
                "robot stands and align again."
            )
        self.is_ready = True

    def lead(self, asked: Array, rates: Array) -> None:
        """Write what it wants, and how fast that moves, into what is asked of the joints (n,)."""
        asked[self.columns] = self.signs * self.angles + self.offsets
        rates[self.columns] = self.signs * self.rates


def leader_of(
    names: Sequence[str], commanded: Sequence[str], *, reversed_joints: Sequence[str] = ()
) -> LeaderArm:
    """A leader whose joints have the names of the robot's; raises UnknownNameError for another.

    `left_gripper` and `right_gripper` among them are 0 shut to 1 open.
    """
    for name in names:
        if name not in commanded and name not in GRIPPERS:
            raise UnknownNameError("joint of the leader arm", name, [*commanded, *GRIPPERS])
    return _leader(names, commanded, reversed_joints)


def motion_leader(
    names: Sequence[str], commanded: Sequence[str], *, opening_m: float = 0.0
) -> LeaderArm:
    """A leader that is a motion of the robot itself: of its joints those that are commanded lead.

    Its angles are the robot's, so there is nothing to align; raises UnknownNameError for none.
    Its grippers are in metres, of which `opening_m` is wide open; 0: the robot has none.
    """
    if not set(names) & set(commanded):
        raise UnknownNameError("joint of the motion", names[0] if names else "", commanded)
    leader = _leader(names, commanded, ())
    leader.is_ready, leader.angles = True, np.full(len(leader.columns), np.nan)
    if opening_m > 0:
        leader.wide_open = opening_m
    else:
        leader.grips = {}
    return leader


def _leader(
    names: Sequence[str], commanded: Sequence[str], reversed_joints: Sequence[str]
) -> LeaderArm:
    chosen = [number for number, name in enumerate(names) if name in commanded]
    columns = [list(commanded).index(names[number]) for number in chosen]
    signs = [-1.0 if names[number] in reversed_joints else 1.0 for number in chosen]
    return LeaderArm(
        np.array(columns, np.int64),
        np.array(signs),
        np.zeros(len(chosen)),
        len(names),
        np.array(chosen, np.int64),
        {GRIPPERS[name]: number for number, name in enumerate(names) if name in GRIPPERS},
    )
