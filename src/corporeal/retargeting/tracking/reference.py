"""The motion to follow, as a controller sees it: at its own rate, with velocities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics, checked_base
from corporeal.errors import CorporealError, ModelError
from corporeal.geometry import (
    Array,
    continuous_quaternions,
    matrix_from_quaternion,
    normalise,
    rotation_vectors,
)

LONGEST_S = 3600.0


class MotionTrackingError(CorporealError):
    """A motion cannot be followed as asked: not by this robot, this tracker or these numbers."""


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """N samples at `rate_hz`: joints and base with their rates.

    `q` and `rates` are (N, J); `base` (N, 7) is x y z qw qx qy qz; `velocity` (N, 3) is that of
    the base in the world, `turning` (N, 3) its angular velocity in its own axes. `contacts`
    (N, 2) says whether left and right foot stand, where the motion's maker knows.
    """

    robot: Embodiment
    rate_hz: float
    q: Array
    rates: Array
    base: Array
    velocity: Array
    angular_velocity: Array
    contacts: Array | None

    def __len__(self) -> int:
        return len(self.q)

    @property
    def duration_s(self) -> float:
        """From the first sample to the last."""
        return (len(self) - 1) / self.rate_hz

    @property
    def rotations(self) -> Array:
        """Rotation matrices (N, 3, 3) of the base."""
        return matrix_from_quaternion(self.base[:, 3:])


def reference_of(
    robot: Embodiment,
    rate_hz: float,
    q: ArrayLike,
    base: ArrayLike,
    *,
    contacts: ArrayLike | None,
    at_hz: float,
) -> ReferenceMotion:
    """The motion at `at_hz`; raises TrackingError or ModelError where it cannot be followed."""
    joints, poses = _checked(robot, rate_hz, q, base)
    frames = len(joints)
    length_s = (frames - 1) / rate_hz
    count = int(np.floor(length_s * at_hz + 1e-6)) + 1
    if count < 2:
        raise MotionTrackingError(
            f"motion of {length_s:.3g} s, shorter than one step of {1 / at_hz:.3g} s; expected a "
            "longer one. Give more frames, or the right rate."
        )
    place = np.minimum(np.arange(count) / at_hz, length_s)
    # Curved between frames: straight lines would ask for a jerk at every one of them.
    spline = CubicSpline(np.arange(frames) / rate_hz, np.hstack([joints, poses]))
    moving = spline(place, 1)
    q_at, base_at = np.split(spline(place), [joints.shape[1]], axis=1)
    base_at[:, 3:] = normalise(base_at[:, 3:])
    rates, velocity = moving[:, : joints.shape[1]], moving[:, joints.shape[1] :][:, :3]
    return ReferenceMotion(
        robot=robot,
        rate_hz=at_hz,
        q=q_at,
        rates=rates,
        base=base_at,
        velocity=velocity,
        angular_velocity=_angular_velocity(matrix_from_quaternion(base_at[:, 3:]), at_hz),
        contacts=None if contacts is None else _standing_feet(contacts, frames, place * rate_hz),
    )


def _checked(
    robot: Embodiment, rate_hz: float, q: ArrayLike, base: ArrayLike
) -> tuple[Array, Array]:
    if not (np.isfinite(rate_hz) and rate_hz > 0):
        raise MotionTrackingError(
            f"motion at {rate_hz} Hz; expected a rate above zero. Give its rate."
        )
    if not robot.floating:
        raise MotionTrackingError(
            f"robot {robot.name!r} is fixed to the ground; expected one that can fall. "
            "Trackability says nothing about it."
        )
    if not robot.feet:
        raise ModelError(
            f"robot {robot.name!r} declares no feet; expected some to stand on. "
            "Add `feet: {left: ..., right: ...}` to its document."
        )
    joints = Kinematics(robot).checked(q)
    poses = checked_base(base, len(joints))
    if poses is None:
        raise MotionTrackingError("motion without base poses; expected (frames, 7). Give the base.")
    if len(joints) < 2:
        raise MotionTrackingError(
            f"motion of {len(joints)} frame; expected at least 2. A single pose cannot be followed."
        )
    if (len(joints) - 1) / rate_hz > LONGEST_S:
        raise MotionTrackingError(
            f"motion of {(len(joints) - 1) / rate_hz:.0f} s; expected at most {LONGEST_S:.0f}. "
            "Cut it into clips, or give the right rate."
        )
    _check_values(joints, poses)
    return joints, np.column_stack([poses[:, :3], continuous_quaternions(normalise(poses[:, 3:]))])


def _check_values(joints: Array, poses: Array) -> None:
    known = np.isfinite(joints).all(axis=1) & np.isfinite(poses).all(axis=1)
    if not known.all():
        raise MotionTrackingError(
            f"motion with numbers missing in {int((~known).sum())} frames, the first is frame "
            f"{int(np.argmin(known))}; expected every joint and the base in all. Fill the gaps."
        )
    if bool((np.abs(poses[:, 3:]).max(axis=1) < 1e-6).any()):
        raise MotionTrackingError("motion whose base has a quaternion of zeros; expected w x y z.")
    sunk = poses[:, 2] <= 0
    if sunk.any():
        frame = int(np.argmax(sunk))
        raise MotionTrackingError(
            f"base {-poses[frame, 2]:.3g} m below the ground in frame {frame}; expected the ground "
            "at z = 0 and the base above it. Check the unit, the axis that points up, the height."
        )


def _angular_velocity(rotations: Array, rate_hz: float) -> Array:
    """Angular velocities (N, 3) in the base's own axes, over the samples beside each."""
    count = len(rotations)
    after = np.minimum(np.arange(count) + 1, count - 1)
    before = np.maximum(np.arange(count) - 1, 0)
    between = np.einsum("tji,tjk->tik", rotations[before], rotations[after])
    return np.asarray(rotation_vectors(between) * (rate_hz / (after - before))[:, None])


def _standing_feet(contacts: ArrayLike, frames: int, place: Array) -> Array:
    given = np.asarray(contacts, np.float64)
    if given.shape not in ((frames, 2), (frames, 2, 2)):
        raise MotionTrackingError(
            f"contacts of shape {given.shape}; expected ({frames}, 2, 2), the heel and toe of the "
            "left and right foot. Give one row per frame."
        )
    feet = given.reshape(frames, 2, -1).max(axis=2) > 0.5
    return np.asarray(feet[np.round(place).astype(np.int64)].astype(np.float64))
