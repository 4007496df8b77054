"""Tells from a motion itself whether its quaternions are stored as w x y z or as x y z w."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics

Array = NDArray[np.float64]

MAX_FRAMES = 4096
# What a lean, a turned back and doubt itself weigh, in metres that the standing foot slides.
_LEAN_M = 0.01
_TURNED_M = 0.001
_DOUBT_M = 0.001


def quaternion_order(
    position: Array, quaternion: Array, joints: Array, robot: Embodiment
) -> tuple[str, float]:
    """`wxyz` or `xyzw`, and how sure that is, from 0.5 to 1.

    In the right order the robot is upright and the lower foot stays where it is. Where nothing
    moves, a robot that faces forward (a large w) is likelier than one that turns its back.
    """
    good = np.isfinite(np.concatenate((position, quaternion, joints), axis=1)).all(axis=1)
    good &= np.linalg.norm(quaternion, axis=1) > 0.5
    rows = np.flatnonzero(good)[:MAX_FRAMES]
    if not len(rows):
        return "wxyz", 0.5
    kinematics = Kinematics(robot)
    costs = {}
    for order in ("wxyz", "xyzw"):
        wxyz = quaternion[rows][:, [order.index(part) for part in "wxyz"]]
        costs[order] = _cost(kinematics, position[rows], wxyz, joints[rows])
    best = min(costs, key=lambda order: costs[order])
    other = max(costs.values())
    return best, other / (other + costs[best])


def _cost(kinematics: Kinematics, position: Array, wxyz: Array, joints: Array) -> float:
    wxyz = wxyz / np.linalg.norm(wxyz, axis=1, keepdims=True)
    upright = 1.0 - 2.0 * (wxyz[:, 1] ** 2 + wxyz[:, 2] ** 2)
    cost = _DOUBT_M + _LEAN_M * float(1.0 - upright.mean())
    cost += _TURNED_M * float(1.0 - np.abs(wxyz[:, 0]).mean())
    feet = kinematics.feet(joints, np.concatenate((position, wxyz), axis=1)).positions
    if len(feet) > 1 and feet.shape[1]:
        frame = np.arange(len(feet) - 1)
        lower = feet[:-1, :, 2].argmin(axis=1)
        moved = feet[frame + 1, lower] - feet[frame, lower]
        cost += float(np.median(np.linalg.norm(moved, axis=1)))
    return cost
