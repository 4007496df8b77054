"""How far a robot's limbs point away from the person's: a measure that knows no scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, normalise
from corporeal.retargeting.result import KNOWN, LIMBS, Limb

# Limbs farther off than this are counted: a knee or an elbow is about to be on the other side.
OFF_RAD = np.pi / 4


@dataclass(frozen=True)
class LimbSpread:
    """Angles between the limbs of a robot and of a person, in radians, where they are known.

    `by_limb` are the means of single limbs, `worst` is the one that is `max_rad` off; `off_frames`
    have a limb over OFF_RAD off.
    """

    mean_rad: float
    p95_rad: float
    max_rad: float
    worst: str
    off_frames: int
    by_limb: Mapping[str, float]


def limb_angles(robot: Embodiment, poses: Array, limbs: Mapping[str, Limb]) -> Array:
    """Angles (T, 8) of limbs in the order of LIMBS, NaN where the person's is not KNOWN.

    `poses` (L, 3, 4, T) are those of the robot's links.
    """
    kinematics = model_of(robot, Kinematics)
    angles = np.full((poses.shape[-1], len(LIMBS)), np.nan)
    for column, name in enumerate(LIMBS):
        if name not in limbs:
            continue
        limb = limbs[name]
        near, far = (_at(kinematics, place, poses) for place in (limb.near, limb.far))
        dots = np.einsum("ti,ti->t", normalise(far - near), limb.direction)
        known = limb.confidence > KNOWN
        angles[known, column] = np.arccos(np.clip(dots[known], -1.0, 1.0))
    return angles


def limb_spread(angles: Array) -> LimbSpread | None:
    """What angles (T, 8) come to; None where no limb is known."""
    known = angles[np.isfinite(angles)]
    if not known.size:
        return None
    seen = np.flatnonzero(np.isfinite(angles).any(axis=0))
    names = tuple(LIMBS)
    _, worst = np.unravel_index(int(np.nanargmax(angles)), angles.shape)
    return LimbSpread(
        mean_rad=float(known.mean()),
        p95_rad=float(np.quantile(known, 0.95)),
        max_rad=float(known.max()),
        worst=names[int(worst)],
        off_frames=int(np.count_nonzero(np.nan_to_num(angles).max(axis=1) > OFF_RAD)),
        by_limb={names[column]: float(np.nanmean(angles[:, column])) for column in seen},
    )


def _at(kinematics: Kinematics, place: str, poses: Array) -> Array:
    """Where (T, 3) the origin of a place is."""
    link, placement = kinematics.place(place)
    at = np.einsum("ikt,k->ti", poses[link][:, :3], placement[:, 3])
    return np.asarray(at + poses[link][:, 3].T)
