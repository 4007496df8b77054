"""Rotations and poses on whole arrays: quaternions are (w, x, y, z), matrices act on columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def matrix_from_rpy(rpy: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3) from roll, pitch, yaw about fixed x, y, z (URDF's order)."""
    roll, pitch, yaw = np.moveaxis(np.asarray(rpy, np.float64), -1, 0)
    cr, sr, cp, sp, cy, sy = (
        np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch), np.cos(yaw), np.sin(yaw)
    )  # fmt: skip
    rows = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def rpy_from_matrix(matrix: ArrayLike) -> Array:
    """Roll, pitch, yaw (..., 3) of rotation matrices; yaw is zero where pitch is +-90 degrees."""
    m = np.asarray(matrix, np.float64)
    level = np.hypot(m[..., 0, 0], m[..., 1, 0])
    pitch = np.arctan2(-m[..., 2, 0], level)
    upright = level > 1e-9
    roll = np.where(
        upright,
        np.arctan2(m[..., 2, 1], m[..., 2, 2]),
        np.arctan2(-m[..., 1, 2], m[..., 1, 1]),
    )
    yaw = np.where(upright, np.arctan2(m[..., 1, 0], m[..., 0, 0]), 0.0)
    return np.stack([roll, pitch, yaw], axis=-1)


def matrix_from_quaternion(quaternion: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3) of quaternions (w, x, y, z), which need not be normalised."""
    q = normalise(quaternion)
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_matrix(matrix: ArrayLike) -> Array:
    """Quaternions (..., 4) as (w, x, y, z) with w >= 0."""
    m = np.asarray(matrix, np.float64)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    # The four columns of 4 q q^T; the one with the largest diagonal is the best conditioned.
    a, b, c = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    d, e, f = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    columns = np.stack(
        [
            np.stack([1 + xx + yy + zz, a, b, c], axis=-1),
            np.stack([a, 1 + xx - yy - zz, d, e], axis=-1),
            np.stack([b, d, 1 - xx + yy - zz, f], axis=-1),
            np.stack([c, e, f, 1 - xx - yy + zz], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.diagonal(columns, axis1=-2, axis2=-1), axis=-1)
    q = normalise(np.take_along_axis(columns, best[..., None, None], axis=-2)[..., 0, :])
    return np.where(q[..., :1] < 0, -q, q)


def normalise(vectors: ArrayLike) -> Array:
    """Vectors (..., n) at unit length; a zero vector stays zero."""
    v = np.asarray(vectors, np.float64)
    # By the largest entry first: the squares of tiny or huge ones are not numbers any more.
    largest = np.max(np.abs(v), axis=-1, keepdims=True, initial=0.0)
    scaled = np.divide(v, largest, out=np.zeros_like(v), where=largest > 0)
    length = np.sqrt(np.einsum("...i,...i->...", scaled, scaled))[..., None]
    unit: Array = np.divide(scaled, length, out=np.zeros_like(v), where=length > 0)
    return unit


def slerp(start: ArrayLike, end: ArrayLike, fraction: ArrayLike) -> Array:
    """Quaternions on the short great arc from `start` to `end` (..., 4) at `fraction` (...)."""
    a, b = normalise(start), normalise(end)
    t = np.asarray(fraction, np.float64)[..., None]
    dot = np.einsum("...i,...i->...", a, b)[..., None]
    b = np.where(dot < 0, -b, b)
    angle = np.arccos(np.clip(np.abs(dot), 0.0, 1.0))
    sine = np.sin(angle)
    near = sine < 1e-6
    safe = np.where(near, 1.0, sine)
    weight_a = np.where(near, 1 - t, np.sin((1 - t) * angle) / safe)
    weight_b = np.where(near, t, np.sin(t * angle) / safe)
    return normalise(weight_a * a + weight_b * b)


def rotation_angle(a: ArrayLike, b: ArrayLike) -> Any:
    """The angle (...) in radians between rotation matrices `a` and `b` (..., 3, 3)."""
    difference = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    # The Frobenius norm is 2 sqrt(2) sin(angle / 2), which is exact for small angles too.
    norm = np.sqrt(np.einsum("...ij,...ij->...", difference, difference))
    return 2 * np.arcsin(np.clip(norm / (2 * np.sqrt(2)), 0.0, 1.0))


def rotation_vectors(matrices: Array) -> Array:
    """Axis times angle (..., 3) of rotation matrices (..., 3, 3)."""
    skew = np.stack(
        [
            matrices[..., 2, 1] - matrices[..., 1, 2],
            matrices[..., 0, 2] - matrices[..., 2, 0],
            matrices[..., 1, 0] - matrices[..., 0, 1],
        ],
        axis=-1,
    )
    twice = np.linalg.norm(skew, axis=-1)
    trace = matrices[..., 0, 0] + matrices[..., 1, 1] + matrices[..., 2, 2]
    angle = np.arctan2(twice, trace - 1)
    vectors: Array = skew * np.where(twice > 1e-9, angle / np.maximum(twice, 1e-9), 0.5)[..., None]
    # At half a turn the sine is lost: the longest column of I + R lies along the axis.
    half = (twice <= 1e-9) & (trace < 0)
    if half.any():
        columns = (matrices[half] + np.eye(3)).swapaxes(-1, -2)
        longest = np.linalg.norm(columns, axis=-1).argmax(axis=-1)
        vectors[half] = np.pi * normalise(columns[np.arange(len(columns)), longest])
    return vectors


def matrix_from_vector(vectors: Array) -> Array:
    """Rotation matrices (..., 3, 3) of axes times angles (..., 3)."""
    angle = np.linalg.norm(vectors, axis=-1)
    axis = vectors / np.where(angle < 1e-8, 1.0, angle)[..., None]
    skew = np.zeros((*axis.shape, 3))
    skew[..., [2, 0, 1], [1, 2, 0]] = axis
    skew[..., [1, 2, 0], [2, 0, 1]] = -axis
    sine = np.sin(angle)[..., None, None]
    cosine = np.cos(angle)[..., None, None]
    return np.asarray(np.eye(3) + sine * skew + (1 - cosine) * (skew @ skew))


def quaternion_from_vector(vectors: Array) -> Array:
    """Quaternions (T, 4) of rotations given as axes times angles (T, 3)."""
    half = np.linalg.norm(vectors, axis=1) / 2
    share = np.sinc(half / np.pi) / 2
    return np.concatenate([np.cos(half)[:, None], share[:, None] * vectors], axis=1)


def quaternion_product(first: Array, second: Array) -> Array:
    """The product (T, 4) of quaternions: `second` rotated by `first`."""
    w, v = first[:, :1], first[:, 1:]
    other_w, other = second[:, :1], second[:, 1:]
    scalar = w * other_w - (v * other).sum(axis=1, keepdims=True)
    return np.concatenate([scalar, w * other + other_w * v + np.cross(v, other)], axis=1)


def continuous_quaternions(quaternions: Array) -> Array:
    """The same rotations (T, 4), each on the side of the one before: q and -q are one rotation."""
    dots = np.einsum("ti,ti->t", quaternions[1:], quaternions[:-1])
    signs = np.cumprod(np.concatenate([[1.0], np.where(dots < 0, -1.0, 1.0)]))
    same: Array = quaternions * signs[:, None]
    return same


def middle_point(points: Array) -> int:
    """The number of the one of points (N, 3) in a row that is farthest from both ends of it."""
    near = np.linalg.norm(points - points[0], axis=1)
    far = np.linalg.norm(points - points[-1], axis=1)
    between = np.minimum(near, far)
    return int(np.argmax(between > 0.98 * between.max() - 1e-9))
