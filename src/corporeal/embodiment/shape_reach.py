"""How far a shape reaches along a direction: what decides how low a body is."""

from __future__ import annotations

import numpy as np

from corporeal.embodiment.embodiment import Shape
from corporeal.embodiment.kinematics import placement_of
from corporeal.geometry import Array


def reach_along(shape: Shape, directions: Array) -> Array:
    """From the centre of a shape to its end along unit vectors (3, ...) in its own axes, m."""
    size = np.array(shape.size)
    along = np.abs(directions)
    if shape.type == "box":
        return np.asarray(np.tensordot(size / 2, along, axes=1), np.float64)
    if shape.type == "sphere":
        return np.full(along.shape[1:], size[0])
    side = 1.0 if shape.type == "capsule" else np.sqrt(np.maximum(1 - along[2] ** 2, 0.0))
    return np.asarray(size[1] / 2 * along[2] + size[0] * side, np.float64)


def lowest_point(shape: Shape, row: Array) -> Array:
    """Height (T,) of a shape's lowest point; `row` (4, T) is the third row of its link's pose."""
    place = placement_of(shape)
    centre: Array = place[:, 3] @ row[:3] + row[3]
    return centre - reach_along(shape, place[:, :3].T @ row[:3])
