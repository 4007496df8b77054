"""Rotations of segments, and heels and toes on the sole, where markers tell them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from corporeal.geometry import Array, matrix_from_rpy, normalise
from corporeal.retargeting.cleaning.gaps import bridge_rotations
from corporeal.retargeting.motion import SIDES
from corporeal.retargeting.person.joint_centres import MarkedBody, across, pelvis_axes
from corporeal.retargeting.person.standard_axes import median
from corporeal.signal.runs import runs

# A longer gap says nothing of what happened in it: such a segment is left without rotations.
_GAP_S = 0.25
# The plane of the four pelvic markers leans forward by about this when a person stands upright.
_STANDING_TILT_RAD = np.radians(10.0)


def segment_rotations(
    body: MarkedBody, solved: Mapping[str, Array], rate_hz: float
) -> dict[str, Array]:
    """Rotations (T, 3, 3) by segment: those that were solved, else those that the markers show.

    A segment with a gap of over a quarter of a second is left out; shorter gaps are bridged.
    """
    rotations = {**_shown(body), **solved}
    longest = max(1, int(_GAP_S * rate_hz)) if np.isfinite(rate_hz) else 1
    bridged = {name: _bridged(rotation, longest) for name, rotation in rotations.items()}
    return {name: rotation for name, rotation in bridged.items() if rotation is not None}


def _shown(body: MarkedBody) -> dict[str, Array]:
    rotations = {
        "pelvis": _pelvis(body),
        "chest": _chest(body),
        "head": _head(body),
    }
    for side in SIDES:
        rotations[f"{side}_foot"] = foot_axes(body, side)
        rotations[f"{side}_hand"] = _hand(body, side)
    return rotations


def _pelvis(body: MarkedBody) -> Array:
    back = (body.at("left_psis") + body.at("right_psis")) / 2
    axes = pelvis_axes(body, np.where(np.isfinite(back), back, body.at("sacrum")))
    return axes @ matrix_from_rpy([0.0, -_STANDING_TILT_RAD, 0.0])


def _chest(body: MarkedBody) -> Array:
    """Up from the lower pair of markers to the upper pair, forward from the back to the front."""
    upper = (body.at("c7") + body.at("sternum_top")) / 2
    lower = (body.at("t10") + body.at("sternum_end")) / 2
    front = (body.at("sternum_top") + body.at("sternum_end")) / 2
    back = (body.at("c7") + body.at("t10")) / 2
    return _axes(front - back, upper - lower)


def _head(body: MarkedBody) -> Array:
    front = (body.at("left_head_front") + body.at("right_head_front")) / 2
    back = (body.at("left_head_back") + body.at("right_head_back")) / 2
    left = (body.at("left_head_front") + body.at("left_head_back")) / 2
    right = (body.at("right_head_front") + body.at("right_head_back")) / 2
    forward = normalise(front - back)
    up = normalise(np.cross(forward, left - right))
    return np.stack([forward, np.cross(up, forward), up], axis=-1)


def _hand(body: MarkedBody, side: str) -> Array:
    along = normalise(body.at(f"{side}_hand") - body.at(f"{side}_wrist"))
    to_thumb = body.at(f"{side}_radius_end") - body.at(f"{side}_ulna_end")
    across = -to_thumb if side == "left" else to_thumb
    out = normalise(np.cross(along, across))
    return np.stack([along, np.cross(out, along), out], axis=-1)


def _axes(forward: Array, up: Array) -> Array:
    """Right-handed axes with z exactly along `up` and x as near to `forward` as that allows."""
    z = normalise(up)
    y = normalise(np.cross(z, forward))
    return np.stack([np.cross(y, z), y, z], axis=-1)


def _bridged(rotation: Array, longest: int) -> Array | None:
    """The rotations with gaps of at most `longest` frames bridged, None where one is longer."""
    known = np.isfinite(rotation).all(axis=(1, 2)) & (
        np.abs(np.linalg.det(np.nan_to_num(rotation)) - 1) < 1e-6
    )
    if known.all():
        return rotation
    if not known.any() or runs(~known, least=longest + 1):
        return None
    return bridge_rotations(rotation, known)


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
