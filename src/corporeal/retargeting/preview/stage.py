"""Who stands where in a preview: both bodies at any time, and a camera that sees them whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from corporeal.embodiment.kinematics import Kinematics, Poses
from corporeal.geometry import Array, matrix_from_quaternion, slerp
from corporeal.retargeting.motion import POINTS, MotionError
from corporeal.retargeting.preview.bodies import complete_points, outline
from corporeal.retargeting.result import ENDS, FAR_M, KNOWN, Retargeted

BLOCK = 256
# Between the two bodies when they are nearest, and how far apart they may be put.
GAP_M, NEAREST_M, FARTHEST_M = 0.25, 1.0, 2.0
# Paths that part by more than this are brought together: the person is drawn in another size.
APART_M = 0.35
# A point farther from its own body than this was mismeasured, and the camera does not care.
REACH_M = 2.0
TRAVEL_M = 0.7
CALM_S = 0.6


@dataclass(frozen=True, eq=False)
class PreviewMoment:
    """Both bodies at one time: links (L, 3) with rotations (L, 3, 3), the person's points (P, 3).

    `error_m` (4,) and `far` (4,) are of the ENDS, `goals` (4, 3) where they were to be;
    `contacts` (2, 2) are [left, right] x [heel, toe]; `soles` (2, 3) the robot's.
    """

    time_s: float
    positions: Array
    rotations: Array
    points: Array
    goals: Array
    error_m: Array
    far: NDArray[np.bool_]
    contacts: NDArray[np.bool_]
    soles: Array


@dataclass(frozen=True, eq=False)
class Stage:
    """A result laid out to be looked at, at the times `times_s` (N,).

    The robot is where the result has it. The person, drawn `scale` times its size, is moved by
    `shift` (3,), which puts it beside the robot. `forward` (3,) is where they go, or look.
    """

    result: Retargeted
    times_s: Array
    scale: float
    shift: Array
    forward: Array

    def __len__(self) -> int:
        return len(self.times_s)

    @cached_property
    def kinematics(self) -> Kinematics:
        """Of the robot."""
        return Kinematics(self.result.robot)

    @cached_property
    def centres(self) -> Array:
        """What a calm camera looks at (N, 3): between the two, smoothed without delay."""
        bounds = [(np.nanmin(p, axis=1), np.nanmax(p, axis=1)) for p, _ in self.outlines()]
        middle = np.concatenate([(low + high) / 2 for low, high in bounds])
        result = self.result
        rows, _, _ = _between(self.times_s, result.rate_hz, len(result))
        # With the robot at all times: the person may be lost for a while, or throw out an arm.
        centre = result.base[rows, :3].copy()
        centre[:, :2] += np.median(middle[:, :2] - centre[:, :2], axis=0)
        centre[:, 2] = max(float(high[:, 2].max()) for _, high in bounds) / 2
        step_s = self.times_s[1] - self.times_s[0] if len(self) > 1 else 1.0
        return np.asarray(gaussian_filter1d(centre, CALM_S / step_s, axis=0, mode="nearest"))

    def moments(self, numbers: NDArray[np.int64] | None = None) -> Iterator[PreviewMoment]:
        """The moments with these numbers, or all of them, one after the other."""
        chosen = np.arange(len(self)) if numbers is None else np.asarray(numbers)
        for first in range(0, len(chosen), BLOCK):
            yield from self._block(self.times_s[chosen[first : first + BLOCK]])

    def outlines(self) -> Iterator[tuple[Array, Array]]:
        """Points (n, S, 3) inside both, with their radii (S,), some moments at a time."""
        local = outline(self.result.robot)
        for first in range(0, len(self), BLOCK):
            times = self.times_s[first : first + BLOCK]
            poses, points = self.robot_at(times), complete_points(self.person_at(times))
            rotations, origins = poses.rotations[:, local.links], poses.positions[:, local.links]
            robot = np.einsum("tsij,sj->tsi", rotations, local.points) + origins
            both = np.concatenate([_near(robot), _near(points)], axis=1)
            yield both, np.concatenate([local.radii, np.full(len(POINTS), 0.12 * self.scale)])

    def robot_at(self, times_s: Array) -> Poses:
        """Poses of all links."""
        result = self.result
        before, after, share = _between(times_s, result.rate_hz, len(result))
        q = result.q[before] + share[:, None] * (result.q[after] - result.q[before])
        base = result.base[before] + share[:, None] * (result.base[after] - result.base[before])
        base[:, 3:] = slerp(result.base[before, 3:], result.base[after, 3:], share)
        return self.kinematics.link_poses(q, base)

    def person_at(self, times_s: Array) -> Array:
        """The person's points (n, P, 3) where they are drawn, NaN where not known."""
        human = self.result.human
        before, after, share = _between(times_s, human.rate_hz, len(human))
        start, end = human.positions[before], human.positions[after]
        moved = start + share[:, None, None] * (end - start)
        return self.scale * moved + self.shift

    def _block(self, times: Array) -> Iterator[PreviewMoment]:
        result, poses, points = self.result, self.robot_at(times), self.person_at(times)
        rows = np.clip(np.rint(times * result.rate_hz), 0, len(result) - 1).astype(np.int64)
        known, goals = result.goals.confidence[rows] > KNOWN, result.goals.positions
        error = np.where(known, result.error_m[rows], np.nan)
        targets = np.stack([_place(goals, end, len(result))[rows] for end in ENDS], axis=1)
        far = (error > FAR_M) & result.infeasible[rows, None]
        soles = targets[:, 2:].copy()
        for side, place in enumerate(("left", "right")):
            if place in result.robot.feet:
                link, pose = self.kinematics.place(result.robot.feet[place])
                turned = poses.rotations[:, link] @ pose[:, 3]
                soles[:, side] = poses.positions[:, link] + turned
        for k, time in enumerate(times):
            yield PreviewMoment(
                time_s=float(time),
                positions=poses.positions[k],
                rotations=poses.rotations[k],
                points=points[k],
                goals=targets[k],
                error_m=error[k],
                far=far[k],
                contacts=result.goals.contacts[rows[k]],
                soles=soles[k],
            )


