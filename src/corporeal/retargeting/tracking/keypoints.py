"""Places on a robot that show whether its body does what a motion asks for, and how far off."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, matrix_from_quaternion

BASE = "base"
# A joint by a part of its name: the first of a side is where that part of the body is.
PARTS = ("knee", "elbow", "shoulder")
SIDES = ("left", "right")


@dataclass(frozen=True)
class TrackingSpread:
    """A set of errors in three numbers, metres."""

    mean: float
    p95: float
    max: float


def key_points(robot: Embodiment) -> dict[str, str]:
    """{name: link or frame}: base, hands, head, feet, knees, elbows, shoulders, as far as known."""
    found = {BASE: robot.base, **robot.end_effectors}
    found.update({f"{name}_foot": place for name, place in robot.feet.items()})
    for side in SIDES:
        for part in PARTS:
            joint = next(
                (one for one in robot.joints if re.search(rf"(?i){side}.*{part}", one.name)), None
            )
            if joint is not None:
                found[f"{side}_{part}"] = joint.child
    return found


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
    heading: Array = np.arctan2(forward[:, 1], forward[:, 0])
    return heading


def _on_body(points: Array, base: Array) -> Array:
    away = points - base[:, None, :3]
    cosine, sine = np.cos(headings(base))[:, None], np.sin(headings(base))[:, None]
    x, y = away[..., 0], away[..., 1]
    return np.stack([cosine * x + sine * y, cosine * y - sine * x, away[..., 2]], axis=-1)
