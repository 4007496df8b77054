"""A live person: points without outliers, gaps and jitter, and the size of the body."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.goal.goals import Body, body_of
from corporeal.retargeting.motion import NEEDED, POINTS, SIDES, HumanMotion, Origin

_INDEX = {name: index for index, name in enumerate(POINTS)}
_NEEDED = [_INDEX[name] for name in NEEDED]
_PELVIS = _INDEX["pelvis"]
# Points that stand between two others, where a sender does not know them.
_BETWEEN = {"pelvis": "hip", "neck": "shoulder"}
# No part of a person is faster; what is, was taken for another point.
FASTEST_M_S = 20.0
# After so many outliers in a row the point is where it claims to be.
MOST_OUTLIERS = 6
# A hidden point keeps its place beside the pelvis, and counts for less and less.
_FADE_S = 0.3
_JITTER_HZ, _NOISE, _FIRST_JITTER_M = 0.5, 1.4, 0.005


class PointFilter:
    """One-euro smoothing: steady points are smoothed most, quick ones hardly delayed."""

    def __init__(
        self, *, slow_hz: float = 4.0, quicker_hz_per_m_s: float = 8.0, speed_hz: float = 6.0
    ) -> None:
        self._slow_hz, self._quicker, self._speed_hz = slow_hz, quicker_hz_per_m_s, speed_hz
        self.reset()

    def reset(self) -> None:
        """Forget the person, for a sender that begins anew."""
        self.positions = np.full((len(POINTS), 3), np.nan)
        self.confidence = np.zeros(len(POINTS))
        self.velocity = np.zeros((len(POINTS), 3))
        self.speed = np.zeros(len(POINTS))
        self._outliers = np.zeros(len(POINTS), np.int64)
        self._jitter = np.full(len(POINTS), _FIRST_JITTER_M)
        self._recent = np.full((2, len(POINTS), 3), np.nan)

    @property
    def is_whole(self) -> bool:
        """Whether every needed point has been seen."""
        return bool(np.isfinite(self.positions[_NEEDED]).all())

    @property
    def scatter_m(self) -> float:
        """How far the points scatter about their way, as a standard deviation per axis."""
        return float(np.median(self._jitter[_NEEDED]))

    def take(self, positions: Array, confidence: Array, dt_s: float) -> None:
        """One more sample (P, 3) and (P,), `dt_s` after the one before."""
        new, trust = positions.copy(), confidence.copy()
        for name, part in _BETWEEN.items():
            _fill_between(new, trust, name, part)
        known, seen = np.isfinite(self.positions[:, 0]), trust > 0
        step = np.where((known & seen)[:, None], new - self.positions, 0.0)
        jump = np.linalg.norm(step, axis=1) > FASTEST_M_S * max(dt_s, 0.01)
        # A person who is elsewhere as a whole has moved; only single points are outliers.
        if jump.sum() > max(2.0, 0.5 * seen.sum()):
            self._move(np.median(step[seen & known], axis=0))
            jump[:] = False
        outlier = jump & (self._outliers < MOST_OUTLIERS)
        self._outliers = np.where(outlier, self._outliers + 1, 0)
        self._smooth(np.where((seen & ~outlier)[:, None], new, np.nan), trust, dt_s)

    def _smooth(self, new: Array, trust: Array, dt_s: float) -> None:
        known, seen = np.isfinite(self.positions[:, 0]), np.isfinite(new[:, 0])
        first, both = seen & ~known, seen & known
        self.positions[first], self.velocity[first] = new[first], 0.0
        before = self.positions[_PELVIS].copy()
        rate = (new[both] - self.positions[both]) / dt_s
        share = _share(self._speed_hz, dt_s)
        self.velocity[both] += share * (rate - self.velocity[both])
        self._measure_jitter(new, dt_s)
        # Jitter looks like speed; as much as it would give alone is none.
        noise = _NOISE * self._jitter / dt_s * np.sqrt(3 * share / (2 - share))
        self.speed = np.maximum(0.0, np.linalg.norm(self.velocity, axis=1) - noise)
        share = _share(self._slow_hz + self._quicker * self.speed[both], dt_s)[:, None]
        self.positions[both] += share * (new[both] - self.positions[both])
        hidden = known & ~seen
        if np.isfinite(before).all():
            self.positions[hidden] += self.positions[_PELVIS] - before
        self.velocity[hidden], self.speed[hidden] = self.velocity[_PELVIS], self.speed[_PELVIS]
        faded = self.confidence * np.exp(-dt_s / _FADE_S)
        self.confidence = np.where(seen, trust, np.where(known, faded, 0.0))

    def _measure_jitter(self, new: Array, dt_s: float) -> None:
        """The scatter of each point, from how far samples are from between their neighbours."""
        bend = np.linalg.norm(new - 2 * self._recent[1] + self._recent[0], axis=1) / np.sqrt(18)
        known = np.isfinite(bend)
        share = _share(_JITTER_HZ, dt_s)
        self._jitter[known] += share * (np.minimum(bend[known], 0.1) - self._jitter[known])
        self._recent = np.stack([self._recent[1], new])

    def _move(self, step: Array) -> None:
        self.positions += step
        self.velocity[:] = 0.0
        self._recent[:] = np.nan


def _fill_between(positions: Array, confidence: Array, name: str, part: str) -> None:
    left, right, index = _INDEX[f"left_{part}"], _INDEX[f"right_{part}"], _INDEX[name]
    if confidence[index] <= 0 and min(confidence[left], confidence[right]) > 0:
        positions[index] = (positions[left] + positions[right]) / 2
        confidence[index] = min(confidence[left], confidence[right])


def _share(cutoff_hz: Array | float, dt_s: float) -> Array:
    """How much of the way to a new sample a first-order low-pass goes."""
    phase = 2 * np.pi * np.asarray(cutoff_hz) * dt_s
    return np.asarray(phase / (phase + 1))


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

    def _eased(self, goal: LiveSize, dt_s: float) -> LiveSize:
        """The size on its way to what is known now, so that feet do not jump when it changes."""
        last = self._told or goal
        share = 1 - np.exp(-dt_s / _EASED_S)
        self._told = LiveSize(
            goal.body,
            last.floor_m + share * (goal.floor_m - last.floor_m),
            last.ankle_m + share * (goal.ankle_m - last.ankle_m),
            last.drop_rad + share * (goal.drop_rad - last.drop_rad),
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
