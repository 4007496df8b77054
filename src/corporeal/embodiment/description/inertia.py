"""Masses and inertias of rigid bodies: moved to another frame, and added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from corporeal.embodiment.embodiment import Inertia, Vector
from corporeal.geometry import Array


def moved(inertia: Inertia, into: Array) -> Inertia:
    """The same mass seen from another frame; `into` is that frame's 4x4 pose of the old one."""
    rotation = into[:3, :3]
    com = rotation @ np.asarray(inertia.com) + into[:3, 3]
    return inertia_of(inertia.mass, com, rotation @ inertia_matrix(inertia) @ rotation.T)


def combined(inertias: Sequence[Inertia]) -> Inertia | None:
    """One rigid body made of several in the same frame (parallel axis theorem)."""
    mass = sum(inertia.mass for inertia in inertias)
    if mass <= 0:
        return None
    if len(inertias) == 1:
        return inertias[0]
    com = np.asarray(sum(i.mass * np.asarray(i.com) for i in inertias)) / mass
    total = np.zeros((3, 3))
    for inertia in inertias:
        arm = np.asarray(inertia.com) - com
        total += inertia_matrix(inertia)
        total += inertia.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return inertia_of(mass, com, total)


def inertia_matrix(inertia: Inertia) -> Array:
    """The 3x3 inertia about the centre of mass, kg m2."""
    ixx, ixy, ixz, iyy, iyz, izz = inertia.matrix
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def inertia_of(mass: float, com: ArrayLike, matrix: Array) -> Inertia:
    """An inertia from a 3x3 matrix about the centre of mass, in the link's axes."""
    values = [float(f"{matrix[i, j]:.12g}") for i, j in zip(*np.triu_indices(3), strict=True)]
    return Inertia(mass=float(f"{mass:.12g}"), com=dusted(np.asarray(com)), matrix=tuple(values))


def dusted(values: Array) -> Vector:
    """Three numbers without the dust of arithmetic: twelve decimals, no minus zero."""
    x, y, z = (round(float(value), 12) + 0.0 for value in values)
    return x, y, z