def stage_of(result: Retargeted, *, fps: float) -> Stage:
    """The stage for a movie of `fps` pictures a second; raises MotionError for an empty result."""
    if not len(result) or not len(result.human):
        raise MotionError("a preview, got a result without frames; expected one. Read a clip.")
    frames = int(np.floor((len(result) - 1) / result.rate_hz * fps + 1e-6)) + 1
    times = np.arange(frames) / fps
    forward = _forward(result)
    scale, shift = _together(result)
    there = Stage(result, times, scale, shift, forward)
    # On the mover's right, which is the left of the picture: both come towards the camera.
    right = np.cross(forward, (0.0, 0.0, 1.0))
    return Stage(result, times, scale, shift + _distance(there, right) * right, forward)


def _between(
    times_s: Array, rate_hz: float, frames: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    place = np.clip(times_s * rate_hz, 0, frames - 1)
    before = np.floor(place + 1e-9).astype(np.int64)
    return before, np.minimum(before + 1, frames - 1), np.maximum(place - before, 0.0)


def _forward(result: Retargeted) -> Array:
    """Where the robot goes, or where it looks on the whole if it stays; level."""
    path = result.base[-1, :2] - result.base[0, :2]
    if np.linalg.norm(path) < TRAVEL_M:
        path = matrix_from_quaternion(result.base[:, 3:])[:, :2, 0].mean(axis=0)
    length = float(np.linalg.norm(path))
    if not length > 1e-6:
        return np.array([1.0, 0.0, 0.0])
    return np.array([*(path / length), 0.0])


def _together(result: Retargeted) -> tuple[float, Array]:
    """The size in which the person keeps up with the robot, and the way from one to the other."""
    times = np.arange(len(result)) / result.rate_hz
    before, after, share = _between(times, result.human.rate_hz, len(result.human))
    pelvis = result.human.point("pelvis")[:, :2]
    person = pelvis[before] + share[:, None] * (pelvis[after] - pelvis[before])
    robot = result.base[:, :2]
    known = np.isfinite(person).all(axis=1)
    if not known.any():
        return 1.0, np.array([*robot.mean(axis=0), 0.0])
    person, robot = person[known], robot[known]
    a, b = person - person.mean(axis=0), robot - robot.mean(axis=0)
    scale = 1.0
    if np.linalg.norm(a - b, axis=1).max() > APART_M:
        scale = float(np.clip((a * b).sum() / max((a * a).sum(), 1e-9), 0.4, 1.4))
    shift = robot.mean(axis=0) - scale * person.mean(axis=0)
    return scale, np.array([*shift, 0.0])


def _distance(stage: Stage, right: Array) -> float:
    """How far to the right the person must go not to touch the robot in any moment."""
    needed = NEAREST_M
    for first in range(0, len(stage), BLOCK):
        times = stage.times_s[first : first + BLOCK]
        robot, person = stage.robot_at(times).positions @ right, stage.person_at(times)
        reach = robot.max(axis=1) - _lowest(_near(person) @ right)
        needed = max(needed, float(reach.max()) + GAP_M)
    return min(needed, FARTHEST_M)


def _lowest(values: Array) -> Array:
    return np.asarray(np.where(np.isfinite(values), values, np.inf).min(axis=1))


def _near(points: Array) -> Array:
    """The points (n, S, 3) with NaN for those far from the rest of their body."""
    known: NDArray[np.bool_] = np.asarray(np.isfinite(points).all(axis=2))
    some = known.any(axis=1)
    near = np.full_like(points, np.nan)
    near[known] = points[known]
    middle = np.nanmedian(near[some], axis=1, keepdims=True)
    far = np.zeros_like(known)
    far[some] = np.linalg.norm(near[some] - middle, axis=2) > REACH_M
    near[far] = np.nan
    return near


def _place(goals: Mapping[str, Array], end: str, frames: int) -> Array:
    return np.asarray(goals[end]) if end in goals else np.full((frames, 3), np.nan)
