"""A floor that moves under somebody who stands: what cameras lose track of, taken back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import binary_erosion, gaussian_filter1d

from corporeal.geometry import Array
from corporeal.retargeting.goal.contacts import Flags, Ground
from corporeal.retargeting.motion import SIDES, HumanMotion

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
    standing: Array = np.where(touches[:, 1:], paces[1], paces[0])
    return standing
