"""How large the demonstrator is, estimated while he stands in front of the cameras."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.goal.body import Body, body_of
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion, Origin

_INDEX = {name: index for index, name in enumerate(POINTS)}
# The height of an ankle above the sole where no point of the sole is known.
_ANKLE_M = 0.08
_FLAT = 0.15
_MOST_ROWS = 2000
_EASED_S = 0.25


@dataclass(frozen=True)
class LiveSize:
    """A person's lengths, and how his feet stand.

    `floor_m` is the height of the floor, `ankle_m` that of an ankle above it when the foot is
    flat, `drop_rad` how far the line from ankle (or heel, where known) to toe then points down.
    """

    body: Body
    floor_m: float
    ankle_m: float
    drop_rad: float


class SizeEstimate:
    """The size over the first `during_s` of a person; a first one is there at once."""

    def __init__(self, *, during_s: float = 1.0) -> None:
        self._during_s = during_s
        self._elapsed_s = 0.0
        self._rows: list[Array] = []
        self._size: LiveSize | None = None
        self._told: LiveSize | None = None

    @property
    def is_done(self) -> bool:
        """Whether the size stays as it is from now on."""
        return self._size is not None and self._elapsed_s >= self._during_s

    @property
    def known(self) -> LiveSize | None:
        """The size, once it stays as it is."""
        return self._size if self.is_done else None

    def take(self, positions: Array, dt_s: float) -> LiveSize:
        """One more sample (P, 3); raises MotionError for limbs that no person has."""
        if (known := self.known) is not None:
            return self._eased(known, dt_s)
        self._rows.append(positions.copy())
        self._elapsed_s += dt_s
        size = self._size
        if size is None or len(self._rows) % 10 == 0 or self.is_done:
            size = self._size = size_of(np.array(self._rows[-_MOST_ROWS:]))
        if self.is_done:
            self._rows.clear()
        return self._eased(size, dt_s)

    def _eased(self, aim: LiveSize, dt_s: float) -> LiveSize:
        """The size on its way to what is known now, so that feet do not jump when it changes."""
        last = self._told or aim
        share = 1 - np.exp(-dt_s / _EASED_S)
        self._told = LiveSize(
            aim.body,
            last.floor_m + share * (aim.floor_m - last.floor_m),
            last.ankle_m + share * (aim.ankle_m - last.ankle_m),
            last.drop_rad + share * (aim.drop_rad - last.drop_rad),
        )
        return self._told


def size_of(positions: Array) -> LiveSize:
    """The size of a person from samples (T, P, 3); raises MotionError for impossible limbs."""
    seen: Array = np.asarray(np.isfinite(positions).all(axis=2), np.float64)
    motion = HumanMotion("live", 1.0, positions, seen, Origin(Path("live"), "live"))
    ankles = np.stack([motion.point(f"{side}_ankle")[:, 2] for side in SIDES])
    soles = [motion.point(f"{s}_{part}")[:, 2] for s in SIDES for part in ("heel", "toe")]
    known = np.array([heights for heights in soles if np.isfinite(heights).all()])
    lowest_ankle = float(np.quantile(ankles.min(axis=0), _FLAT))
    floor = float(np.quantile(known.min(axis=0), _FLAT)) if len(known) else lowest_ankle - _ANKLE_M
    drops = [drop for side in SIDES if (drop := _drop(motion, side, ankles)) is not None]
    return LiveSize(
        body_of(motion),
        floor,
        float(np.clip(lowest_ankle - floor, 0.02, 0.2)),
        float(np.mean(drops)) if drops else 0.0,
    )


def _drop(motion: HumanMotion, side: str, ankles: Array) -> float | None:
    """How far a foot points down when its ankle is lowest, from the rear point to the toe."""
    if not motion.has(f"{side}_toe"):
        return None
    along = motion.point(f"{side}_toe") - motion.point(rear_point(motion.positions[-1], side))
    heights = ankles[SIDES.index(side)]
    flat = heights <= np.quantile(heights, _FLAT) + 0.01
    drop = np.arctan2(-along[flat, 2], np.hypot(along[flat, 0], along[flat, 1]))
    return None if np.isnan(drop).all() else float(np.nanmedian(drop))


def rear_point(positions: Array, side: str) -> str:
    """The point behind the toe that tells where a foot points: the heel, or else the ankle."""
    heel = f"{side}_heel"
    return heel if np.isfinite(positions[_INDEX[heel], 0]) else f"{side}_ankle"
