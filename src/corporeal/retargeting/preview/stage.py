"""Who stands where in a preview: both bodies at any time, and what they are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics, Poses, placement_of
from corporeal.geometry import Array, matrix_from_quaternion, slerp
from corporeal.retargeting.goal.places import chain_to
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion, MotionError
from corporeal.retargeting.result import ENDS, FAR_M, KNOWN, Retargeted

BLOCK = 256
# Between the two bodies when they are nearest, and how far apart they may be put.
GAP_M, NEAREST_M, FARTHEST_M = 0.25, 1.0, 2.0
# Paths that part by more than this are brought together: the person's way is made shorter.
APART_M = 0.35
# The camera is so far to the side of where they go; beside each other is across its picture, so
# that neither is nearer to it and looks taller.
YAW_DEG = 28.0
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

    The robot is where the result has it. The person, in their own size, is moved by `shift` (3,),
    which puts them beside the robot, and their way over the ground is `pace` times as long.
    `forward` (3,) is where they go, or look.
    """

    result: Retargeted
    times_s: Array
    pace: float
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
            yield both, np.concatenate([local.radii, np.full(len(POINTS), 0.12)])

    def robot_at(self, times_s: Array) -> Poses:
        """Poses of all links."""
        result = self.result
        before, after, share = _between(times_s, result.rate_hz, len(result))
        q, base = (
            rows[before] + share[:, None] * (rows[after] - rows[before])
            for rows in (result.q, result.base)
        )
        base[:, 3:] = slerp(result.base[before, 3:], result.base[after, 3:], share)
        return self.kinematics.link_poses(q, base)

    def person_at(self, times_s: Array) -> Array:
        """The person's points (n, P, 3) where they are drawn, NaN where not known."""
        human = self.result.human
        before, after, share = _between(times_s, human.rate_hz, len(human))
        start, end = human.positions[before], human.positions[after]
        moved = start + share[:, None, None] * (end - start)
        way = np.nan_to_num(moved[:, POINTS.index("pelvis")]) * [1.0, 1.0, 0.0]
        return np.asarray(moved + ((self.pace - 1) * way)[:, None] + self.shift)

    def _block(self, times: Array) -> Iterator[PreviewMoment]:
        result, poses, points = self.result, self.robot_at(times), self.person_at(times)
        rows = np.clip(np.rint(times * result.rate_hz), 0, len(result) - 1).astype(np.int64)
        known, goals = result.goals.confidence[rows] > KNOWN, result.goals.positions
        error = np.where(known, result.error_m[rows], np.nan)
        targets = np.stack([_place(goals, end, len(result))[rows] for end in ENDS], axis=1)
        far = (error > FAR_M) & result.infeasible[rows, None]
        soles = targets[:, 2:].copy()
        for side, name in enumerate(SIDES):
            if name in result.robot.feet:
                link, pose = self.kinematics.place(result.robot.feet[name])
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
    pace, shift = _together(result)
    there = Stage(result, times, pace, shift, forward)
    # On the mover's right, which is the left of the picture: both come towards the camera.
    left = -np.cross(camera_level(forward), (0.0, 0.0, 1.0))
    return Stage(result, times, pace, shift + _distance(there, left) * left, forward)


def camera_level(forward: Array) -> Array:
    """Where (3,) the camera looks, without its looking down: against those who come towards it."""
    yaw = np.radians(YAW_DEG)
    x, y = -forward[0], -forward[1]
    level = [x * np.cos(yaw) - y * np.sin(yaw), x * np.sin(yaw) + y * np.cos(yaw), 0.0]
    return np.array(level)


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
    """How much of their way the person may go beside the robot, and from one to the other."""
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
    pace = 1.0
    if np.linalg.norm(a - b, axis=1).max() > APART_M:
        pace = float(np.clip((a * b).sum() / max((a * a).sum(), 1e-9), 0.4, 1.4))
    shift = robot.mean(axis=0) - pace * person.mean(axis=0)
    return pace, np.array([*shift, 0.0])


def _distance(stage: Stage, right: Array) -> float:
    """How far to the right the person must go not to touch the robot in any moment."""
    needed = NEAREST_M
    for first in range(0, len(stage), BLOCK):
        times = stage.times_s[first : first + BLOCK]
        robot = stage.robot_at(times).positions @ right
        person = _near(stage.person_at(times)) @ right
        nearest = np.where(np.isfinite(person), person, np.inf).min(axis=1)
        needed = max(needed, float((robot.max(axis=1) - nearest).max()) + GAP_M)
    return min(needed, FARTHEST_M)


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


# Radii of a person 1.7 m tall.
STATURE_M = 1.7
# What pelvis to neck, thigh and shank together are of the stature.
_SHARE_OF_STATURE = 0.78


@dataclass(frozen=True)
class FigureBone:
    """A capsule between two of the person's points; `end` is the end of its limb, if it has one."""

    first: str
    second: str
    radius: float
    end: int | None = None


