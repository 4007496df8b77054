"""Fewer triangles: corners in one cell become one, where the planes around it meet.

Cells are as large as the error of that allows: flat and round faces need few corners, edges many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.appearance.surface import Surface
from corporeal.geometry import Array

Whole = NDArray[np.int64]
CELLS_M = (0.064, 0.032, 0.016, 0.008, 0.004, 0.002, 0.001)
_TOLERANCES_M = (2e-6, 2e-2)
_ROUNDS = 12
_ENOUGH = 0.94
_CREASE = np.cos(np.deg2rad(38))
_FLATNESS = 0.02


def thinned(surfaces: list[Surface], most: int) -> tuple[list[Surface], float]:
    """All of them as fine as `most` triangles together allow; how far off that is, m."""
    if sum(map(len, surfaces)) <= most:
        return surfaces, 0.0
    clusters = [[_Clusters.of(each, cell_m) for cell_m in CELLS_M] for each in surfaces]
    low, high = _TOLERANCES_M
    best, off = [_merged(*pair, high) for pair in zip(surfaces, clusters, strict=True)], high
    for _ in range(_ROUNDS):
        tolerance = float(np.sqrt(low * high))
        tried = [_merged(*pair, tolerance) for pair in zip(surfaces, clusters, strict=True)]
        count = sum(map(len, tried))
        if count > most:
            low = tolerance
            continue
        best, off, high = tried, tolerance, tolerance
        if count > _ENOUGH * most:
            break
    return best, off


@dataclass(frozen=True, eq=False)
class _Clusters:
    """Corners by cells of one size: the cell of each, the corner that stands for a cell, its error.

    The error is the root mean square distance of that corner from the planes of the triangles
    that have a corner in the cell, m.
    """

    cell: Whole
    corner: Array
    error_m: Array

    @classmethod
    def of(cls, surface: Surface, cell_m: float) -> _Clusters:
        points = surface.corners.reshape(-1, 3)
        keys = np.floor(points / cell_m).astype(np.int64)
        _, found = np.unique(keys, axis=0, return_inverse=True)
        cell = found.reshape(-1)
        count = int(cell.max()) + 1
        mean = _sums(points, cell, count) / np.bincount(cell, minlength=count)[:, None]
        unit, area = _faces(surface)
        away = np.einsum("ni,ni->n", unit, points - mean[cell])
        matrix = _sums(
            (area[:, None, None] * unit[:, :, None] * unit[:, None, :]).reshape(-1, 9), cell, count
        ).reshape(-1, 3, 3)
        right = _sums((area * away)[:, None] * unit, cell, count)
        values, vectors = np.linalg.eigh(matrix)
        weight = np.where(values > _FLATNESS * values[:, -1:], 1 / np.maximum(values, 1e-30), 0)
        step = np.einsum("nij,nj->ni", vectors, weight * np.einsum("nji,nj->ni", vectors, right))
        far = np.linalg.norm(step, axis=1) > cell_m
        step = np.where(far[:, None] | ~np.isfinite(step), 0.0, step)
        squares = np.bincount(cell, area * away**2, minlength=count)
        squares -= 2 * np.einsum("ni,ni->n", step, right)
        squares += np.einsum("ni,nij,nj->n", step, matrix, step)
        whole = np.maximum(np.bincount(cell, area, minlength=count), 1e-30)
        return cls(cell, mean + step, np.sqrt(np.maximum(squares / whole, 0)))


def _faces(surface: Surface) -> tuple[Array, Array]:
    """The unit normal and the area of the triangle of every corner."""
    a, b, c = surface.corners.transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    unit = normal / np.maximum(length, 1e-30)[:, None]
    return np.repeat(unit, 3, axis=0), np.repeat(length / 2, 3)


def _sums(rows: Array, cell: Whole, count: int) -> Array:
    return np.stack([np.bincount(cell, column, minlength=count) for column in rows.T], axis=1)


def _merged(surface: Surface, clusters: list[_Clusters], tolerance_m: float) -> Surface:
    """Each corner in the largest cell whose error is small enough; what collapses is left out."""
    name = clusters[-1].cell.copy()
    place = clusters[-1].corner[name]
    first = len(clusters[-1].corner)
    for level in clusters[-2::-1]:
        good = (level.error_m <= tolerance_m)[level.cell]
        name[good] = first + level.cell[good]
        place[good] = level.corner[level.cell[good]]
        first += len(level.corner)
    faces = name.reshape(-1, 3)
    kept = (
        (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
    )
    once = np.unique(np.sort(faces[kept], axis=1), axis=0, return_index=True)[1]
    chosen = np.flatnonzero(kept)[np.sort(once)]
    return Surface(place.reshape(-1, 3, 3)[chosen], surface.colours[chosen])


def indexed(surface: Surface) -> tuple[Array, Array, Array, Whole]:
    """Corners, normals and colours once each, and faces by number; edges stay sharp."""
    corners = surface.corners
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    points = corners.reshape(-1, 3)
    _, place = np.unique(np.round(points, 6), axis=0, return_inverse=True)
    smooth = _smooth(normal, place.reshape(-1))
    rows = np.concatenate(
        [np.round(points, 6), np.round(smooth, 2), np.repeat(surface.colours, 3, axis=0)], axis=1
    )
    _, first, faces = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    colours = np.repeat(surface.colours, 3, axis=0)[first]
    return points[first], smooth[first], colours, faces.reshape(-1, 3)


def _smooth(normal: Array, place: Whole) -> Array:
    """The normal of every corner: the mean of the faces around it that lie nearly alike."""
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    unit = normal / np.maximum(length, 1e-30)
    face = np.repeat(np.arange(len(normal)), 3)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    found = np.zeros((len(face), 3))
    # Corner by corner with its neighbours at the same place, all places of one size together.
    for size in np.unique(sizes):
        rows = order[starts[sizes == size][:, None] + np.arange(size)]
        for part in np.array_split(rows, max(1, rows.size * int(size) // 2_000_000)):
            own, faces = unit[face[part]], normal[face[part]]
            alike = np.einsum("nik,njk->nij", own, own) > _CREASE
            found[part] = np.einsum("nij,njk->nik", alike, faces)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    smooth: Array = np.where(lengths > 1e-30, found / np.maximum(lengths, 1e-30), unit[face])
    return smooth
