"""The size of a person, from how far apart the joints are over a whole clip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.motion import SIDES, HumanMotion, MotionError

# Knuckles beyond the wrist where a clip does not say: the usual share of the forearm.
HAND_SHARE = 0.35
# From the centre of a hip to the middle of a hand that touches the thigh: the share of the leg.
_THIGH_AND_HAND = 0.128
_SEGMENTS = {
    "thigh": ("hip", "knee"),
    "shank": ("knee", "ankle"),
    "upper_arm": ("shoulder", "elbow"),
    "lower_arm": ("elbow", "wrist"),
}
_LEAST_M, _MOST_M = 0.05, 1.0


@dataclass(frozen=True)
class Body:
    """Lengths of one person in m: thigh, shank, upper_arm, forearm (to the knuckles), trunk ...

    The names are those of `RobotMap.lengths`, so that one divided by the other is a scale.
    """

    lengths: Mapping[str, float]

    @property
    def leg(self) -> float:
        """Thigh and shank, m."""
        return self.lengths["thigh"] + self.lengths["shank"]

    @property
    def hand_room(self) -> float:
        """How far aside of the middle a hand hangs that touches the thigh, m."""
        return self.lengths["hip_width"] / 2 + _THIGH_AND_HAND * self.leg

    @property
    def arm(self) -> float:
        """Upper arm and forearm with the hand, m."""
        return self.lengths["upper_arm"] + self.lengths["forearm"]


def body_of(motion: HumanMotion) -> Body:
    """The person in a clip; raises MotionError where a limb is too short or long for one."""
    lengths = {}
    for name, (near, far) in _SEGMENTS.items():
        pairs = [(f"{side}_{near}", f"{side}_{far}") for side in SIDES]
        lengths[name] = float(np.mean([_length(motion, a, b) for a, b in pairs]))
    lower = lengths.pop("lower_arm")
    if all(motion.has(f"{side}_hand") for side in SIDES):
        hand = np.mean([_length(motion, f"{s}_wrist", f"{s}_hand") for s in SIDES])
        lengths["forearm"] = lower + float(hand)
    else:
        lengths["forearm"] = lower * (1 + HAND_SHARE)
    for name, part in (("hip_width", "hip"), ("shoulder_width", "shoulder")):
        lengths[name] = _length(motion, f"left_{part}", f"right_{part}")
    trunk = np.linalg.norm(middle(motion, "shoulder") - middle(motion, "hip"), axis=1)
    lengths["trunk"] = float(np.nanmedian(trunk))
    for name, length in lengths.items():
        if not _LEAST_M < length < _MOST_M:
            raise MotionError(
                f"{motion.origin.path}: the {name.replace('_', ' ')} is {length:.3g} m long; "
                f"expected {_LEAST_M} to {_MOST_M} m. Check --unit and --skeleton."
            )
    return Body(lengths)


def middle(motion: HumanMotion, part: str) -> Array:
    """The point (T, 3) between left and right."""
    return np.asarray((motion.point(f"left_{part}") + motion.point(f"right_{part}")) / 2)


def knuckles(motion: HumanMotion, side: str) -> Array:
    """The middle of the knuckles (T, 3), estimated beyond the wrist where it is not known."""
    wrist, elbow = motion.point(f"{side}_wrist"), motion.point(f"{side}_elbow")
    beyond: Array = wrist + HAND_SHARE * (wrist - elbow)
    if not motion.has(f"{side}_hand"):
        return beyond
    return np.where(motion.seen(f"{side}_hand")[:, None] > 0, motion.point(f"{side}_hand"), beyond)


def _length(motion: HumanMotion, first: str, second: str) -> float:
    """The median distance of two points over the frames in which both were seen."""
    seen = (motion.seen(first) > 0) & (motion.seen(second) > 0)
    if not seen.any():
        raise MotionError(
            f"{motion.origin.path}: {first} and {second} are never seen together. "
            "Map them with --skeleton."
        )
    apart = motion.point(first)[seen] - motion.point(second)[seen]
    return float(np.median(np.linalg.norm(apart, axis=1)))
