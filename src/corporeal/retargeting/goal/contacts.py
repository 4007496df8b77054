"""When a heel or a toe stands on the ground; a floor that drifts under both feet is taken back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import binary_erosion, gaussian_filter1d

from corporeal.geometry import Array
from corporeal.retargeting.motion import SIDES, HumanMotion
from corporeal.signal.runs import Flags, runs

# Slower than the first a point comes to stand, faster than the second it has left, m/s.
STAND_M_S, LEAVE_M_S = 0.3, 0.5
# How far above its usual height a point may stand, m: cameras and carpets are not flat.
NEAR_M = 0.055
# A heel lies behind the ankle by this share of the way to the toes.
HEEL_SHARE = 0.35
# Speeds are taken over this time; nothing shorter than the last two stands or floats.
SMOOTH_S, SHORTEST_S, GAP_S = 0.02, 0.07, 0.05


@dataclass(frozen=True, eq=False)
class Ground:
    """What the feet of a clip say about the ground.

    `touches` (T, 2, 2) is [left, right] x [heel, toe]; `ankle` and `toe` are the heights above
    the world's zero at which an ankle and a toe stand. `rise` is how far apart the heights are at
    which ankles come to rest: that of a stair, or of knees and hands on the floor.
    """

    touches: Flags
    ankle: float
    toe: float
    rise: float = 0.0


def ground_of(motion: HumanMotion) -> Ground:
    """Contacts of heels and toes over a clip; the source's own where it states them."""
    ankles = np.stack([motion.point(f"{side}_ankle") for side in SIDES], axis=1)
    known = all(motion.has(f"{side}_toe") for side in SIDES)
    toes = np.stack([motion.point(f"{side}_toe") for side in SIDES], axis=1) if known else ankles
    ankle_height, ankle_stands = _standing(ankles, motion.rate_hz)
    toe_height, toe_stands = _standing(toes, motion.rate_hz)
    rise = _rise(ankles, motion.rate_hz)
    if motion.contacts is not None:
        return Ground(np.asarray(motion.contacts, bool), ankle_height, toe_height, rise)
    heel_stands = ankle_stands
    if known:
        heels = _heels(motion, ankles, toes, ankle_stands & toe_stands, ankle_height - toe_height)
        heel_stands = _standing(heels, motion.rate_hz)[1]
    return Ground(np.stack([heel_stands, toe_stands], axis=2), ankle_height, toe_height, rise)


def _heels(
    motion: HumanMotion, ankles: Array, toes: Array, flat: Flags, ankle_above: float
) -> Array:
    """Heels (T, 2, 3): as captured, or behind and below the ankle as the foot lies.

    A heel that lands stands while the ankle above it still moves on.
    """
    if all(motion.has(f"{side}_heel") for side in SIDES):
        return np.stack([motion.point(f"{side}_heel") for side in SIDES], axis=1)
    along = toes - ankles
    level = np.linalg.norm(along[..., :2], axis=2)
    slope = np.arctan2(along[..., 2], level)
    ahead = along * [1.0, 1.0, 0.0] / np.maximum(level, 0.02)[..., None]
    for foot in range(2):
        stands = flat[:, foot]
        usual = np.median(slope[stands, foot]) if stands.any() else np.quantile(slope[:, foot], 0.9)
        slope[:, foot] -= usual
    up = np.array([0.0, 0.0, 1.0])
    cosine, sine = np.cos(slope)[..., None], np.sin(slope)[..., None]
    back, below = HEEL_SHARE * np.median(level), max(ankle_above, 0.0)
    return np.asarray(
        ankles - back * (cosine * ahead + sine * up) - below * (cosine * up - sine * ahead)
    )


def _standing(points: Array, rate_hz: float) -> tuple[float, Flags]:
    """The height at which two points (T, 2, 3) stand, and when each does (T, 2)."""
    speeds = _speeds(points, rate_hz)
    height = _standing_height(points[..., 2], speeds)
    stands = [
        _stands(speeds[:, foot], points[:, foot, 2] - height < NEAR_M, rate_hz) for foot in range(2)
    ]
    return height, np.stack(stands, axis=1)


