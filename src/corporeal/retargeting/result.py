"""What retargeting gives: the robot's motion, what it was to follow, and what it made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.geometry import Array
from corporeal.retargeting.motion import SIDES, HumanMotion

# The places whose distance from their targets is the result's error, in this order.
ENDS = ("left_hand", "right_hand", "left_foot", "right_foot")
FAR_M = 0.05
# Limbs whose direction is followed, by their ends; a hand stands for the wrist of a robot.
LIMBS: Mapping[str, tuple[str, str]] = {
    f"{side}_{name}": (f"{side}_{near}", f"{side}_{far}")
    for name, near, far in (
        ("upper_arm", "shoulder", "elbow"),
        ("forearm", "elbow", "hand"),
        ("thigh", "hip", "knee"),
        ("shank", "knee", "ankle"),
    )
    for side in SIDES
}
# Parts of a body that rest on the ground besides the feet.
SUPPORTS: tuple[str, ...] = (
    "pelvis", "chest", *(f"{side}_{part}" for side in SIDES for part in ("knee", "elbow", "hand"))
)  # fmt: skip
# Points of one part within this of its lowest touch the ground together with it, m; nothing does
# that is farther above it than the second.
LEVEL_M, CLEAR_M = 0.015, 0.03
# A goal counts as known from above this confidence on.
KNOWN = 0.5
FrameChoice = slice | NDArray[np.int64]
"""Which of a motion's frames: from one to another, or by their numbers."""


@dataclass(frozen=True, eq=False)
class Limb:
    """A limb of a robot, from one of its places to another, and the person's that it follows.

    `direction` (T, 3) is that of the person's limb, a unit vector; `confidence` (T,) how well it
    is known.
    """

    near: str
    far: str
    direction: Array
    confidence: Array

    def take(self, frames: FrameChoice) -> Limb:
        """Some of the frames."""
        return replace(self, direction=self.direction[frames], confidence=self.confidence[frames])


@dataclass(frozen=True, eq=False)
class Supports:
    """What of a robot rests on the ground besides its feet, in the order of SUPPORTS, n of them.

    Each is on one of `links` (n,), at `points` (n, 4, 3) in its axes, which are `radii` (n, 4)
    inside of it. `touches` (T, n) says when it rests there.
    """

    links: NDArray[np.int64]
    points: Array
    radii: Array
    touches: NDArray[np.bool_]

    def take(self, frames: FrameChoice) -> Supports:
        """Some of the frames."""
        return replace(self, touches=self.touches[frames])

    def located(self, poses: Array) -> Array:
        """The lowest points (T, n, 4, 3) around the points, from poses of links (L, 3, 4, T)."""
        own = poses[self.links]
        turned = np.einsum("fikt,fpk->tfpi", own[:, :, :3], self.points, optimize=True)
        at: Array = turned + own[:, :, 3].transpose(2, 0, 1)[:, :, None]
        at[..., 2] -= self.radii
        return at

    def touching(self, located: Array) -> NDArray[np.bool_]:
        """Which of the points touch (T, n, 4): the lowest of what rests, and those beside it."""
        height = located[..., 2]
        lowest = height.min(axis=2, keepdims=True)
        low: NDArray[np.bool_] = (height < lowest + LEVEL_M) & (lowest < CLEAR_M)
        return low & self.touches[:, :, None]


@dataclass(frozen=True, eq=False)
class Goals:
    """The person's motion brought to the robot's size: what the robot is to follow.

    `positions` are in the world, (T, 3) by name: the four ENDS, and pelvis, elbows, knees,
    shoulders where there are any. A hand is the robot's end effector, a foot its sole.
    `contacts` (T, 2, 2) says whether [left, right] x [heel, toe] stand on the ground, z = 0.
    `confidence` (T, 4) is that of the ENDS. `scales` are robot over human lengths.
    `limbs` are where each of the robot's limbs begins and ends, and where the person's points;
    `supports` what rests on the ground besides the feet, None for who never does.
    """

    positions: Mapping[str, Array]
    rotations: Mapping[str, Array]
    contacts: NDArray[np.bool_]
    confidence: Array
    scales: Mapping[str, float]
    limbs: Mapping[str, Limb] = field(default_factory=dict)
    supports: Supports | None = None

    def take(self, frames: FrameChoice) -> Goals:
        """Some of the frames."""
        return replace(
            self,
            positions={name: at[frames] for name, at in self.positions.items()},
            rotations={name: rotation[frames] for name, rotation in self.rotations.items()},
            contacts=self.contacts[frames],
            confidence=self.confidence[frames],
            limbs={name: limb.take(frames) for name, limb in self.limbs.items()},
            supports=None if self.supports is None else self.supports.take(frames),
        )

    def part(self, first: int, stop: int) -> Goals:
        """The frames from `first` up to, not including, `stop`."""
        return self.take(slice(first, stop))


@dataclass(frozen=True, eq=False)
class Retargeted:
    """T frames of a robot: `q` (T, J) and `base` (T, 7), x y z qw qx qy qz, ground at z = 0.

    `error_m` (T, 4) is the distance of the ENDS from their goals. `infeasible` (T,) marks frames
    in which a known goal is over FAR_M away. `human` is the person as the robot follows it: moved
    and turned as the robot's ground is, in the person's own size. `converged` is False when the
    last solve gave up before its end, or the one before it did and left goals out of reach;
    `notes` say what a reader of the result must know.
    """

    robot: Embodiment
    rate_hz: float
    q: Array
    base: Array
    human: HumanMotion
    goals: Goals
    error_m: Array
    infeasible: NDArray[np.bool_]
    converged: bool
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.q)

    def part(self, first: int, stop: int) -> Retargeted:
        """The frames from `first` up to, not including, `stop`."""
        return replace(
            self,
            q=self.q[first:stop],
            base=self.base[first:stop],
            human=self.human.part(first, stop),
            goals=self.goals.part(first, stop),
            error_m=self.error_m[first:stop],
            infeasible=self.infeasible[first:stop],
        )
