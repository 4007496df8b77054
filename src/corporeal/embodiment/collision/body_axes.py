"""Forward, left and up of a robot's base and feet, told from hips, shoulders, ankles and soles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.embodiment.collision.broad_phase import reach_along
from corporeal.embodiment.embodiment import Embodiment, Shape, model_of
from corporeal.embodiment.joints.joint_map import outward_joints, standing_positions
from corporeal.embodiment.kinematics import Kinematics, placement_of
from corporeal.geometry import Array, normalise

SIDES = ("left", "right")
# A direction nearer than this to an axis of its link is meant to be that axis.
NEAR_RAD = np.radians(40.0)
# A foot without shapes that is steeper than this at rest does not tell its sole by its own axes.
STEEP_RAD = np.radians(20.0)
# Points nearer than this to each other tell no direction, m.
APART_M = 0.02


def body_axes(robot: Embodiment) -> Array:
    """Columns forward, left and up (3, 3) in the axes of the base, as the robot stands.

    Left is where the left hip and shoulder are, up is from the ankles over the hips to the
    shoulders; without legs up is the base's z. A robot without two sides is taken as x forward.
    """
    kinematics = model_of(robot, Kinematics)
    at = kinematics.transforms(standing_positions(robot)[None])[..., 0]
    hips, shoulders = (_first_joints(robot, kinematics, at, part) for part in ("leg", "arm"))
    feet = _feet(robot, kinematics, at)
    ups = []
    if hips is not None and feet is not None:
        ups.append((hips - feet).mean(axis=0))
        if shoulders is not None:
            ups.append((shoulders - hips).mean(axis=0))
    up = _nearest_axis(_mean_direction(ups, np.array([0.0, 0.0, 1.0])))
    pairs = [pair for pair in (hips, shoulders) if pair is not None]
    lefts = [_across(pair[0] - pair[1], up) for pair in pairs]
    straight = _across(np.eye(3)[1] if abs(up[1]) < 0.9 else np.eye(3)[0], up)
    left = _across(_nearest_axis(_mean_direction(lefts, straight)), up)
    left = normalise(left)
    return np.stack([np.cross(left, up), left, up], axis=1)


def foot_axes(robot: Embodiment, side: str) -> Array:
    """Columns (3, 3) to the toes, to the left and up of a sole, in the axes of the foot's link.

    As the foot lies when the robot stands; of the axes near to that, those in which its shapes
    fill the smallest box, since soles are flat.
    """
    kinematics = model_of(robot, Kinematics)
    link, place = kinematics.place(robot.feet[side])
    at = kinematics.transforms(standing_positions(robot)[None])[..., 0]
    lying = at[link, :, :3].T @ model_of(robot, body_axes)
    shapes = robot.links[link].collision
    choices = [(axes, _angle(axes, lying)) for axes in _candidates(lying, place, shapes)]
    if not shapes:
        own, apart = choices[1]
        return own if apart < STEEP_RAD else lying
    near = [axes for axes, apart in choices if apart < NEAR_RAD]
    sizes = [_box_size(shapes, axes) for axes in near]
    smallest = min(sizes)
    return next(axes for axes, size in zip(near, sizes, strict=True) if size < 1.02 * smallest)


def _first_joints(robot: Embodiment, kinematics: Kinematics, at: Array, part: str) -> Array | None:
    """Where (2, 3) the first joints of both limbs are; None where one is missing."""
    order = [joint.name for joint in outward_joints(robot)]
    child = {joint.name: joint.child for joint in robot.joints}
    places = []
    for side in SIDES:
        members = robot.groups.get(f"{side}_{part}", ())
        if not members:
            return None
        first = min(members, key=order.index)
        places.append(at[kinematics.names.index(child[first]), :, 3])
    apart = float(np.linalg.norm(places[0] - places[1]))
    return np.array(places) if apart > APART_M else None


def _feet(robot: Embodiment, kinematics: Kinematics, at: Array) -> Array | None:
    if any(side not in robot.feet for side in SIDES):
        return None
    places = [kinematics.place(robot.feet[side]) for side in SIDES]
    return np.array([at[link, :, :3] @ place[:, 3] + at[link, :, 3] for link, place in places])


def _mean_direction(vectors: list[Array], otherwise: Array) -> Array:
    long = [vector for vector in vectors if np.linalg.norm(vector) > APART_M]
    return normalise(np.sum([normalise(vector) for vector in long], axis=0)) if long else otherwise


def _nearest_axis(direction: Array) -> Array:
    """The signed axis near to a direction, or the direction itself where none is."""
    number = int(np.argmax(np.abs(direction)))
    if np.arccos(min(1.0, abs(float(direction[number])))) > NEAR_RAD:
        return direction
    return np.asarray(np.eye(3)[number] * np.sign(direction[number]))


def _across(vector: Array, up: Array) -> Array:
    return np.asarray(vector - (vector @ up) * up)


def _candidates(lying: Array, place: Array, shapes: tuple[Shape, ...]) -> Iterator[Array]:
    """Axes a sole may have: as it lies, those of its link and its place, and those of its boxes."""
    yield lying
    boxes = [placement_of(shape)[:, :3] for shape in shapes if shape.type == "box"]
    for axes in (np.eye(3), place[:, :3], *boxes):
        up = axes @ _nearest_signed(axes.T @ lying[:, 2])
        ahead = _across(lying[:, 0], up)
        ahead = axes @ _nearest_signed(axes.T @ normalise(ahead))
        if abs(float(ahead @ up)) < 1e-6:
            yield np.stack([ahead, np.cross(up, ahead), up], axis=1)


def _nearest_signed(direction: Array) -> Array:
    number = int(np.argmax(np.abs(direction)))
    return np.asarray(np.eye(3)[number] * np.sign(direction[number]))


def _angle(first: Array, second: Array) -> float:
    return float(np.arccos(np.clip((np.trace(first.T @ second) - 1) / 2, -1.0, 1.0)))


def _box_size(shapes: tuple[Shape, ...], axes: Array) -> float:
    """The volume of the box along these axes that holds all shapes, m3."""
    lows, highs = [], []
    for shape in shapes:
        own = placement_of(shape)
        centre = axes.T @ own[:, 3]
        reach = reach_along(shape, own[:, :3].T @ axes)
        lows.append(centre - reach)
        highs.append(centre + reach)
    extent = np.max(highs, axis=0) - np.min(lows, axis=0)
    return float(np.prod(extent + 1e-3))
