"""The motion of a person, the same whatever file it came from: named points over time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from corporeal.episode.recording import Ledger, SourceItem, left_out
from corporeal.errors import CorporealError
from corporeal.geometry import Array
from corporeal.schema import roles

SIDES = ("left", "right")
# Centres of joints, unless said otherwise. pelvis: between the hips. neck: where the neck meets
# the trunk. head: the middle of the head. heel and toe: on the sole, toe at its front end.
# hand: the middle of the knuckles.
_TRUNK = ("pelvis", "spine", "chest", "neck", "head")
_LIMBS = ("hip", "knee", "ankle", "heel", "toe", "shoulder", "elbow", "wrist", "hand")
POINTS: tuple[str, ...] = (*_TRUNK, *(f"{side}_{part}" for side in SIDES for part in _LIMBS))
# Without these there is no body to follow; every other point may be missing from a clip.
NEEDED: tuple[str, ...] = (
    "pelvis",
    "neck",
    *(f"{side}_{part}" for side in SIDES for part in _LIMBS if part not in ("heel", "toe", "hand")),
)
# Segments whose rotation may be known. Axes: pelvis, chest and head x forward, y left, z up;
# a foot x to the toes, z up out of the instep; a hand x along the fingers, z out of its back.
SEGMENTS: tuple[str, ...] = (
    "pelvis", "chest", "head", "left_foot", "right_foot", "left_hand", "right_hand",
)  # fmt: skip


class MotionError(CorporealError):
    """A file of human motion cannot be read, or what it holds is no usable motion."""


@dataclass(frozen=True)
class Origin:
    """Where a motion comes from, what its reader decided on the way, and what it took of it."""

    path: Path
    format: str
    skeleton: str = ""
    notes: tuple[str, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)


@dataclass(frozen=True, eq=False)
class Markers:
    """Labelled markers (T, M, 3) as a file has them: its own unit and axes, NaN where not seen.

    `up` is what the file claims; a body that stands the other way up is believed more. `rotations`
    are of SEGMENTS by subject, in the file's axes, for programs that solved the skeleton. `beside`
    is what the file holds that is no marker.
    """

    path: Path
    format: str
    labels: tuple[str, ...]
    positions: Array
    rate_hz: float
    unit: str | None = None
    up: str | None = None
    rotations: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    beside: tuple[SourceItem, ...] = ()


def account(
    names: Iterable[str], used: Collection[str], reason: str, *, frames: int | None = None
) -> Ledger:
    """Every marker, bone or array of a file: those that give the person's points, and the rest."""
    return Ledger(
        tuple(
            SourceItem(name, "column", frames, (f"debug/{roles.HUMAN_POINTS}",))
            if name in used
            else left_out(name, "column", reason, samples=frames)
            for name in dict.fromkeys(names)
        )
    )


@dataclass(frozen=True, eq=False)
class HumanMotion:
    """T samples of one person in metres, z up; the heading is whatever the clip has.

    `positions` (T, P, 3) is in the order of POINTS, NaN where a point is not known.
    `confidence` (T, P) is 1 for a point that was seen, 0 for one that is not known, between for
    estimates. `rotations` holds matrices (T, 3, 3) of those SEGMENTS that the source knows.
    `contacts` (T, 2, 2) says, where the source does, whether [left, right] x [heel, toe] touch
    the ground.
    """

    name: str
    rate_hz: float
    positions: Array
    confidence: Array
    origin: Origin
    rotations: Mapping[str, Array] = field(default_factory=dict)
    contacts: Array | None = None

    def __post_init__(self) -> None:
        frames = len(self.positions)
        if self.positions.shape != (frames, len(POINTS), 3):
            raise MotionError(
                f"{self.origin.path}: got points of shape {self.positions.shape}; "
                f"expected (frames, {len(POINTS)}, 3)."
            )
        if self.confidence.shape != (frames, len(POINTS)):
            raise MotionError(
                f"{self.origin.path}: got confidences of shape {self.confidence.shape}; "
                f"expected ({frames}, {len(POINTS)})."
            )
        if not (np.isfinite(self.rate_hz) and self.rate_hz > 0):
            raise MotionError(
                f"{self.origin.path}: got a rate of {self.rate_hz} Hz; give --clip-rate."
            )

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def duration_s(self) -> float:
        """From the first sample to the last."""
        return max(0, len(self) - 1) / self.rate_hz

    def point(self, name: str) -> Array:
        """Positions (T, 3) of one point, a view."""
        return self.positions[:, POINTS.index(name)]

    def seen(self, name: str) -> Array:
        """Confidence (T,) of one point, a view."""
        return self.confidence[:, POINTS.index(name)]

    def has(self, name: str) -> bool:
        """Whether the point is known in any frame."""
        return bool(np.any(self.seen(name) > 0))

    def part(self, first: int, stop: int) -> HumanMotion:
        """The frames from `first` up to, not including, `stop`."""
        return replace(
            self,
            positions=self.positions[first:stop],
            confidence=self.confidence[first:stop],
            rotations={name: rotation[first:stop] for name, rotation in self.rotations.items()},
            contacts=None if self.contacts is None else self.contacts[first:stop],
        )

    def noting(self, *notes: str) -> HumanMotion:
        """The same motion with more notes on where it comes from."""
        return replace(self, origin=replace(self.origin, notes=(*self.origin.notes, *notes)))
