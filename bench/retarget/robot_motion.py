"""A robot's motion as anyone made it, and what it was meant to follow where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array
from corporeal.retargeting.goal.footholds import ground_of
from corporeal.retargeting.goal.soles import sole_points, soles_of
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion, Origin


@dataclass(frozen=True, eq=False)
class RobotMotion:
    """T frames: `q` (T, J), `base` (T, 7).

    `aims` are where the hands and feet were to be, by the robot's place: (T, 3) each; `cpu_s` is
    what it took to make, if it was made here.
    """

    robot: Embodiment
    rate_hz: float
    q: Array
    base: Array
    cpu_s: float | None = None
    aims: Mapping[str, Array] = field(default_factory=dict)
    converged: bool = True

    def errors(self) -> Array:
        """Distances (T, A) of the places from their aims."""
        if not self.aims:
            return np.empty((len(self.q), 0))
        places = Kinematics(self.robot).place_poses(
            {name: name for name in self.aims}, self.q, self.base
        )
        rows = [
            np.linalg.norm(places.position(name) - aim, axis=1) for name, aim in self.aims.items()
        ]
        return np.stack(rows, axis=1)


def resampled(
    flags: NDArray[np.bool_], rate_hz: float, frames: int, to_hz: float
) -> NDArray[np.bool_]:
    """Flags (T, ...) taken at `rate_hz`, as they are at so many frames of another rate."""
    nearest = np.rint(np.arange(frames) / to_hz * rate_hz).astype(np.int64)
    found: NDArray[np.bool_] = flags[np.minimum(nearest, len(flags) - 1)]
    return found


def contacts_of(motion: RobotMotion) -> NDArray[np.bool_]:
    """Contacts (T, 2, 2) told from the height and speed of the robot's own soles."""
    poses = Kinematics(motion.robot).transforms(motion.q, motion.base)
    soles = sole_points(soles_of(motion.robot), poses)
    positions = np.full((len(motion.q), len(POINTS), 3), np.nan)
    for number, side in enumerate(SIDES):
        for part, point in enumerate(("ankle", "toe")):
            positions[:, POINTS.index(f"{side}_{point}")] = soles[:, number, part]
    known = np.isfinite(positions).all(axis=2).astype(np.float64)
    feet = HumanMotion("soles", motion.rate_hz, positions, known, Origin(Path(), "robot"))
    return ground_of(feet).touches
