"""The two bodies as simple solids: the robot's own shapes, and a figure for the person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics, placement_of
from corporeal.geometry import Array
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion
from corporeal.retargeting.result import ENDS

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
    kinematics = Kinematics(robot)
    above = {joint.child: joint.parent for joint in robot.joints}
    chains: dict[int, set[str]] = {}
    for number, end in enumerate(ENDS):
        side, part = end.split("_")
        place = robot.end_effectors.get(end) if part == "hand" else robot.feet.get(side)
        if place is not None:
            chains[number] = _up(kinematics.names[kinematics.place(place)[0]], above)
    own: dict[int, set[str]] = {}
    for number, chain in chains.items():
        others = [other for key, other in chains.items() if key != number]
        own[number] = chain.difference({robot.base}, *others)
    ends: dict[str, int] = {}
    for link in robot.links:
        for number, chain in own.items():
            if _up(link.name, above) & chain:
                ends[link.name] = number
    return ends


def _up(link: str, above: dict[str, str]) -> set[str]:
    chain = {link}
    while link in above:
        link = above[link]
        chain.add(link)
    return chain
