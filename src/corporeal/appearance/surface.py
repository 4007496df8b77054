"""Triangles with colours, and the plain solids of robot descriptions as such."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from corporeal.geometry import Array

SIDES = 24


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles `corners` (n, 3, xyz) in metres, each with a colour (n, rgb) from 0 to 1."""

    corners: Array
    colours: Array

    def __len__(self) -> int:
        return len(self.corners)

    def moved(self, pose: Array, scale: ArrayLike = 1.0) -> Surface:
        """Stretched along its own axes, then put into a 4x4 pose; mirrored, it still faces out."""
        scales = np.broadcast_to(np.asarray(scale, np.float64), 3)
        corners = (self.corners * scales) @ pose[:3, :3].T + pose[:3, 3]
        return Surface(corners[:, ::-1] if np.prod(scales) < 0 else corners, self.colours)

    def painted(self, colour: ArrayLike) -> Surface:
        """The same in one colour."""
        return Surface(self.corners, np.tile(np.asarray(colour, np.float64), (len(self), 1)))


def joined(surfaces: list[Surface]) -> Surface:
    """All triangles of several."""
    if not surfaces:
        return Surface(np.zeros((0, 3, 3)), np.zeros((0, 3)))
    return Surface(
        np.concatenate([each.corners for each in surfaces]),
        np.concatenate([each.colours for each in surfaces]),
    )


def box(size: ArrayLike) -> Surface:
    """A box about the origin."""
    half = np.asarray(size, np.float64) / 2
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return _plain((signs * half)[np.array(faces)])


def turned(outline: ArrayLike) -> Surface:
    """A solid of revolution about z; `outline` is (n, radius and height) from below to the top."""
    radius, height = np.asarray(outline, np.float64).T
    angle = np.linspace(0, 2 * np.pi, SIDES + 1)
    rings = np.stack(
        [
            radius[:, None] * np.cos(angle),
            radius[:, None] * np.sin(angle),
            np.broadcast_to(height[:, None], (len(radius), SIDES + 1)),
        ],
        axis=-1,
    )
    a, b, c, d = rings[:-1, :-1], rings[:-1, 1:], rings[1:, 1:], rings[1:, :-1]
    faces = np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)])
    return _plain(faces.reshape(-1, 3, 3))


def solid(kind: str, size: tuple[float, ...]) -> Surface:
    """A box, sphere, cylinder or capsule as descriptions have them: radius, then length."""
    if kind == "box":
        return box(size)
    radius = size[0]
    half = size[1] / 2 if len(size) > 1 else 0.0
    if kind == "cylinder":
        return turned([(0, -half), (radius, -half), (radius, half), (0, half)])
    arc = np.linspace(0, np.pi / 2, 7)
    below = [(radius * np.sin(t), -half - radius * np.cos(t)) for t in arc]
    return turned([*below, *((r, -z) for r, z in below[::-1])])


def _plain(corners: Array) -> Surface:
    return Surface(corners, np.full((len(corners), 3), 0.7))
