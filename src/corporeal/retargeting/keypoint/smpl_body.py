"""An average body with the joints of SMPL, from proportions alone: no model file is needed."""

from __future__ import annotations

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.motion import POINTS, SIDES

JOINTS = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2",
    "left_ankle", "right_ankle", "spine3", "left_foot", "right_foot", "neck", "left_collar",
    "right_collar", "head", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow",
    "left_wrist", "right_wrist",
)  # fmt: skip
PARENTS = (-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19)
STATURE_M = 1.72
# The first shape number is mostly stature: this part of it, per unit.
_STATURE_PER_BETA = 0.06
_MOST = 0.25

# A body in T-pose seen from its pelvis, in metres: x to its left, y up, z forward. Rounded to half
# a centimetre and the same on both sides, as good as an estimate of a stranger's body can be.
_TRUNK = {
    "pelvis": (0.0, 0.0, 0.0), "spine1": (0.0, 0.11, -0.025), "spine2": (0.0, 0.245, -0.025),
    "spine3": (0.0, 0.295, 0.0), "neck": (0.0, 0.51, -0.045), "head": (0.0, 0.575, 0.01),
}  # fmt: skip
_LEFT = {
    "hip": (0.07, -0.09, -0.005), "knee": (0.105, -0.47, -0.01), "ankle": (0.09, -0.87, -0.055),
    "foot": (0.115, -0.925, 0.065), "collar": (0.08, 0.415, -0.035),
    "shoulder": (0.175, 0.45, -0.045), "elbow": (0.43, 0.435, -0.07),
    "wrist": (0.68, 0.445, -0.075),
}  # fmt: skip
# Points that are no joints, and the joint that carries each.
_LEFT_ENDS = {
    "heel": ("ankle", (0.085, -0.965, -0.11)),
    "toe": ("foot", (0.12, -0.965, 0.145)),
    "hand": ("wrist", (0.765, 0.435, -0.08)),
}
_HEAD_CENTRE = (0.0, 0.66, 0.03)
# Where the model has its pelvis, which its translation is counted from.
PELVIS_M = np.array([0.0, -0.22, 0.03])
_JOINT_OF_POINT = {"spine": "spine1", "chest": "spine3"}


def _mirrored(place: tuple[float, float, float], side: str) -> Array:
    return np.array(place) * (1.0 if side == "left" else -1.0, 1.0, 1.0)


def rest_joints() -> Array:
    """The joints (22, 3) of the average body in T-pose, from the pelvis."""
    places = []
    for name in JOINTS:
        side, _, part = name.partition("_")
        places.append(_mirrored(_LEFT[part], side) if side in SIDES else np.array(_TRUNK[name]))
    return np.stack(places)


def scale_of(betas: Array) -> float:
    """How much larger than the average a body of these shape numbers is, an estimate."""
    first = float(betas.ravel()[0]) if betas.size else 0.0
    return 1.0 + float(np.clip(_STATURE_PER_BETA * first, -_MOST, _MOST))


def pose_body(rotations: Array, translation: Array, scale: float) -> tuple[Array, dict[str, Array]]:
    """Positions (T, P, 3) of POINTS and turns of SEGMENTS of a body in motion.

    `rotations` (T, 22, 3, 3) are those of the joints against their parents, the first of the
    pelvis in the world; `translation` (T, 3) is the model's.
    """
    rest = rest_joints() * scale
    world = np.empty_like(rotations)
    places = np.empty((*rotations.shape[:2], 3))
    for joint, parent in enumerate(PARENTS):
        if parent < 0:
            world[:, joint] = rotations[:, joint]
            places[:, joint] = translation + PELVIS_M * scale
        else:
            world[:, joint] = world[:, parent] @ rotations[:, joint]
            offset = rest[joint] - rest[parent]
            places[:, joint] = places[:, parent] + world[:, parent] @ offset
    points = np.stack([_point(name, places, world, rest, scale) for name in POINTS], axis=1)
    return points, _turns(world)


def _point(name: str, places: Array, world: Array, rest: Array, scale: float) -> Array:
    side, _, part = name.partition("_")
    if part in _LEFT_ENDS:
        carrier, place = _LEFT_ENDS[part]
        joint = JOINTS.index(f"{side}_{carrier}")
        offset = _mirrored(place, side) * scale - rest[joint]
    elif name == "head":
        joint = JOINTS.index("head")
        offset = np.array(_HEAD_CENTRE) * scale - rest[joint]
    else:
        return places[:, JOINTS.index(_JOINT_OF_POINT.get(name, name))]
    return np.asarray(places[:, joint] + world[:, joint] @ offset)


def _turns(world: Array) -> dict[str, Array]:
    """Rotations of the segments; in T-pose the palms face down."""
    upright = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    turns = {
        name: world[:, JOINTS.index(joint)] @ upright
        for name, joint in (("pelvis", "pelvis"), ("chest", "spine3"), ("head", "head"))
    }
    for side in SIDES:
        along = _mirrored(_LEFT_ENDS["toe"][1], side) - _mirrored(_LEFT_ENDS["heel"][1], side)
        foot = _axes(along, np.array([0.0, 1.0, 0.0]))
        hand = _axes(_mirrored((1.0, 0.0, 0.0), side), np.array([0.0, 1.0, 0.0]))
        turns[f"{side}_foot"] = world[:, JOINTS.index(f"{side}_ankle")] @ foot
        turns[f"{side}_hand"] = world[:, JOINTS.index(f"{side}_wrist")] @ hand
    return turns


def _axes(along: Array, up: Array) -> Array:
    x = along / np.linalg.norm(along)
    return np.stack([x, np.cross(up, x), up], axis=1)
