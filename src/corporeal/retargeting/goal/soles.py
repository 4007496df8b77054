"""The soles of a robot: the points of its feet that stand on the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.collision import foot_axes, reach_along
from corporeal.embodiment.embodiment import Shape
from corporeal.embodiment.kinematics import Kinematics, placement_of
from corporeal.errors import ModelError
from corporeal.geometry import Array
from corporeal.retargeting.motion import SIDES

# Half length and half width of a foot whose link has no shape.
_HALF_LENGTH_M, _HALF_WIDTH_M = 0.1, 0.035

# A foot farther below its joint than this share of what is above it has no ankle.
SHIN_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Soles:
    """Left and right sole, in the axes of the links (2,) that carry them.

    `heel` and `toe` (2, 3) are the middles of the rear and front edge, `corners` (2, 4, 3) the
    rear left, rear right, front left and front right ones, `centre` (2, 3) the named foot.
    `rotations` (2, 3, 3) are the axes of a sole: x to the toes, z up.
    """

    link: NDArray[np.int64]
    heel: Array
    toe: Array
    corners: Array
    centre: Array
    rotations: Array

    @property
    def length(self) -> float:
        """From heel to toe, m."""
        return float(np.linalg.norm(self.toe - self.heel, axis=1).mean())


def soles_of(robot: Embodiment) -> Soles:
    """The soles of a robot whose document declares a left and a right foot."""
    absent = [side for side in SIDES if side not in robot.feet]
    if absent:
        raise ModelError(
            f"robot {robot.name!r} has no {absent[0]} foot, got {sorted(robot.feet)}; expected "
            "left and right. Declare them under feet in its document."
        )
    kinematics = Kinematics(robot)
    links, places, corners = [], [], []
    for side in SIDES:
        link, place = kinematics.place(robot.feet[side])
        place = np.column_stack([foot_axes(robot, side), place[:, 3]])
        links.append(link)
        places.append(place)
        rectangle = _corners(robot.links[link].collision, place)
        if _lacks_ankle(robot, kinematics, side):
            # A shin that rolls over its end stands on a point.
            rectangle = np.tile(rectangle.mean(axis=0), (4, 1))
        corners.append(rectangle)
    rectangles = np.array(corners)
    placed = np.array(places)
    return Soles(
        np.array(links, np.int64),
        rectangles[:, :2].mean(axis=1),
        rectangles[:, 2:].mean(axis=1),
        rectangles,
        placed[:, :, 3],
        placed[:, :, :3],
    )


def _lacks_ankle(robot: Embodiment, kinematics: Kinematics, side: str) -> bool:
    """Whether a foot is the far end of a shin, and no joint turns it."""
    link, place = kinematics.place(robot.feet[side])
    members = robot.groups.get(f"{side}_leg", ())
    first = next((joint.child for joint in robot.joints if joint.name in members), None)
    if first is None:
        return False
    poses = kinematics.link_poses(np.zeros((1, len(robot.joint_names))))
    above = poses.position(first)[0] - poses.position(kinematics.names[link])[0]
    return float(np.linalg.norm(place[:, 3])) > SHIN_SHARE * float(np.linalg.norm(above))


def sole_points(soles: Soles, poses: Array) -> Array:
    """Places (T, 2, 2, 3) in the world of [left, right] x [heel, toe]."""
    points = np.stack([soles.heel, soles.toe], axis=1)
    return _carried(points, poses[soles.link])


def sole_corners(soles: Soles, poses: Array) -> Array:
    """Places (T, 2, 4, 3) in the world of the corners of both soles."""
    return _carried(soles.corners, poses[soles.link])


def corner_heights(soles: Soles, poses: Array) -> Array:
    """Heights (T, 2, 4) of the corners of both soles."""
    rows = poses[soles.link, 2]
    turned = np.einsum("fkt,fpk->tfp", rows[:, :3], soles.corners, optimize=True)
    return np.asarray(turned + rows[:, 3].T[:, :, None])


def _corners(shapes: tuple[Shape, ...], place: Array) -> Array:
    """The corners (4, 3) of the rectangle on which the shapes stand, in link axes."""
    low = np.array([-_HALF_LENGTH_M, -_HALF_WIDTH_M, 0.0])
    high = np.array([_HALF_LENGTH_M, _HALF_WIDTH_M, 0.0])
    if shapes:
        bounds = np.array([_bounds(shape, place) for shape in shapes])
        low, high = bounds[:, 0].min(axis=0), bounds[:, 1].max(axis=0)
    flat = [(x, y, low[2]) for x in (low[0], high[0]) for y in (high[1], low[1])]
    return np.asarray(np.array(flat) @ place[:, :3].T + place[:, 3])


def _bounds(shape: Shape, place: Array) -> Array:
    """The least and the greatest coordinates (2, 3) of a shape in the axes of the sole."""
    own = placement_of(shape)
    rotation = place[:, :3].T @ own[:, :3]
    centre = place[:, :3].T @ (own[:, 3] - place[:, 3])
    reach = reach_along(shape, rotation.T)
    return np.stack([centre - reach, centre + reach])


def _carried(points: Array, links: Array) -> Array:
    """Points (2, P, 3) on two links at (2, 3, 4, T), in the world as (T, 2, P, 3)."""
    turned = np.einsum("fikt,fpk->tfpi", links[:, :, :3], points, optimize=True)
    return np.asarray(turned + np.moveaxis(links[:, :, 3], -1, 0)[:, :, None])
