"""The axes, times and hands of WebXR as those of the house."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from corporeal.geometry import Array, quaternion_product
from corporeal.teleoperation.operator_input import HAND_JOINTS, PALM

# A WebXR hand: position, quaternion with w last, radius.
WEBXR_JOINTS = len(HAND_JOINTS) - 1
_MIDDLE = [
    HAND_JOINTS.index(f"middle_finger_{bone}") for bone in ("metacarpal", "phalanx_proximal")
]


def from_webxr(poses: ArrayLike) -> Array:
    """Poses (..., 7) x y z qw qx qy qz, x ahead and z up, from WebXR's x y z qx qy qz qw.

    WebXR has x to the right, y up and z backwards.
    """
    xr = np.asarray(poses, np.float64)
    out = np.empty_like(xr)
    out[..., 0], out[..., 1], out[..., 2] = -xr[..., 2], -xr[..., 0], xr[..., 1]
    out[..., 3] = xr[..., 6]
    out[..., 4], out[..., 5], out[..., 6] = -xr[..., 5], -xr[..., 3], xr[..., 4]
    return out


def to_webxr(poses: ArrayLike) -> Array:
    """The way back: poses (..., 7) as WebXR has them."""
    own = np.asarray(poses, np.float64)
    out = np.empty_like(own)
    out[..., 0], out[..., 1], out[..., 2] = -own[..., 1], own[..., 2], -own[..., 0]
    out[..., 3], out[..., 4], out[..., 5] = -own[..., 5], own[..., 6], -own[..., 4]
    out[..., 6] = own[..., 3]
    return out


def hand_from_webxr(joints: ArrayLike) -> Array:
    """The 26 joints (26, 8) of HAND_JOINTS from WebXR's 25, which have no palm (25, 8).

    The palm is the middle between the metacarpal and the proximal bone of the middle finger, with
    the rotation of the metacarpal and the mean of both radii: a definition of ours.
    """
    xr = np.asarray(joints, np.float64)
    out = np.empty((len(HAND_JOINTS), 8))
    out[1:, :7], out[1:, 7] = from_webxr(xr[:, :7]), xr[:, 7]
    near, far = out[_MIDDLE]
    out[PALM] = near
    out[PALM, :3] = (near[:3] + far[:3]) / 2
    out[PALM, 7] = (near[7] + far[7]) / 2
    return out


def beyond(pose: Array, inner: Array) -> Array:
    """Poses (n, 7) given in the frame of `pose` (7,), in the frame that this one is given in."""
    turn = np.repeat(pose[None, 3:], len(inner), axis=0)
    out = np.empty((len(inner), 7))
    moved = np.concatenate([np.zeros((len(inner), 1)), inner[:, :3]], axis=1)
    back = turn * np.array([1.0, -1.0, -1.0, -1.0])
    out[:, :3] = pose[:3] + quaternion_product(quaternion_product(turn, moved), back)[:, 1:]
    out[:, 3:] = quaternion_product(turn, inner[:, 3:])
    return out
