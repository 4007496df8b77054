"""Leader arms and exoskeletons: their joints as those of the robot, offsets found and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import UnknownNameError
from corporeal.geometry import Array
from corporeal.teleoperation.operator_input import InputError

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
    once it was aligned. `chosen` (k,) are the columns of its samples that lead; None: all.
    """

    columns: NDArray[np.int64]
    signs: Array
    offsets: Array
    is_ready: bool = False
    angles: Array = field(default_factory=lambda: np.zeros(0))
    rates: Array = field(default_factory=lambda: np.zeros(0))
    received_ns: int = 0
    chosen: NDArray[np.int64] | None = None

    def update(self, joints: Array, received_ns: int) -> None:
        """Take a sample; one of another length, or that is not finite, is left out."""
        if self.chosen is not None:
            joints = joints[self.chosen] if len(joints) > self.chosen.max() else joints[:0]
        if joints.shape != self.columns.shape or not np.isfinite(joints).all():
            return
        seconds = (received_ns - self.received_ns) / 1e9
        if self.angles.shape != joints.shape or not 0 < seconds < _LOST_S:
            self.rates = np.zeros(len(joints))
        else:
            share = seconds / (seconds + _SMOOTH_S)
            self.rates = self.rates + share * ((joints - self.angles) / seconds - self.rates)
        self.angles, self.received_ns = joints.astype(np.float64), received_ns

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
    """A leader whose joints have the names of the robot's; raises UnknownNameError for another."""
    for name in names:
        if name not in commanded:
            raise UnknownNameError("joint of the leader arm", name, commanded)
    columns = np.array([list(commanded).index(name) for name in names], np.int64)
    signs = np.array([-1.0 if name in reversed_joints else 1.0 for name in names])
    return LeaderArm(columns, signs, np.zeros(len(names)))


def motion_leader(names: Sequence[str], commanded: Sequence[str]) -> LeaderArm:
    """A leader that is a motion of the robot itself: of its joints those that are commanded lead.

    Its angles are the robot's, so there is nothing to align; raises UnknownNameError for none.
    """
    chosen = [number for number, name in enumerate(names) if name in commanded]
    if not chosen:
        raise UnknownNameError("joint of the motion", names[0] if names else "", commanded)
    leader = leader_of([names[number] for number in chosen], commanded)
    leader.chosen, leader.is_ready = np.array(chosen, np.int64), True
    leader.angles = np.full(len(chosen), np.nan)
    return leader
