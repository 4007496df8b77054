"""Tracked points on a camera's pictures: where they lie, and whether that is where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.verification.camera_sight import pixels_of
from corporeal.geometry import Array
from corporeal.protocol.calibration import CameraCalibration

NOT_SEEN, SEEN, BETWEEN = 0, 1, 2
LONGEST_GAP_NS: Final = 100_000_000
# Between samples that are not much farther apart than usual, nothing was left out.
_USUAL_STEPS = 1.5
_LAGS_S = np.linspace(-0.15, 0.15, 61)
# Fewer points, or points that move less than this, tell nothing, px.
FEWEST_POINTS, _LEAST_MOTION_PX = 200, 10.0
_OUTLIER_SIGMAS = 4.0


@dataclass(frozen=True, eq=False)
class PointsInTime:
    """Points (T, J, 3) in a camera's frame at `time_ns` (T,): NaN where not known."""

    time_ns: NDArray[np.int64]
    points: Array

    def at(self, when_ns: NDArray[np.int64]) -> tuple[Array, NDArray[np.uint8]]:
        """The points (n, J, 3) at other times, and whether each (n,) was SEEN, lies BETWEEN two
        samples at most 0.1 s apart, or was NOT_SEEN: then all its points are NaN.
        """
        count = len(self.time_ns)
        state = np.zeros(len(when_ns), np.uint8)
        if count < 2:
            return np.full((len(when_ns), *self.points.shape[1:]), np.nan), state
        after = np.clip(np.searchsorted(self.time_ns, when_ns), 1, count - 1)
        before = after - 1
        gap = (self.time_ns[after] - self.time_ns[before]).astype(np.float64)
        part = np.clip((when_ns - self.time_ns[before]) / np.maximum(gap, 1.0), 0.0, 1.0)
        points = self.points[before] + part[:, None, None] * (
            self.points[after] - self.points[before]
        )
        inside = (when_ns >= self.time_ns[0]) & (when_ns <= self.time_ns[-1])
        usual = float(np.median(np.diff(self.time_ns)))
        state[inside & (gap <= LONGEST_GAP_NS)] = BETWEEN
        state[inside & (gap <= _USUAL_STEPS * usual)] = SEEN
        exact = np.isin(when_ns, self.time_ns)
        state[exact] = SEEN
        points[exact] = self.points[np.searchsorted(self.time_ns, when_ns[exact])]
        points[state == NOT_SEEN] = np.nan
        return points, state


def pixels_in_time(
    track: PointsInTime, camera: CameraCalibration, when_ns: NDArray[np.int64]
) -> tuple[Array, NDArray[np.uint8]]:
    """Where a camera's pictures show the points (n, J, 2) px, and whether they were seen (n,)."""
    points, state = track.at(when_ns)
    flat = pixels_of(camera, points.reshape(-1, 3))
    return flat.reshape(*points.shape[:2], 2), state


@dataclass(frozen=True)
class OverlayFit:
    """How an overlay has to be changed to lie on what a detector saw.

    `scale` about the middle of the lens (1.02: its focal length is 2 % too short), `shift_px` right
    and down, `lag_s` by which the points come too late, each with one sigma; `off_px` is the median
    distance as it is, `left_px` after the change.
    """

    scale: float
    shift_px: tuple[float, float]
    lag_s: float
    off_px: float
    left_px: float
    scale_sigma: float
    shift_sigma_px: float
    lag_sigma_s: float
    points: int


