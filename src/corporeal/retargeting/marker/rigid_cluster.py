"""Markers on one bone keep their distances, so a lost one can be found from three others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corporeal.geometry import Array

# Three markers nearer than this to one line do not tell how the bone is turned.
_WIDTH_M = 0.012
_ROUNDS = 4


def fill_lost(markers: Array, *, within_m: float = 0.03) -> tuple[Array, NDArray[np.bool_]]:
    """Markers (T, M, 3) of one bone with lost ones put where the rest of the bone puts them.

    The shape is the mean over the clip. A frame is left as it is where fewer than three markers
    are seen, where they lie on a line, or where they are on average further than `within_m` from
    the shape. Returns the markers and which of them were filled (T, M).
    """
    seen: NDArray[np.bool_] = np.all(np.isfinite(markers), axis=2)
    filled = np.zeros_like(seen)
    enough = np.flatnonzero((seen.sum(axis=1) >= 3) & ~seen.all(axis=1))
    if len(enough) == 0 or markers.shape[1] < 4:
        return markers, filled
    shape = _shape(markers, seen)
    known = np.isfinite(shape).all(axis=1)
    placed, error, firm = _place(shape, markers[enough], seen[enough] & known)
    fills = ~seen[enough] & known & (firm & (error < within_m))[:, None]
    result = markers.copy()
    result[enough] = np.where(fills[..., None], placed, markers[enough])
    filled[enough] = fills
    return result, filled


def _shape(markers: Array, seen: NDArray[np.bool_]) -> Array:
    """The mean shape (M, 3), grown from the frame that shows most; NaN for markers never linked."""
    shape = markers[int(np.argmax(seen.sum(axis=1)))]
    step = -(-len(markers) // 2000)
    markers, seen = markers[::step], seen[::step]
    for _ in range(_ROUNDS):
        known = np.isfinite(shape).all(axis=1)
        shared = seen & known
        usable = shared.sum(axis=1) >= 3
        if not usable.any():
            break
        # Frames are brought to the shape, the other way round from placing the shape in them.
        rotation, shift, error, firm = _fit(shape, markers[usable], shared[usable])
        good = firm & (error < 0.05)
        if not good.any():
            break
        local = np.einsum("tji,tmj->tmi", rotation, markers[usable] - shift[:, None])[good]
        shown = seen[usable][good]
        count = shown.sum(axis=0)[:, None]
        total = np.where(shown[..., None], local, 0.0).sum(axis=0)
        shape = np.where(count > 0, total / np.maximum(count, 1), shape)
    return np.asarray(shape)


def _place(
    shape: Array, markers: Array, shared: NDArray[np.bool_]
) -> tuple[Array, Array, NDArray[np.bool_]]:
    rotation, shift, error, firm = _fit(shape, markers, shared)
    placed = np.einsum("tij,mj->tmi", rotation, np.nan_to_num(shape)) + shift[:, None]
    return placed, error, firm


def _fit(
    shape: Array, markers: Array, shared: NDArray[np.bool_]
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Rotation and shift that bring the shape onto each frame, their error, and whether firm."""
    weight = shared[..., None].astype(np.float64)
    count = np.maximum(weight.sum(axis=1), 1.0)
    ours, theirs = np.nan_to_num(shape)[None] * weight, np.nan_to_num(markers) * weight
    middle, centre = ours.sum(axis=1) / count, theirs.sum(axis=1) / count
    ours, theirs = (ours - middle[:, None]) * weight, (theirs - centre[:, None]) * weight
    left, strengths, right = np.linalg.svd(np.einsum("tmi,tmj->tij", theirs, ours))
    flip = np.ones((len(markers), 3))
    flip[:, 2] = np.where(np.linalg.det(left @ right) < 0, -1.0, 1.0)
    rotation = (left * flip[:, None, :]) @ right
    shift = centre - np.einsum("tij,tj->ti", rotation, middle)
    apart = theirs - np.einsum("tij,tmj->tmi", rotation, ours)
    error = np.sqrt(np.sum(apart**2, axis=(1, 2)) / count[:, 0])
    firm = (shared.sum(axis=1) >= 3) & (strengths[:, 1] / count[:, 0] > _WIDTH_M**2)
    return rotation, shift, error, firm