def bones() -> tuple[FigureBone, ...]:
    """Those of a whole person."""
    capsules = [
        FigureBone("pelvis", "spine", 0.105),
        FigureBone("spine", "chest", 0.105),
        FigureBone("chest", "neck", 0.085),
        FigureBone("left_shoulder", "right_shoulder", 0.065),
        FigureBone("neck", "head", 0.05),
    ]
    for side in SIDES:
        arm, leg = ENDS.index(f"{side}_hand"), ENDS.index(f"{side}_foot")
        capsules += [
            FigureBone(f"{side}_shoulder", "chest", 0.07),
            FigureBone(f"{side}_shoulder", "spine", 0.06),
            FigureBone(f"{side}_shoulder", f"{side}_elbow", 0.05, arm),
            FigureBone(f"{side}_elbow", f"{side}_wrist", 0.04, arm),
            FigureBone(f"{side}_wrist", f"{side}_hand", 0.042, arm),
            FigureBone("pelvis", f"{side}_hip", 0.092),
            FigureBone(f"{side}_hip", f"{side}_knee", 0.075, leg),
            FigureBone(f"{side}_knee", f"{side}_ankle", 0.055, leg),
            FigureBone(f"{side}_ankle", f"{side}_heel", 0.045, leg),
            FigureBone(f"{side}_heel", f"{side}_toe", 0.038, leg),
        ]
    return tuple(capsules)


HEAD_RADIUS = 0.105


def stature(human: HumanMotion) -> float:
    """How tall the person is, roughly, in metres: from the lengths of trunk and legs."""
    total = 0.0
    spans = (("pelvis", "neck"), ("left_hip", "left_knee"), ("left_knee", "left_ankle"))
    for first, second in spans:
        lengths = np.linalg.norm(human.point(first) - human.point(second), axis=1)
        known = lengths[np.isfinite(lengths)]
        total += float(np.median(known)) if len(known) else 0.26 * STATURE_M
    return total / _SHARE_OF_STATURE


def complete_points(points: Array) -> Array:
    """The points (..., P, 3) with guesses for those that a figure cannot do without."""
    full = points.copy()

    def at(name: str) -> Array:
        return np.asarray(full[..., POINTS.index(name), :])

    def fill(name: str, guess: Array) -> None:
        unknown = ~np.isfinite(at(name)).all(axis=-1, keepdims=True)
        np.copyto(at(name), guess, where=unknown)

    trunk = at("neck") - at("pelvis")
    fill("spine", at("pelvis") + 0.35 * trunk)
    fill("chest", at("pelvis") + 0.7 * trunk)
    fill("head", at("neck") + 0.38 * trunk)
    for side in SIDES:
        forearm = at(f"{side}_wrist") - at(f"{side}_elbow")
        fill(f"{side}_hand", at(f"{side}_wrist") + 0.3 * forearm)
        fill(f"{side}_heel", at(f"{side}_ankle"))
        fill(f"{side}_toe", at(f"{side}_heel"))
    return full


@dataclass(frozen=True, eq=False)
class Outline:
    """Points (S, 3) in the axes of their links (S,), with how far the surface is from them."""

    links: NDArray[np.int64]
    points: Array
    radii: Array


def outline(robot: Embodiment) -> Outline:
    """The two ends of every shape of a robot; its links' origins if it has no shapes."""
    links, points, radii = [], [], []
    for number, link in enumerate(robot.links):
        for shape in link.collision:
            pose = placement_of(shape)
            half = np.array(shape.size if shape.type == "box" else (0.0, 0.0, 0.0)) / 2
            if shape.type in ("capsule", "cylinder"):
                half = np.array([0.0, 0.0, shape.size[1] / 2])
            for sign in (-1.0, 1.0):
                links.append(number)
                points.append(pose[:, :3] @ (sign * half) + pose[:, 3])
                radii.append(0.0 if shape.type == "box" else shape.size[0])
    if not links:
        links = list(range(len(robot.links)))
        points, radii = [np.zeros(3) for _ in links], [0.05 for _ in links]
    return Outline(np.array(links, np.int64), np.array(points), np.array(radii))


def limbs(robot: Embodiment) -> dict[str, int]:
    """{link: number in ENDS} for links that move one of the ENDS and no other."""
    chains = {
        number: _links_to(robot, place)
        for number, place in enumerate(_end_places(robot))
        if place is not None
    }
    above = {link.name: _links_to(robot, link.name) for link in robot.links}
    ends: dict[str, int] = {}
    for number, chain in chains.items():
        own = chain.difference(*(other for key, other in chains.items() if key != number))
        ends.update({name: number for name, links in above.items() if links & own})
    return ends


def _end_places(robot: Embodiment) -> list[str | None]:
    hands = [robot.end_effectors.get(end) for end in ENDS[:2]]
    return hands + [robot.feet.get(side) for side in SIDES]


def _links_to(robot: Embodiment, place: str) -> set[str]:
    """The links from the base, which is not one of them, to a place."""
    return {joint.child for joint in chain_to(robot, place)}
