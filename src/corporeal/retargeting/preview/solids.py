"""The robot's shapes and the rods between them, as MuJoCo draws them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Shape
from corporeal.embodiment.kinematics import Kinematics, placement_of
from corporeal.geometry import Array
from corporeal.retargeting.preview.bodies import limbs

# No humanoid comes near: a document with more is not drawn in full.
MOST_SHAPES, MOST_RODS = 300, 150


@dataclass(frozen=True, eq=False)
class Solid:
    """A shape at `pose` (3, 4) on a link; `end` is the end of its limb, a number in ENDS."""

    link: int
    end: int | None
    kind: str
    size: tuple[float, ...]
    pose: Array


@dataclass(frozen=True, eq=False)
class Rod:
    """From the origin of a link to a point (3,) on another, or on the same."""

    link: int
    other: int
    tip: Array
    end: int | None


def solids_of(robot: Embodiment) -> tuple[Solid, ...]:
    """All shapes, with MuJoCo's sizes."""
    ends = limbs(robot)
    found = [
        Solid(number, ends.get(link.name), shape.type, _halves(shape), placement_of(shape))
        for number, link in enumerate(robot.links)
        for shape in link.collision
    ]
    return tuple(found[:MOST_SHAPES])


def rods_of(robot: Embodiment) -> tuple[Rod, ...]:
    """From joint to joint and on to the end effectors, which shapes alone leave unconnected."""
    kinematics, ends = Kinematics(robot), limbs(robot)
    at = {name: number for number, name in enumerate(kinematics.names)}
    found = [
        Rod(at[joint.parent], at[joint.child], np.zeros(3), ends.get(joint.child))
        for joint in robot.joints
    ]
    for place in robot.end_effectors.values():
        link, pose = kinematics.place(place)
        found.append(Rod(link, link, pose[:, 3], ends.get(kinematics.names[link])))
    return tuple(found[:MOST_RODS])


def _halves(shape: Shape) -> tuple[float, ...]:
    if shape.type == "box":
        return tuple(extent / 2 for extent in shape.size)
    radius = shape.size[0]
    return radius, radius if shape.type == "sphere" else shape.size[1] / 2, radius
