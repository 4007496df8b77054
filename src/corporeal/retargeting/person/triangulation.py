"""A person in space from their keypoints in the pictures of several calibrated cameras."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.verification import pixels_of, rays_of
from corporeal.geometry import Array
from corporeal.protocol.calibration import CameraCalibration
from corporeal.retargeting.motion import MotionError
from corporeal.retargeting.person.picture_keypoints import PictureKeypoints

_FEWEST = 2
# Rays that meet at less than this tell no depth, rad.
_LEAST_ANGLE = np.radians(2.0)


@dataclass(frozen=True, eq=False)
class TriangulatedKeypoints:
    """Points (T, K, 3) in the frame of the cameras, NaN where fewer than two agree.

    `confidence` (T, K) is the mean of those that agree; `off_px` of each camera is the median
    distance of what it saw from where the points are in it; `dropped` the share of its sightings
    that agreed with no others.
    """

    names: tuple[str, ...]
    points: Array
    confidence: Array
    off_px: dict[str, float]
    dropped: dict[str, float]

    @property
    def known_share(self) -> float:
        """Of all points of all frames, the share that is known."""
        return float(np.isfinite(self.points[..., 0]).mean())


def triangulate(
    cameras: Mapping[str, CameraCalibration],
    seen: Mapping[str, PictureKeypoints],
    *,
    max_off_px: float = 20.0,
    min_confidence: float = 0.2,
) -> TriangulatedKeypoints:
    """The points that at least two cameras see alike; pictures of all are taken together.

    A sighting farther than `max_off_px` from where the others put its point is left out, the worst
    first, while two are left.
    """
    order = list(seen)
    if len(order) < _FEWEST:
        raise MotionError(
            f"triangulation, got {len(order)} camera; expected two at least. Name another."
        )
    frames = {camera.frame for name, camera in cameras.items() if name in seen}
    listed = ", ".join(sorted(map(str, frames)))
    if len(frames) > 1 or any(cameras[name].xyz is None for name in order):
        raise MotionError(
            f"triangulation, got cameras in the frames {listed}; "
            "expected poses of all in one. Calibrate them together: corporeal calibrate rig."
        )
    names = _common(seen)
    count = min(len(each.pixels) for each in seen.values())
    pixels = np.stack([_columns(seen[name], names)[0][:count] for name in order])
    sure = np.stack([_columns(seen[name], names)[1][:count] for name in order])
    eyes, ways = [], []
    for number, name in enumerate(order):
        eye, way = rays_of(cameras[name], pixels[number].reshape(-1, 2))
        eyes.append(eye)
        ways.append(way.reshape(count, len(names), 3))
    way = np.stack(ways)
    used = np.isfinite(way[..., 0]) & (sure >= min_confidence)
    offered = used.copy()
    points = _meet(np.array(eyes), way, np.where(used, sure, 0.0))
    for _ in range(len(order) - _FEWEST):
        off = _off(cameras, order, points, pixels)
        worst = np.where(used, off, -1.0).argmax(axis=0)
        bad = (np.take_along_axis(off, worst[None], 0)[0] > max_off_px) & (
            used.sum(axis=0) > _FEWEST
        )
        if not bad.any():
            break
        np.put_along_axis(used, worst[None], np.take_along_axis(used, worst[None], 0) & ~bad, 0)
        points = _meet(np.array(eyes), way, np.where(used, sure, 0.0))
    off = _off(cameras, order, points, pixels)
    agree = np.where(used, off, 0.0).max(axis=0) <= max_off_px
    points[~agree | (_widest(way, used) < _LEAST_ANGLE)] = np.nan
    known = np.isfinite(points[..., 0])
    used &= known
    total = np.maximum(used.sum(axis=0), 1)
    return TriangulatedKeypoints(
        names,
        points,
        np.where(known, np.where(used, sure, 0.0).sum(axis=0) / total, 0.0),
        {name: float(np.median(off[k][used[k]])) if used[k].any() else float("nan")
         for k, name in enumerate(order)},
        {name: float(1 - used[k].sum() / max(int(offered[k].sum()), 1))
         for k, name in enumerate(order)},
    )  # fmt: skip


def _common(seen: Mapping[str, PictureKeypoints]) -> tuple[str, ...]:
    first, *others = seen.values()
    names = tuple(name for name in first.names if all(name in each.names for each in others))
    if not names:
        raise MotionError(
            "triangulation, got cameras whose keypoints have no name in common; expected those of "
            "one estimator."
        )
    return names


def _columns(seen: PictureKeypoints, names: tuple[str, ...]) -> tuple[Array, Array]:
    columns = [seen.names.index(name) for name in names]
    return seen.pixels[:, columns], seen.confidence[:, columns]


def _meet(eyes: Array, ways: Array, weights: Array) -> Array:
    """Points (T, K, 3) nearest to rays (C, T, K, 3) from eyes (C, 3); NaN of fewer than two."""
    safe = np.nan_to_num(ways)
    across = np.eye(3) - safe[..., :, None] * safe[..., None, :]
    across = across * weights[..., None, None]
    matrix = across.sum(axis=0)
    right = np.einsum("ctkij,cj->tki", across, eyes)
    enough = (weights > 0).sum(axis=0) >= _FEWEST
    matrix[~enough] = np.eye(3)
    # Rays side by side meet nowhere: such points are left out afterwards, by their angle.
    points = np.linalg.solve(matrix + 1e-12 * np.eye(3), right[..., None])[..., 0]
    points[~enough] = np.nan
    return np.asarray(points)


def _off(
    cameras: Mapping[str, CameraCalibration], order: list[str], points: Array, pixels: Array
) -> Array:
    """Pixels (C, T, K) between what a camera saw and where a point is in it; unknown is far."""
    flat = points.reshape(-1, 3)
    away = np.stack([
        np.linalg.norm(pixels_of(cameras[name], flat).reshape(pixels[k].shape) - pixels[k], axis=2)
        for k, name in enumerate(order)
    ])  # fmt: skip
    return np.where(np.isfinite(away), away, np.inf)


def _widest(ways: Array, used: NDArray[np.bool_]) -> Array:
    """The largest angle (T, K) between two rays that are used."""
    widest = np.zeros(used.shape[1:])
    for one in range(len(ways)):
        for two in range(one + 1, len(ways)):
            dot = np.einsum("tki,tki->tk", np.nan_to_num(ways[one]), np.nan_to_num(ways[two]))
            angle = np.arccos(np.clip(dot, -1.0, 1.0))
            widest = np.where(used[one] & used[two], np.maximum(widest, angle), widest)
    return widest
