"""Which order the base's quaternion is really in, told by the feet and by the gyro."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.embodiment.kinematics import Poses
from corporeal.errors import NotAssessed
from corporeal.geometry import matrix_from_quaternion, normalise
from corporeal.quality.evidence.mounting import (
    foot_links,
    has_chain,
    mount_of,
    poses_in_base,
    require_finite,
)
from corporeal.quality.evidence.rigid_motion import (
    columns_of,
    fit_axes,
    instants,
    mean_rates,
    mean_values,
)
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array

# Where w x y z are found in the four columns that are said to be w x y z.
STATED, LAST, FIRST = "as stated", "w last", "w first"
ORDERS = {STATED: (0, 1, 2, 3), LAST: (3, 0, 1, 2), FIRST: (1, 2, 3, 0)}
# Half of the span over which rates are averaged, and that of poses: sway is slow.
WINDOW_S = 0.25
BLOCK_S = 0.3
# Degrees that soles are nearer to level, so that sway alone cannot be the reason.
CLEARLY_FLATTER_DEG = 5.0
# Degrees that planted feet turn less; noise of a tracker, averaged, is half of it.
CLEARLY_STEADIER_DEG = 0.05


@dataclass(frozen=True)
class OrderEvidence:
    """What each order would mean: tilt of the flatter sole, turning of planted feet (degrees),
    and the share of the gyro's power that the base's turning leaves unexplained."""

    tilt_deg: float
    turning_deg: float
    gyro_error: float


@dataclass(frozen=True, eq=False)
class BaseOrder:
    """The order that fits best, and what speaks for it. `base` (T, 7) is in that order."""

    order: str
    evidence: dict[str, OrderEvidence]
    base: Array

    @property
    def is_as_stated(self) -> bool:
        """Whether the order is the stated one."""
        return self.order == STATED


@once_per_subject
def base_order(subject: Subject) -> BaseOrder:
    """The base in its true order; raises NotAssessed without a base pose."""
    base = subject.posture.base
    require_finite(subject)
    if base is None or len(base) < 2:
        raise NotAssessed("no base_pose stream")
    evidence = {}
    for name, columns in ORDERS.items():
        rotations = matrix_from_quaternion(base[:, [3 + column for column in columns]])
        tilt, turning = _feet(subject, rotations)
        evidence[name] = OrderEvidence(tilt, turning, _gyro(subject, rotations))
    stated = evidence[STATED]
    better = {name: _lead(stated, evidence[name]) for name in (LAST, FIRST)}
    name, lead = max(better.items(), key=lambda item: item[1])
    order = name if lead > 0 else STATED
    turned = np.concatenate((base[:, :3], base[:, [3 + column for column in ORDERS[order]]]), 1)
    return BaseOrder(order, evidence, turned)


@once_per_subject
def world_poses(subject: Subject) -> Poses:
    """Every link in the world, the base taken in its true order."""
    order = base_order(subject)
    if order.is_as_stated:
        return subject.link_poses
    return subject.kinematics.link_poses(subject.posture.q, order.base)


def upward_of(subject: Subject) -> Array:
    """The vertical (T, 3) in axes of the base: from its pose, from its IMU, or as it stands."""
    posture = subject.posture
    if posture.base is not None:
        w, x, y, z = base_order(subject).base[:, 3:].T
        return np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
    for track in subject.ending_in(roles.IMU).values():
        mount = mount_of(subject.robot, track.spec)
        if mount is not None and mount.link == subject.robot.base and len(track) > 2:
            force = track.at(posture.time_ns)[:, columns_of(track, ("ax", "ay", "az"), 0)]
            return np.tile(normalise(np.nanmedian(force @ mount.axes.T, axis=0)), (len(force), 1))
    return np.tile([0.0, 0.0, 1.0], (len(posture), 1))


def _lead(stated: OrderEvidence, other: OrderEvidence) -> float:
    """How clearly another order is better; 0 when it is not."""
    if stated.tilt_deg > other.tilt_deg + CLEARLY_FLATTER_DEG:
        return stated.tilt_deg - other.tilt_deg
    if other.tilt_deg > stated.tilt_deg + CLEARLY_FLATTER_DEG:
        return 0.0
    if stated.turning_deg > 2.0 * other.turning_deg + CLEARLY_STEADIER_DEG:
        return stated.turning_deg - other.turning_deg
    if other.turning_deg > 1.5 * stated.turning_deg + CLEARLY_STEADIER_DEG / 2:
        return 0.0
    if stated.gyro_error > max(0.6, other.gyro_error + 0.35):
        return stated.gyro_error - other.gyro_error
    return 0.0


def _feet(subject: Subject, rotations: Array) -> tuple[float, float]:
    """Median tilt of the flatter sole, and how far the steadier one turns, in degrees."""
    try:
        feet = foot_links(subject)
    except NotAssessed:
        return 0.0, 0.0
    poses = poses_in_base(subject)
    flat, steady = [], []
    seconds = subject.posture.time_ns / 1e9
    blocks = max(8, int((seconds[-1] - seconds[0]) / BLOCK_S))
    edges = np.unique(np.linspace(0, len(rotations), blocks + 1).astype(np.int64))[:-1]
    lengths = np.diff(np.append(edges, len(rotations)))[:, None, None]
    for link, placement in feet.values():
        turns = rotations @ poses.rotation(link) @ placement[:, :3]
        turns = np.add.reduceat(turns, edges, axis=0) / lengths
        flat.append(np.degrees(np.arccos(np.clip(turns[:, 2, 2], -1.0, 1.0))))
        middle = turns - np.nanmedian(turns, axis=0)
        steady.append(float(np.degrees(np.nanmedian(np.sqrt(np.sum(middle**2, axis=(1, 2)) / 2)))))
    return float(np.nanmedian(np.min(flat, axis=0))), min(steady)


def _gyro(subject: Subject, rotations: Array) -> float:
    """The least error of any gyro on a link that the data places; 1 without one."""
    posture = subject.posture
    seconds = posture.time_ns / 1e9
    poses = poses_in_base(subject)
    errors = [1.0]
    for track in subject.ending_in(roles.IMU).values():
        mount = mount_of(subject.robot, track.spec)
        if mount is None or len(track) < 2 or track.values.shape[1] < 6:
            continue
        if not has_chain(subject, mount.link):
            continue
        turns = rotations @ poses.rotation(mount.link) @ mount.axes
        when = instants(seconds, WINDOW_S)
        gyro = bridge_gaps(track.values[:, columns_of(track, ("wx", "wy", "wz"), 3)])
        fit = fit_axes(
            mean_values(track.seconds, gyro, when, WINDOW_S),
            mean_rates(seconds, turns, when, WINDOW_S),
        )
        if fit is not None:
            errors.append(fit.error)
    return min(errors)
