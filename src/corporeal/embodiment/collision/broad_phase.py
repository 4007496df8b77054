"""Which pairs of shapes may be near each other: bounds over all frames and pairs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.embodiment import Embodiment, Shape
from corporeal.embodiment.kinematics import placement_of
from corporeal.geometry import Array, matrix_from_rpy

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Shapes:
    """All S shapes of a robot as arrays: each lies inside a capsule and holds a ball.

    `link` (S,) is the link's number and `places` (S, 3, 4) the pose on it. `spines` (S, 3) is half
    of the capsule's straight part in link axes, `radii` (S,) its radius, `inner_radii` (S,) that
    of the ball around the shape's centre. Where `is_capsule`, the capsule is the shape itself.
    """

    link: Indices
    places: Array
    spines: Array
    radii: Array
    inner_radii: Array
    is_capsule: Flags

    def located(self, poses: Array) -> Array:
        """Centre and half spine (S, 3, 2, T) in the world from poses of links (L, 3, 4, T)."""
        out = np.empty((len(self.link), 3, 2, poses.shape[-1]))
        on_link = np.stack([self.places[:, :, 3], self.spines], axis=1)
        for shape, link, place in zip(out, self.link, on_link, strict=True):
            np.matmul(place, poses[link][:, :3], out=shape)
            shape[:, 0] += poses[link][:, 3]
        return out


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs of shapes in frames, n of them.

    `bound` (n,) is never above the signed distance, and is that distance where `exact`.
    """

    frame: Indices
    pair: Indices
    bound: Array
    exact: Flags


def shapes_of(embodiment: Embodiment) -> Shapes:
    """The shapes of all links, link by link in the document's order."""
    links = embodiment.links
    owned = [(number, shape) for number, link in enumerate(links) for shape in link.collision]
    hulls = [_hull(shape) for _, shape in owned]
    return Shapes(
        np.array([number for number, _ in owned], np.int64),
        np.array([placement_of(shape) for _, shape in owned]).reshape(-1, 3, 4),
        np.array([spine for spine, _, _ in hulls]).reshape(-1, 3),
        np.array([radius for _, radius, _ in hulls]),
        np.array([inner for _, _, inner in hulls]),
        np.array([shape.type in ("sphere", "capsule") for _, shape in owned], bool),
    )


def near_pairs(shapes: Shapes, pairs: Indices, located: Array, reach_m: float | None) -> Candidates:
    """Pairs of shapes (P, 2) that may be nearer than `reach_m`, frame by frame.

    Without a reach: those that may be the nearest pair of their frame. Balls around the shapes
    sort out most, capsules around them most of the rest.
    """
    a, b = pairs.T
    gaps = np.empty((len(pairs), located.shape[-1]))
    for first in np.unique(a):
        rows = a == first
        apart = located[b[rows], :, 0] - located[first, :, 0]
        gaps[rows] = np.sqrt(np.einsum("pit,pit->pt", apart, apart))
    if reach_m is None:
        # The nearest pair is no farther apart than the balls inside any two shapes.
        inner = shapes.inner_radii[a] + shapes.inner_radii[b]
        limit = (gaps - inner[:, None]).min(axis=0, initial=np.inf)
    else:
        limit = np.full(gaps.shape[1], reach_m)
    outer = np.linalg.norm(shapes.spines, axis=1) + shapes.radii
    pair, frame = np.nonzero(gaps - (outer[a] + outer[b])[:, None] <= limit)
    first, second = located[a[pair], :, :, frame].T, located[b[pair], :, :, frame].T
    bound = segment_distance(first[0], first[1], second[0], second[1])
    bound -= shapes.radii[a[pair]] + shapes.radii[b[pair]]
    near = bound <= limit[frame]
    exact = shapes.is_capsule[a] & shapes.is_capsule[b]
    return Candidates(frame[near], pair[near], bound[near], exact[pair[near]])


def segment_distance(centre_a: Array, half_a: Array, centre_b: Array, half_b: Array) -> Array:
    """Distances (n,) of segments, each given by its centre and half its length (3, n)."""
    first, second = nearest_on_segments(centre_a, half_a, centre_b, half_b)
    between = first - second
    distance: Array = np.sqrt((between * between).sum(0))
    return distance


def nearest_on_segments(
    centre_a: Array, half_a: Array, centre_b: Array, half_b: Array
) -> tuple[Array, Array]:
    """The points (3, n) on two segments each that are nearest to the other."""
    apart = centre_a - centre_b
    aa, bb, ab = (half_a * half_a).sum(0), (half_b * half_b).sum(0), (half_a * half_b).sum(0)
    ca, cb = (half_a * apart).sum(0), (half_b * apart).sum(0)
    safe_a, safe_b = np.where(aa > 0, aa, 1.0), np.where(bb > 0, bb, 1.0)
    crossing = aa * bb - ab * ab
    skew = crossing > 1e-12 * safe_a * safe_b
    # Along the first segment to where both lines are nearest, then to and fro within the ends.
    s = np.clip(np.where(skew, ab * cb - ca * bb, 0.0) / np.where(skew, crossing, 1.0), -1, 1)
    t = np.clip((ab * s + cb) / safe_b, -1, 1)
    s = np.clip((ab * t - ca) / safe_a, -1, 1)
    return centre_a + half_a * s, centre_b + half_b * t


def _hull(shape: Shape) -> tuple[Array, float, float]:
    """Half the spine (3,) in link axes and the radius of a capsule around; the ball within."""
    if shape.type == "box":
        half = np.array(shape.size) / 2
        spine = np.where(np.arange(3) == int(np.argmax(half)), half, 0.0)
        radius, inner = float(np.linalg.norm(half - spine)), float(half.min())
    else:
        radius = shape.size[0]
        height = shape.size[1] / 2 if len(shape.size) > 1 else 0.0
        inner = min(radius, height) if shape.type == "cylinder" else radius
        spine = np.array([0.0, 0.0, height])
    return matrix_from_rpy(shape.rpy) @ spine, radius, inner


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
