"""How far a robot's limbs point away from the person's: a measure that knows no scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.retarget.robot_motion import RobotMotion
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, matrix_from_quaternion, normalise
from corporeal.retargeting.motion import SIDES, HumanMotion

# Segments by their ends; a hand stands for the wrist where a robot has none.
SEGMENTS = {
    "upper arm": ("shoulder", "elbow"),
    "forearm": ("elbow", "wrist"),
    "thigh": ("hip", "knee"),
    "shank": ("knee", "ankle"),
}
# The links of a G1 whose origins are these joints.
PLACES = {
    "shoulder": "shoulder_roll_link",
    "elbow": "elbow_link",
    "wrist": "wrist_pitch_link",
    "hip": "hip_roll_link",
    "knee": "knee_link",
    "ankle": "ankle_pitch_link",
}


def limb_angles(human: HumanMotion, motion: RobotMotion) -> dict[str, float]:
    """Mean angle in degrees by segment, both seen from the pelvis's heading.

    Whoever turns the whole motion about the vertical is not blamed: one heading, the median, is
    taken out. The human's frames are those of the same times.
    """
    nearest = np.rint(np.arange(len(motion.q)) / motion.rate_hz * human.rate_hz).astype(np.int64)
    nearest = np.minimum(nearest, len(human) - 1)
    places = {f"{side}_{part}": f"{side}_{link}" for side in SIDES for part, link in PLACES.items()}
    robot = Kinematics(motion.robot).place_poses(places, motion.q, motion.base)
    rotation = _rotation_between(human, nearest, motion)
    angles: dict[str, float] = {}
    for segment, (near, far) in SEGMENTS.items():
        found = []
        for side in SIDES:
            ours = robot.position(f"{side}_{far}") - robot.position(f"{side}_{near}")
            theirs = human.point(f"{side}_{far}")[nearest] - human.point(f"{side}_{near}")[nearest]
            dots = np.sum(normalise(ours) * normalise(theirs @ rotation.T), axis=1)
            found.append(np.degrees(np.arccos(np.clip(dots, -1.0, 1.0))))
        angles[segment] = float(np.nanmean(found))
    return angles


def _rotation_between(human: HumanMotion, nearest: NDArray[np.int64], motion: RobotMotion) -> Array:
    """The rotation about the vertical (3, 3) from the human's world to the robot's."""
    left = (human.point("left_hip") - human.point("right_hip"))[nearest]
    theirs = np.arctan2(-left[:, 0], left[:, 1])
    forward = matrix_from_quaternion(motion.base[:, 3:])[:, :, 0]
    ours = np.arctan2(forward[:, 1], forward[:, 0])
    between = np.exp(1j * (ours - theirs))
    angle = float(np.angle(np.nanmedian(between.real) + 1j * np.nanmedian(between.imag)))
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
