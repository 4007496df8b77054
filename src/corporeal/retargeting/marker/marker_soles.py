"""Heels and toes on the sole, from markers on the foot or from the bones of a solved skeleton."""

from __future__ import annotations

import numpy as np

from corporeal.geometry import Array, normalise
from corporeal.retargeting.marker.landmarks import MarkedBody, across, median
from corporeal.retargeting.motion import SIDES

# From the sole to the middle of a marker on the edge of the foot.
LOWEST_M = 0.02


def foot_axes(body: MarkedBody, side: str) -> Array:
    """Rotations (T, 3, 3) of a foot with columns to the toes, left, out of the instep."""
    heel = body.at(f"{side}_heel")
    forward = normalise(body.at(f"{side}_toe") - heel)
    up = normalise(across(body.at(f"{side}_ankle") - heel, forward))
    return np.stack([forward, np.cross(up, forward), up], axis=-1)


def lower_to_soles(body: MarkedBody, up: Array) -> None:
    """Put heels and toes, found at the height of their markers, on the sole; `up` is (3,).

    How high the markers sit is seen where the foot stands: the lower of the two is taken to sit
    LOWEST_M above the sole, the other as much higher as it stands.
    """
    for side in SIDES:
        if f"{side}_ball" in body.places:
            _soles_of_bones(body, side, up)
            continue
        heel, fore = body.at(f"{side}_calcaneus"), body.at(f"{side}_forefoot")
        stands = _standing_heights(heel, fore, up)
        if stands is None:
            continue
        depths = [LOWEST_M + min(0.06, each - min(stands)) for each in stands]
        heel_m = body.sizes.heel_depth_m or depths[0]
        toe_m = body.sizes.toe_depth_m or depths[1]
        out = foot_axes(body, side)[..., 2]
        body.places[f"{side}_heel"] = body.at(f"{side}_heel") - heel_m * out
        # The line through both soles, carried on to the tip of the toes.
        fore_sole, heel_sole = fore - toe_m * out, heel - heel_m * out
        body.places[f"{side}_toe"] = heel_sole + 1.3 * (fore_sole - heel_sole)


def _soles_of_bones(body: MarkedBody, side: str, up: Array) -> None:
    """Heel and toe from the centre of the ankle and the ball of the foot, given the knee."""
    ankle, ball = body.at(f"{side}_ankle"), body.at(f"{side}_ball")
    stands = _standing_heights(ankle, ball, up)
    if stands is None:
        return
    drop = stands[0] - stands[1]
    slope = ball - ankle
    length = median(np.linalg.norm(slope, axis=1))
    level = float(np.sqrt(max(length**2 - drop**2, 1e-6)))
    along = normalise(slope)
    # Away from the knee and at right angles to the slope, then turned back as the foot stands.
    down = -normalise(across(body.at(f"{side}_knee") - ankle, along))
    forward = normalise(level * along - drop * down)
    out = normalise(-drop * along - level * down)
    ball_m = body.sizes.toe_depth_m or LOWEST_M
    body.places[f"{side}_heel"] = ankle - (drop + ball_m) * out - 0.35 * level * forward
    body.places[f"{side}_toe"] = ball - ball_m * out + 0.5 * level * forward


def _standing_heights(heel: Array, fore: Array, up: Array) -> tuple[float, float] | None:
    """The heights of both markers while the foot is slowest and so most likely stands flat."""
    known = np.isfinite(heel).all(axis=1) & np.isfinite(fore).all(axis=1)
    if not known.any():
        return None
    both = np.stack([heel, fore])[:, known]
    if known.sum() > 2:
        speed = np.linalg.norm(np.gradient(both, axis=1), axis=2).max(axis=0)
        both = both[:, speed <= np.percentile(speed, 20)]
    heights = np.median(both @ up, axis=1)
    return float(heights[0]), float(heights[1])
