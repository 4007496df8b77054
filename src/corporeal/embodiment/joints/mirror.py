"""A robot's joints seen in a mirror: which joint of the other side moves, and which way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.description.body_words import SIDES, split_name
from corporeal.embodiment.embodiment import Embodiment
from corporeal.embodiment.joints.joint_map import outward_joints
from corporeal.geometry import Array, matrix_from_rpy

_OTHER = {"left": "right", "right": "left"}
_ALIKE = 0.8


@dataclass(frozen=True, eq=False)
class JointMirror:
    """Column j of a mirrored motion is `sign[j]` times column `partner[j]` of the motion."""

    partner: NDArray[np.int64]
    sign: Array

    def mirror(self, q: Array) -> Array:
        """Joint positions or velocities (T, J) of the mirrored motion."""
        return np.asarray(q[:, self.partner] * self.sign)


def find_mirror(robot: Embodiment) -> JointMirror | None:
    """The mirror at the middle plane of a robot with two feet; None where a joint has no partner.

    Robots without feet may have arms that face each other: nobody says where their middle is.
    A rotation about (x, y, z) is seen as one about (-x, y, -z), a slide along (x, y, z) as one
    along (x, -y, z). Partners must have axes that agree with that, up to their sign.
    """
    if len(robot.feet) < 2:
        return None
    axes = _axes_at_zero(robot)
    names = robot.joint_names
    sides = {name: _sided(name) for name in names}
    by_key = {key: name for name, key in sides.items()}
    kinds = {joint.name: joint.type for joint in robot.joints}
    partners: list[int] = []
    signs: list[float] = []
    for name in names:
        side, words = sides[name]
        partner = by_key.get((_OTHER.get(side, ""), words)) if side else name
        if partner is None:
            return None
        flip = (1.0, -1.0, 1.0) if kinds[name] == "prismatic" else (-1.0, 1.0, -1.0)
        agreement = float(np.dot(axes[name], np.multiply(axes[partner], flip)))
        if abs(agreement) < _ALIKE:
            return None
        partners.append(names.index(partner))
        signs.append(1.0 if agreement > 0 else -1.0)
    return JointMirror(np.array(partners, np.int64), np.array(signs))


def _sided(name: str) -> tuple[str, tuple[str, ...]]:
    """The side that the name says, and its other words."""
    side, rest = "", []
    for word in split_name(name):
        if not side and SIDES.get(word, word) in _OTHER:
            side = SIDES.get(word, word)
        else:
            rest.append(word)
    return side, tuple(rest)


def _axes_at_zero(robot: Embodiment) -> dict[str, Array]:
    """The axis of every joint in the base's frame, all joints at zero."""
    rotations = {robot.base: np.eye(3)}
    axes: dict[str, Array] = {}
    for joint in outward_joints(robot):
        turned = rotations[joint.parent] @ matrix_from_rpy(joint.rpy)
        rotations[joint.child] = turned
        axes[joint.name] = turned @ np.array(joint.axis)
    return axes
