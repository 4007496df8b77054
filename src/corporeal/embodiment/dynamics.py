"""The torques that a motion takes, and those that only hold the robot against gravity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from corporeal.embodiment.engines.pinocchio_model import PinocchioModel, import_pinocchio
from corporeal.embodiment.kinematics import Kinematics, base_transforms, blocks, checked_base
from corporeal.errors import ModelError
from corporeal.geometry import Array

# m/s2; the value that Pinocchio and MuJoCo take by default, so that all three agree.
GRAVITY = 9.81


@dataclass(frozen=True, eq=False)
class Efforts:
    """What a motion takes.

    `joints` (T, J) are the motors' torques (N m) or forces (N), in the order of the data.
    `base` (T, 6) is the force (N) and moment (N m) in world axes, about the base's origin, that
    must act on the base as well: near zero for a floating robot if all contacts were given, and
    always zero for a robot whose base is fixed (its mount carries whatever is needed).
    """

    joints: Array
    base: Array


def inverse_dynamics(
    model: PinocchioModel,
    q: ArrayLike,
    dq: ArrayLike,
    ddq: ArrayLike,
    *,
    base: ArrayLike | None = None,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
    wrenches: Mapping[str, ArrayLike] | None = None,
) -> Efforts:
    """Efforts of positions, velocities and accelerations (T, J) of the joints.

    `base` is (T, 7): x y z qw qx qy qz. `base_velocity` and `base_acceleration` (T, 6) are the
    first and second time derivatives of its position, and its angular velocity and acceleration,
    all in world axes. `wrenches` {link or frame: (T, 6)} act on the robot from outside, such as
    the ground on a sole: force and moment in world axes at the origin of that place.
    Friction and the inertia of rotors are not part of it.
    """
    configurations = model.configurations(q, base)
    velocities, accelerations = model.velocities(dq), model.velocities(ddq)
    frames = _same_frames(configurations, velocities, accelerations)
    kinematics = model.kinematics
    world_from_base = np.moveaxis(base_transforms(base, frames)[:, :3], -1, 0)
    if kinematics.embodiment.floating:
        _fill_base(velocities, accelerations, base_velocity, base_acceleration, world_from_base)
    elif base_velocity is not None or base_acceleration is not None:
        raise ModelError(
            f"base of robot {kinematics.embodiment.name!r} is fixed, got its velocity or "
            "acceleration; expected neither. Leave them out, or let the base float."
        )
    efforts = _rnea(model, configurations, velocities, accelerations)
    joints = kinematics.joints.efforts(efforts[:, model.rates].T, len(kinematics.columns))
    wrench = np.zeros((frames, 6))
    if kinematics.embodiment.floating:
        wrench[:, :3] = _turn(world_from_base, efforts[:, :3])
        wrench[:, 3:] = _turn(world_from_base, efforts[:, 3:6])
    elif base is not None:
        # Pinocchio's fixed robot stands upright; on a tilted mount only gravity differs.
        joints += gravity_torques(kinematics, q, base) - gravity_torques(kinematics, q)
    if wrenches:
        held, carried = _held(kinematics, q, base, wrenches)
        joints -= kinematics.joints.efforts(held, len(kinematics.columns))
        wrench -= carried if kinematics.embodiment.floating else 0.0
    return Efforts(joints, wrench)


def gravity_torques(kinematics: Kinematics, q: ArrayLike, base: ArrayLike | None = None) -> Array:
    """Torques (T, J) that hold the robot still against gravity, its base held from outside."""
    joints = kinematics.checked(q)
    rows = checked_base(base, len(joints))
    masses, centres, _ = kinematics.inertias
    out = np.empty_like(joints)
    for block in blocks(len(joints)):
        poses = _poses_about_base(kinematics, joints[block], None if rows is None else rows[block])
        force = np.zeros((len(masses), 3, poses.shape[-1]))
        force[:, 2] = (GRAVITY * masses)[:, None]
        arms = np.stack([c @ pose[:, :3] for c, pose in zip(centres, poses, strict=True)])
        efforts = _inwards(kinematics, poses, force, _cross(arms, force))
        out[block] = kinematics.joints.efforts(efforts, joints.shape[1])
    return out


def _same_frames(positions: Array, velocities: Array, accelerations: Array) -> int:
    if not len(positions) == len(velocities) == len(accelerations):
        raise ModelError(
            f"joint rates do not fit {len(positions)} frames of positions, got {len(velocities)} "
            f"frames of velocities and {len(accelerations)} of accelerations; expected as many. "
            "Align the streams first."
        )
    return len(positions)


def _rnea(model: PinocchioModel, positions: Array, rates: Array, gains: Array) -> Array:
    # One call per frame: measured at two thirds of the time of the same recursion in numpy.
    rnea, data = import_pinocchio().rnea, model.model.createData()
    efforts = np.empty_like(rates)
    for frame in range(len(rates)):
        efforts[frame] = rnea(model.model, data, positions[frame], rates[frame], gains[frame])
    return efforts


def _fill_base(
    velocities: Array,
    accelerations: Array,
    base_velocity: ArrayLike | None,
    base_acceleration: ArrayLike | None,
    world_from_base: Array,
) -> None:
    frames = len(velocities)
    base_from_world = world_from_base.swapaxes(1, 2)
    moving = _six(base_velocity, frames, "base velocities")
    gaining = _six(base_acceleration, frames, "base accelerations")
    for part in (slice(0, 3), slice(3, 6)):
        velocities[:, part] = _turn(base_from_world, moving[:, part])
        accelerations[:, part] = _turn(base_from_world, gaining[:, part])
    # Pinocchio's acceleration is that of the turning axes' components, not of the point.
    accelerations[:, :3] -= np.cross(velocities[:, 3:6], velocities[:, :3])


def _held(
    kinematics: Kinematics,
    q: ArrayLike,
    base: ArrayLike | None,
    wrenches: Mapping[str, ArrayLike],
) -> tuple[Array, Array]:
    """Efforts (N, T) at the joints, and wrench (T, 6) at the base, that outside wrenches give."""
    joints = kinematics.checked(q)
    poses = _poses_about_base(kinematics, joints, checked_base(base, len(joints)))
    force = np.zeros((len(kinematics.names), 3, len(joints)))
    moment = np.zeros_like(force)
    for name, given in wrenches.items():
        load = _six(given, len(joints), f"wrenches at {name!r}").T
        link, placement = kinematics.place(name)
        arm = placement[:, 3] @ poses[link][:, :3]
        force[link] += load[:3]
        moment[link] += load[3:] + _cross(arm, load[:3])
    efforts = _inwards(kinematics, poses, force, moment)
    root = kinematics.names.index(kinematics.embodiment.base)
    return efforts, np.concatenate([force[root], moment[root]]).T


def _poses_about_base(kinematics: Kinematics, q: Array, base: Array | None) -> Array:
    """Poses (L, 3, 4, T) with the base at the origin: lever arms then lose no digits far away."""
    if base is not None:
        base = np.concatenate([np.zeros((len(base), 3)), base[:, 3:]], axis=1)
    return kinematics.transforms(q, base)


def _inwards(kinematics: Kinematics, poses: Array, force: Array, moment: Array) -> Array:
    """Efforts (N, T) that carry forces and moments (L, 3, T), each about its link's origin.

    Adds the load of every link to its parent's on the way, so the base ends with the whole.
    """
    efforts = np.zeros((len(kinematics.embodiment.joints), poses.shape[-1]))
    for step in reversed(kinematics.steps):
        axis = step.axis @ poses[step.child][:, :3]
        arm = poses[step.child][:, 3] - poses[step.parent][:, 3]
        carried = force[step.child] if step.prismatic else moment[step.child]
        efforts[step.joint] = (axis * carried).sum(0)
        force[step.parent] += force[step.child]
        moment[step.parent] += moment[step.child] + _cross(arm, force[step.child])
    return efforts


def _cross(a: Array, b: Array) -> Array:
    """Cross products of (..., 3, T) along the axis before the last."""
    product = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.multiply(a[..., j, :], b[..., k, :], out=product[..., i, :])
        product[..., i, :] -= a[..., k, :] * b[..., j, :]
    return product


def _turn(rotations: Array, vectors: Array) -> Array:
    turned: Array = np.matmul(rotations, vectors[..., None])[..., 0]
    return turned


def _six(values: ArrayLike | None, frames: int, what: str) -> Array:
    if values is None:
        return np.zeros((frames, 6))
    array = np.asarray(values, np.float64)
    if array.shape != (frames, 6):
        raise ModelError(
            f"{what} do not fit {frames} frames, got shape {array.shape}; expected ({frames}, 6). "
            "Give three linear and three angular values for every frame."
        )
    return array