def _rise(ankles: Array, rate_hz: float) -> float:
    """From the lowest to the highest place where ankles (T, 2, 3) are at rest, m."""
    resting = ankles[..., 2][_speeds(ankles, rate_hz) < STAND_M_S]
    return float(np.subtract(*np.quantile(resting, [0.95, 0.05]))) if resting.size else 0.0


def _speeds(points: Array, rate_hz: float) -> Array:
    """Speeds (T, 2) of two points (T, 2, 3), m/s."""
    if len(points) < 3:
        return np.zeros(points.shape[:2])
    smooth = gaussian_filter1d(points, SMOOTH_S * rate_hz, axis=0, mode="nearest")
    return np.asarray(np.linalg.norm(np.gradient(smooth, 1 / rate_hz, axis=0), axis=2))


def _standing_height(heights: Array, speeds: Array) -> float:
    """The height at which the points stand: usual among the slow and low."""
    slow = heights[speeds < STAND_M_S]
    if slow.size < 3:
        return float(np.nanmin(heights))
    low = np.quantile(slow, 0.05)
    return float(np.median(slow[slow < low + NEAR_M]))


def _stands(speed: Array, low: Flags, rate_hz: float) -> Flags:
    """Where one point stands: from slow on until it is fast or high."""
    may = low & (speed < LEAVE_M_S)
    out = np.zeros(len(speed), bool)
    for first, stop in runs(may):
        inside = speed[first:stop] < STAND_M_S
        if inside.any():
            # A toe that peels off stands to the end; one that lands stands from when it is slow.
            begin = first + int(np.argmax(inside))
            end = stop - int(np.argmax(inside[::-1]))
            out[begin:end] = True
    for first, stop in runs(~out):
        if first > 0 and stop < len(out) and (stop - first) / rate_hz < GAP_S:
            out[first:stop] = low[first:stop].all()
    for first, stop in runs(out):
        if (stop - first) / rate_hz < SHORTEST_S and stop - first < len(out):
            out[first:stop] = False
    return out


# Velocities are taken over this time; less drift than this is left alone, m.
DRIFT_SMOOTH_S, LEAST_M = 0.1, 0.03


def remove_floor_drift(motion: HumanMotion, ground: Ground) -> HumanMotion:
    """The person without what both standing feet do together, which no standing feet can.

    Bodies that were estimated from video wander over the floor by decimetres. What only one foot
    does is left to the person: feet do slide.
    """
    if len(motion) < 3:
        return motion
    paces = [_pace(motion, side, ground.touches[:, foot]) for foot, side in enumerate(SIDES)]
    between = paces[0] + paces[1]
    length = np.linalg.norm(between, axis=1, keepdims=True)
    along = between / np.maximum(length, 1e-9)
    least = np.min([np.einsum("ti,ti->t", pace, along) for pace in paces], axis=0)
    # Velocities near the ends of a stance hold some of the swing before or after it.
    inner = max(1, round(2 * DRIFT_SMOOTH_S * motion.rate_hz))
    stands = [
        binary_erosion(touches.any(axis=1), iterations=inner, border_value=1)
        for touches in ground.touches.swapaxes(0, 1)
    ]
    shared = np.where(stands[0] & stands[1] & (least > 0), least, 0.0)
    way = np.cumsum(shared[:, None] * along, axis=0) / motion.rate_hz
    most = float(np.linalg.norm(way, axis=1).max())
    if most < LEAST_M:
        return motion
    moved = motion.positions.copy()
    moved[:, :, :2] -= way[:, None]
    note = f"both standing feet drift together by up to {100 * most:.0f} cm: taken back"
    return replace(motion, positions=moved).noting(note)


def _pace(motion: HumanMotion, side: str, touches: Flags) -> Array:
    """Velocity (T, 2) over the floor of what a foot stands on, m/s: its toes, or else its heel."""
    paces = []
    for part in ("ankle", "toe" if motion.has(f"{side}_toe") else "ankle"):
        at = motion.point(f"{side}_{part}")[:, :2]
        smooth = gaussian_filter1d(at, DRIFT_SMOOTH_S * motion.rate_hz, axis=0, mode="nearest")
        paces.append(np.gradient(smooth, 1 / motion.rate_hz, axis=0))
    # A foot that rolls over its toes moves its ankle, and still stands where it did.
    return np.asarray(np.where(touches[:, 1:], paces[1], paces[0]))
