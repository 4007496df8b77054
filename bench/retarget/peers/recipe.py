"""The recipe that GMR published for the G1: which part follows which, how scaled, how weighted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, normalise
from corporeal.retargeting.motion import SIDES, HumanMotion

# The table is made for this height and multiplied by the person's over it, so that a small person
# becomes a very small robot. Everyone is taken as the usual person of its body model instead.
TABLE_HEIGHT_M, USUAL_HEIGHT_M = 1.8, 1.66
LOWER_SCALE, UPPER_SCALE = 0.9, 0.8
# Hip to ankle over the whole height (Drillis and Contini).
LEG_OVER_HEIGHT = 0.491
# The recipe's root is the pelvis of SMPL, which is so much of the height above the hips.
PELVIS_OVER_HIPS = 0.053
Costs = tuple[tuple[float, float], tuple[float, float]]
# Costs of position and rotation in the first and the second stage.
_PELVIS = ((100.0, 10.0), (100.0, 5.0))
_FOOT = ((100.0, 10.0), (100.0, 50.0))
_TORSO = ((0.0, 10.0), (0.0, 10.0))
_LIMB = ((0.0, 10.0), (10.0, 5.0))


@dataclass(frozen=True, eq=False)
class Target:
    """A place of the robot (a body or a site), where it is to be, and what missing it costs."""

    name: str
    kind: str
    positions: Array
    rotations: Array
    costs: Costs


def targets(human: HumanMotion, robot: Embodiment) -> dict[str, Target]:
    """What each part of the G1 is to follow, by the name of the part of the person."""
    height = height_m(human)
    usual = USUAL_HEIGHT_M / TABLE_HEIGHT_M * USUAL_HEIGHT_M / height
    lower, upper = LOWER_SCALE * usual, UPPER_SCALE * usual
    rotations = _rotations(human)
    pelvis = human.point("pelvis") + PELVIS_OVER_HIPS * height * rotations["pelvis"][..., 2]
    rest = Kinematics(robot).link_poses(np.zeros((1, len(robot.joint_names))))

    def scaled(point: Array, scale: float) -> Array:
        moved: Array = lower * pelvis + scale * (point - pelvis)
        return moved

    def body(part: str, link: str, point: Array, scale: float, costs: Costs) -> Target:
        rotation = rotations[part] @ rest.rotation(link)[0]
        return Target(link, "body", scaled(point, scale), rotation, costs)

    found = {
        "pelvis": body("pelvis", "pelvis", pelvis, lower, _PELVIS),
        "chest": body("chest", "torso_link", human.point("neck"), lower, _TORSO),
    }
    hand_link = "wrist_yaw_link" if f"{SIDES[0]}_wrist_yaw_link" in rest.names else None
    for side in SIDES:
        for part, link, scale in (
            ("hip", "hip_roll_link", lower),
            ("knee", "knee_link", lower),
            ("shoulder", "shoulder_yaw_link", upper),
            ("elbow", "elbow_link", upper),
            ("wrist", hand_link or "wrist_roll_rubber_hand", upper),
        ):
            name = f"{side}_{part}"
            found[name] = body(name, f"{side}_{link}", human.point(name), scale, _LIMB)
        name = f"{side}_foot"
        place = scaled(sole(human, side), lower)
        found[name] = Target(robot.feet[side], "site", place, rotations[name], _FOOT)
    return found


def height_m(human: HumanMotion) -> float:
    """The person's height, from the length of the legs."""
    legs = [
        np.nanmedian(_length(human, f"{side}_hip", f"{side}_knee"))
        + np.nanmedian(_length(human, f"{side}_knee", f"{side}_ankle"))
        for side in SIDES
    ]
    return float(np.mean(legs) / LEG_OVER_HEIGHT)


def sole(human: HumanMotion, side: str) -> Array:
    """The middle of the sole (T, 3); below the ankle where heel and toe are not known."""
    if human.has(f"{side}_heel") and human.has(f"{side}_toe"):
        middle: Array = (human.point(f"{side}_heel") + human.point(f"{side}_toe")) / 2
        return middle
    ankle = human.point(f"{side}_ankle").copy()
    ankle[:, 2] -= np.nanmin(ankle[:, 2])
    return ankle


def _length(human: HumanMotion, one: str, other: str) -> Array:
    distance: Array = np.linalg.norm(human.point(one) - human.point(other), axis=1)
    return distance


def _rotations(human: HumanMotion) -> dict[str, Array]:
    """Rotations of the segments, x forward and z up when the person stands, palms inwards."""
    left = human.point("left_hip") - human.point("right_hip")
    across = human.point("left_shoulder") - human.point("right_shoulder")
    up = human.point("neck") - human.point("pelvis")
    rotations = {"pelvis": _upright(up, left), "chest": _upright(up, across)}
    rotations |= {
        name: human.rotations[name] for name in ("pelvis", "chest") if name in human.rotations
    }
    for side in SIDES:
        hip, knee, ankle, shoulder, elbow, wrist = (
            human.point(f"{side}_{part}")
            for part in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")
        )
        foot = _foot(human, side, rotations["pelvis"])
        rotations[f"{side}_foot"] = foot
        rotations[f"{side}_hip"] = _standing(hip - knee, foot[..., 0])
        rotations[f"{side}_knee"] = _standing(knee - ankle, foot[..., 0])
        forearm, upper_arm = normalise(wrist - elbow), normalise(shoulder - elbow)
        # A straight arm has no hinge of its own: a little of the chest's axis decides then.
        hinge = normalise(np.cross(upper_arm, forearm) + 0.2 * rotations["chest"][..., 1])
        rotations[f"{side}_shoulder"] = _upright(upper_arm, hinge)
        rotations[f"{side}_elbow"] = _reaching(forearm, hinge)
        rotations[f"{side}_wrist"] = _hand(human, side, rotations[f"{side}_elbow"])
    return rotations


def _foot(human: HumanMotion, side: str, pelvis: Array) -> Array:
    if f"{side}_foot" in human.rotations:
        return human.rotations[f"{side}_foot"]
    forward = pelvis[..., 0]
    if human.has(f"{side}_heel") and human.has(f"{side}_toe"):
        forward = human.point(f"{side}_toe") - human.point(f"{side}_heel")
    return _reaching(forward, np.cross((0.0, 0.0, 1.0), forward))


def _hand(human: HumanMotion, side: str, forearm: Array) -> Array:
    if f"{side}_hand" not in human.rotations:
        return forearm
    fingers, back = human.rotations[f"{side}_hand"][..., 0], human.rotations[f"{side}_hand"][..., 2]
    return _reaching(fingers, back if side == "left" else -back)


def _upright(up: Array, left: Array) -> Array:
    """Axes with z along `up` and y as near `left` as that allows."""
    z = normalise(up)
    x = normalise(np.cross(left, z))
    return np.stack([x, np.cross(z, x), z], axis=-1)


def _standing(up: Array, forward: Array) -> Array:
    """Axes with z along `up` and x as near `forward` as that allows."""
    return _upright(up, np.cross(up, forward))


def _reaching(forward: Array, left: Array) -> Array:
    """Axes with x along `forward` and y as near `left` as that allows."""
    x = normalise(forward)
    z = normalise(np.cross(x, left))
    return np.stack([x, np.cross(z, x), z], axis=-1)