def fit_overlay(
    track: PointsInTime,
    camera: CameraCalibration,
    when_ns: NDArray[np.int64],
    seen_px: Array,
) -> OverlayFit | None:
    """The change that lays the points on those (n, J, 2) that a detector saw in the pictures.

    None where too few are known, or where they hardly move, so that a lag would not show.
    """
    known: NDArray[np.bool_] = np.asarray(np.isfinite(seen_px).all(axis=2))
    if known.sum() < FEWEST_POINTS or _spread(seen_px, known) < _LEAST_MOTION_PX:
        return None
    costs = [
        np.inf
        if (each := _change(track, camera, when_ns, seen_px, float(lag))) is None
        else each[1]
        for lag in _LAGS_S
    ]
    best = int(np.argmin(costs))
    if not np.isfinite(costs[best]):
        return None
    lag_s = float(_LAGS_S[best])
    sigma = 0.0
    if 0 < best < len(costs) - 1 and np.isfinite([costs[best - 1], costs[best + 1]]).all():
        left, middle, right = (costs[k] ** 2 for k in (best - 1, best, best + 1))
        bend = left - 2 * middle + right
        step = float(_LAGS_S[1] - _LAGS_S[0])
        if bend > 0:
            lag_s += step * 0.5 * float(left - right) / bend
            sigma = step * float(np.sqrt(2 * middle / (bend * known.sum() / 8)))
    fitted = _change(track, camera, when_ns, seen_px, lag_s)
    if fitted is None:
        return None
    values, left_px, spread, count = fitted
    # Points of one hand are not independent of each other: eight of them say about as much as one.
    fewer = np.sqrt(8.0 / count)
    return OverlayFit(
        scale=float(values[0]), shift_px=(float(values[1]), float(values[2])), lag_s=lag_s,
        off_px=_off(track, camera, when_ns, seen_px),
        left_px=left_px, scale_sigma=float(left_px * fewer / spread),
        shift_sigma_px=float(left_px * fewer), lag_sigma_s=sigma, points=count,
    )  # fmt: skip


def _spread(seen_px: Array, known: NDArray[np.bool_]) -> float:
    """How far the point that moves most spreads around its mean, px."""
    count = np.maximum(known.sum(axis=0), 1)[:, None]
    values = np.where(known[..., None], seen_px, 0.0)
    mean = values.sum(axis=0) / count
    square = np.where(known[..., None], (seen_px - mean) ** 2, 0.0).sum(axis=0) / count
    return float(np.sqrt(square.max()))


def _off(track: PointsInTime, camera: CameraCalibration, when_ns: NDArray[np.int64],
         seen_px: Array) -> float:  # fmt: skip
    pixels, _ = pixels_in_time(track, camera, when_ns)
    away = np.linalg.norm(pixels - seen_px, axis=2)
    return float(np.nanmedian(away))


def _change(
    track: PointsInTime,
    camera: CameraCalibration,
    when_ns: NDArray[np.int64],
    seen_px: Array,
    lag_s: float,
) -> tuple[Array, float, float, int] | None:
    """Scale and shift (3,) of the best fit, rms px left, rms spread of the points, and count."""
    pixels, _ = pixels_in_time(track, camera, when_ns + round(lag_s * 1e9))
    both = np.isfinite(pixels).all(axis=2) & np.isfinite(seen_px).all(axis=2)
    if both.sum() < FEWEST_POINTS:
        return None
    assert camera.centre_px is not None, "its lens was asked for"
    ours, theirs = pixels[both] - camera.centre_px, seen_px[both] - camera.centre_px
    kept = np.ones(len(ours), bool)
    values = np.array([1.0, 0.0, 0.0])
    for _ in range(3):
        count = int(kept.sum())
        if count < FEWEST_POINTS:
            return None
        matrix = np.zeros((2 * count, 3))
        matrix[:, 0] = ours[kept].ravel()
        matrix[0::2, 1] = matrix[1::2, 2] = 1.0
        values = np.linalg.lstsq(matrix, theirs[kept].ravel(), rcond=None)[0]
        away = np.linalg.norm(theirs - values[0] * ours - values[1:], axis=1)
        usual = max(float(np.median(away[kept])), 0.05)
        kept = away <= _OUTLIER_SIGMAS * 1.5 * usual
    left = float(np.sqrt(np.mean(away[kept] ** 2)))
    centred = ours[kept] - ours[kept].mean(axis=0)
    return values, left, float(np.sqrt(np.mean(np.sum(centred**2, axis=1)))), int(kept.sum())
