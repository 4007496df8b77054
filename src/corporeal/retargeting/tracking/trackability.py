"""Can the robot's body do this motion? It is followed in MuJoCo, and the differences measured."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.retargeting.motion import SIDES
from corporeal.retargeting.tracking.attempt import RATE_HZ, Attempt, Progress, follow, replay
from corporeal.retargeting.tracking.physics import GRAVITY
from corporeal.retargeting.tracking.reference import ReferenceMotion, reference_of
from corporeal.retargeting.tracking.tracker import open_policy

REPLAY = "replay"


@dataclass(frozen=True)
class Help:
    """What held the base in a replay; shares are of the weight, and of weight times base height.

    `unsupported_*` is the part of the weight that no push of the ground on what is near it could
    give, by inverse dynamics alone: near zero unless the motion floats, flies or leans too far.
    `overloaded_share` is the share of samples in which it asks a joint for more than its effort.
    """

    force_mean_n: float
    force_max_n: float
    force_mean_share: float
    force_max_share: float
    torque_mean_nm: float
    torque_max_nm: float
    torque_mean_share: float
    torque_max_share: float
    unsupported_mean_share: float
    unsupported_p95_share: float
    overloaded_share: float


@dataclass(frozen=True, eq=False)
class TrackingResult:
    """How a robot did when it followed a motion; errors count until the fall, if there is one.

    `method` is the tracker's name or "replay". `keypoint_error_m` is on the body (from the base,
    along its heading), `keypoint_global_m` in the world; `by_keypoint_m` has the mean of the
    first for each. `drift_m` and `turned_rad` say how far the base was off at the end: a tracker
    that is told velocities drifts. `contact_agreement` is the share of samples in which a foot
    touched the floor just when it should. `q` (N, J) and `base` (N, 7) are what the robot did, at
    `rate_hz`.
    """

    robot: str
    method: str
    survived: bool
    survived_s: float
    duration_s: float
    fell_at_s: float | None
    keypoint_error_m: TrackingSpread
    keypoint_global_m: TrackingSpread
    by_keypoint_m: Mapping[str, float]
    root_error_m: TrackingSpread
    drift_m: float
    turned_rad: float
    joint_error_rad: float
    contact_agreement: float | None
    help: Help | None
    lifted_m: float
    times_real_time: float
    rate_hz: float
    q: Array
    base: Array

    def to_json(self) -> dict[str, Any]:
        """The figures as plain values, without the motion itself."""
        whole = {name: value for name, value in self.__dict__.items() if name not in ("q", "base")}
        for name in ("keypoint_error_m", "keypoint_global_m", "root_error_m", "help"):
            whole[name] = None if whole[name] is None else asdict(whole[name])
        whole["by_keypoint_m"] = dict(self.by_keypoint_m)
        return whole


def track(
    robot: Embodiment,
    rate_hz: float,
    q: ArrayLike,
    base: ArrayLike,
    *,
    tracker: Path | None,
    contacts: ArrayLike | None = None,
    progress: Progress | None = None,
) -> TrackingResult:
    """Follow joints (T, J) and base poses (T, 7) with the network in a file, or with help.

    Raises TrackingError, ModelError or MissingExtraError when it cannot be tried at all;
    a robot that falls is a result. `progress` is told the share that is done.
    """
    policy = None if tracker is None else open_policy(tracker, robot)
    at_hz = RATE_HZ if policy is None else policy.tracker.rate_hz
    reference = reference_of(robot, rate_hz, q, base, contacts=contacts, at_hz=at_hz)
    started = time.perf_counter()
    if policy is None:
        method, attempt = REPLAY, replay(reference, progress=progress)
    else:
        method, attempt = policy.name, follow(policy, reference, progress=progress)
    took = time.perf_counter() - started
    if progress is not None:
        progress(1.0)
    return _measured(method, reference, attempt, took)


def _measured(
    method: str, reference: ReferenceMotion, attempt: Attempt, took_s: float
) -> TrackingResult:
    q, base = np.array(attempt.q), np.array(attempt.base)
    count = len(q)
    wanted = (reference.q[:count], reference.base[:count])
    body, world = point_errors(reference.robot, (q, base), wanted)
    lasted_s = (count - 1) / reference.rate_hz
    turned = headings(base[-1:])[0] - headings(reference.base[count - 1 : count])[0]
    return TrackingResult(
        robot=reference.robot.name,
        method=method,
        survived=attempt.fell is None,
        survived_s=lasted_s,
        duration_s=reference.duration_s,
        fell_at_s=None if attempt.fell is None else attempt.fell / reference.rate_hz,
        keypoint_error_m=spread(np.concatenate(list(body.values()))),
        keypoint_global_m=spread(np.concatenate(list(world.values()))),
        by_keypoint_m={name: float(errors.mean()) for name, errors in body.items()},
        root_error_m=spread(world[BASE]),
        drift_m=float(np.linalg.norm((base[-1] - reference.base[count - 1])[:2])),
        turned_rad=float((turned + np.pi) % (2 * np.pi) - np.pi),
        joint_error_rad=float(np.sqrt(np.mean((q - wanted[0]) ** 2))),
        contact_agreement=_agreement(reference, attempt),
        help=_help(reference, attempt),
        lifted_m=attempt.lifted_m,
        times_real_time=max(lasted_s, 1 / reference.rate_hz) / max(took_s, 1e-9),
        rate_hz=reference.rate_hz,
        q=q,
        base=base,
    )


def _agreement(reference: ReferenceMotion, attempt: Attempt) -> float | None:
    feet = list(reference.robot.feet)
    if reference.contacts is None or not set(SIDES) <= set(feet):
        return None
    did = np.array(attempt.standing)[:, [feet.index(side) for side in SIDES]]
    return float(np.mean(did == reference.contacts[: len(did)]))


def _help(reference: ReferenceMotion, attempt: Attempt) -> Help | None:
    if attempt.support is None or not attempt.help:
        return None
    wrench = np.array(attempt.help)
    force, torque = np.linalg.norm(wrench[:, :3], axis=1), np.linalg.norm(wrench[:, 3:], axis=1)
    lacking = np.linalg.norm(attempt.support.lacking[:, :3], axis=1)
    weight = GRAVITY * reference.robot.mass
    standing = reference.robot.standing
    moment = weight * (float(reference.base[0, 2]) if standing is None else standing.height)
    return Help(
        force_mean_n=float(force.mean()),
        force_max_n=float(force.max()),
        force_mean_share=float(force.mean() / weight),
        force_max_share=float(force.max() / weight),
        torque_mean_nm=float(torque.mean()),
        torque_max_nm=float(torque.max()),
        torque_mean_share=float(torque.mean() / moment),
        torque_max_share=float(torque.max() / moment),
        unsupported_mean_share=float(lacking.mean() / weight),
        unsupported_p95_share=float(np.quantile(lacking, 0.95) / weight),
        overloaded_share=float(attempt.support.overloaded(reference.robot).mean()),
    )


BASE = "base"
# A joint by a part of its name: the first of a side is where that part of the body is.
PARTS = ("knee", "elbow", "shoulder")


@dataclass(frozen=True)
class TrackingSpread:
    """A set of errors in three numbers, metres."""

    mean: float
    p95: float
    max: float


def key_points(robot: Embodiment) -> dict[str, str]:
    """{name: link or frame}: base, hands, head, feet, knees, elbows, shoulders, as far as known."""
    places = {BASE: robot.base, **robot.end_effectors}
    places.update({f"{name}_foot": place for name, place in robot.feet.items()})
    for side in SIDES:
        for part in PARTS:
            joint = next(
                (one for one in robot.joints if re.search(rf"(?i){side}.*{part}", one.name)), None
            )
            if joint is not None:
                places[f"{side}_{part}"] = joint.child
    return places


def point_errors(
    robot: Embodiment, did: tuple[Array, Array], wanted: tuple[Array, Array]
) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """Distances (N,) by key point between two motions (joints, base): on the body, in the world.

    On the body means from the base, along the heading: what is left when the robot stands
    somewhere else or faces another way than it should.
    """
    places = key_points(robot)
    kinematics = Kinematics(robot)
    here = kinematics.place_poses(places, *did).positions
    there = kinematics.place_poses(places, *wanted).positions
    on_body = np.linalg.norm(_on_body(here, did[1]) - _on_body(there, wanted[1]), axis=2)
    in_world = np.linalg.norm(here - there, axis=2)
    body = {name: on_body[:, index] for index, name in enumerate(places) if name != BASE}
    return body, {name: in_world[:, index] for index, name in enumerate(places)}


def spread(errors: Array) -> TrackingSpread:
    """The mean, the 95th percentile and the largest of errors in metres."""
    return TrackingSpread(
        float(errors.mean()), float(np.quantile(errors, 0.95)), float(errors.max())
    )


def headings(base: Array) -> Array:
    """Which way (N,) bases (N, 7) face, radians."""
    forward = matrix_from_quaternion(base[:, 3:])[:, :, 0]
    return np.asarray(np.arctan2(forward[:, 1], forward[:, 0]))


def _on_body(points: Array, base: Array) -> Array:
    away = points - base[:, None, :3]
    cosine, sine = np.cos(headings(base))[:, None], np.sin(headings(base))[:, None]
    x, y = away[..., 0], away[..., 1]
    return np.stack([cosine * x + sine * y, cosine * y - sine * x, away[..., 2]], axis=-1)
