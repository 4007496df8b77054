"""Where rays of a camera end on the robot, by the shapes of its description."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.embodiment import Shape
from corporeal.embodiment.kinematics import Poses, placement_of
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array

# A camera lies within the rough shape of its own head or hand: what is nearer is not looked at.
_NEAREST_M = 0.05
# Joints that were not recorded are moved by this, to see what depends on them.
_TRIED_RAD = 0.3


@dataclass(frozen=True)
class MovingShape:
    """A shape on a link, which moves against the camera by joints that were recorded."""

    link: int
    shape: Shape
    placement: Array


def moving_shapes(subject: Subject, frame: str | None) -> tuple[MovingShape, ...]:
    """Every shape but those of the camera's own link, of links that nobody measured, and of hands.

    What a robot has at its wrists is seldom what its description has.
    """
    model, posture = subject.kinematics, subject.posture
    own = None if frame in (None, "world") else model.place(str(frame))[0]
    still = np.nan_to_num(posture.q[:1])
    tried = np.where(posture.present, still, still + _TRIED_RAD)
    before, after = (_beside(model.link_poses(q), own) for q in (still, tried))
    is_known = np.abs(before - after).max(axis=(1, 2)) < 1e-9
    hands = _hands(subject)
    return tuple(
        MovingShape(number, shape, placement_of(shape))
        for number, link in enumerate(subject.robot.links)
        if number != own and is_known[number] and link.name not in hands
        for shape in link.collision
    )


def _hands(subject: Subject) -> set[str]:
    """The last links of limbs that bear end effectors."""
    robot, model = subject.robot, subject.kinematics
    bearing = {model.place(place)[0] for place in robot.end_effectors.values()}
    return {model.names[link] for link in bearing - {step.parent for step in model.steps}}


def _beside(poses: Poses, own: int | None) -> Array:
    """The links' poses (L, 3, 4) as the camera's own link sees them."""
    turns, places = poses.rotations[0], poses.positions[0]
    if own is not None:
        places = (places - places[own]) @ turns[own]
        turns = turns[own].T @ turns
    return np.concatenate([turns, places[:, :, None]], axis=2)


def distances_along(
    along: Array, camera: Array, links: Poses, row: int, shapes: tuple[MovingShape, ...]
) -> tuple[Array, NDArray[np.int64]]:
    """How far (N,) rays of unit length in the camera's axes go until the robot, and whose link
    that is; infinite and -1 where they miss it. `camera` (4, 4) is where the links' poses are."""
    nearest, whose = np.full(len(along), np.inf), np.full(len(along), -1, np.int64)
    directions = along @ camera[:3, :3].T
    for each in shapes:
        turn, place = links.rotations[row, each.link], links.positions[row, each.link]
        axes = turn @ each.placement[:, :3]
        middle = turn @ each.placement[:, 3] + place
        entry = _entry(each.shape, (camera[:3, 3] - middle) @ axes, directions @ axes)
        closer = entry < nearest
        nearest[closer], whose[closer] = entry[closer], each.link
    return nearest, whose


def _entry(shape: Shape, origin: Array, along: Array) -> Array:
    """How far (N,) a shape is from `origin` along directions, in its own axes; infinite beside."""
    if shape.type == "sphere":
        return _ball(shape.size[0], origin, along)
    if shape.type == "box":
        return _outside(*_slab(np.array(shape.size) / 2, origin, along))
    radius, length = shape.size
    near, far = _tube(radius, origin, along)
    low, high = _slab(np.array([length / 2]), origin[2:], along[:, 2:])
    walls = _outside(np.maximum(near, low), np.minimum(far, high))
    if shape.type == "cylinder":
        return walls
    end = np.array([0.0, 0.0, length / 2])
    caps = np.minimum(_ball(radius, origin - end, along), _ball(radius, origin + end, along))
    return np.asarray(np.minimum(walls, caps))


def _outside(near: Array, far: Array) -> Array:
    return np.where((near < far) & (near > _NEAREST_M), near, np.inf)


def _ball(radius: float, origin: Array, along: Array) -> Array:
    across = along @ origin
    square = across**2 - (origin @ origin - radius**2)
    root = np.sqrt(np.maximum(square, 0.0))
    near = np.where(square > 0, -across - root, np.inf)
    return _outside(near, np.where(square > 0, -across + root, -np.inf))


def _tube(radius: float, origin: Array, along: Array) -> tuple[Array, Array]:
    """Where a ray enters and leaves a tube along z without ends."""
    flat, start = along[:, :2], origin[:2]
    size = np.maximum((flat**2).sum(axis=1), 1e-12)
    across = flat @ start / size
    square = across**2 - (start @ start - radius**2) / size
    root = np.sqrt(np.maximum(square, 0.0))
    missed = square <= 0
    return np.where(missed, np.inf, -across - root), np.where(missed, -np.inf, -across + root)


def _slab(half: Array, origin: Array, along: Array) -> tuple[Array, Array]:
    """Where a ray enters and leaves a box of these half sizes (K,)."""
    slope = np.where(np.abs(along) < 1e-12, 1e-12, along)
    first, second = (-half - origin) / slope, (half - origin) / slope
    return np.minimum(first, second).max(axis=1), np.maximum(first, second).min(axis=1)
