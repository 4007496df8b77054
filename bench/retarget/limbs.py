"""How far a robot's limbs point away from the person's, whoever turned the whole motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bench.retarget.robot_motion import RobotMotion
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.retargeting.goal.goals import limbs_of
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.measure.limbs import limb_angles
from corporeal.retargeting.motion import HumanMotion
from corporeal.retargeting.result import LIMBS


def limbs_off(human: HumanMotion, motion: RobotMotion) -> dict[str, float]:
    """Mean angle in degrees by limb, both seen from the pelvis's heading.

    Whoever turns the whole motion about the vertical is not blamed: one heading, the median, is
    taken out. The human's frames are those of the same times.
    """
    nearest = np.rint(np.arange(len(motion.q)) / motion.rate_hz * human.rate_hz).astype(np.int64)
    nearest = np.minimum(nearest, len(human) - 1)
    mapped = robot_map(motion.robot)
    rotation = _rotation_between(human, nearest, motion)
    limbs = {
        name: replace(
            limb,
            direction=limb.direction[nearest] @ rotation.T,
            confidence=limb.confidence[nearest],
        )
        for name, limb in limbs_of(human, mapped).items()
    }
    poses = mapped.kinematics.transforms(motion.q, motion.base)
    angles = np.degrees(np.nanmean(limb_angles(motion.robot, poses, limbs), axis=0))
    return dict(zip(LIMBS, angles.tolist(), strict=True))


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
