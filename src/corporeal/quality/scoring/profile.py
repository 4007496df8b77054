"""What is kept of an episode to compare it with others of its task: small, and of one length."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.quality.scoring.motion import Motion, arm_columns, motion_of, on_grid
from corporeal.quality.subject import Subject
from corporeal.schema import roles
from corporeal.signal.track import Array, Track

# Points that an episode is reduced to, evenly from its first motion to its last.
POINTS = 100

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Profile:
    """One episode from its first motion to its last.

    `path` is what the robot was told, else what it did, (POINTS, D) with the `names` of its
    columns. `force` (POINTS,) is how far the hands' forces are from those at the start, in
    `force_unit`; None where none was measured.
    """

    duration_s: float
    path: Floats
    names: tuple[str, ...]
    force: Floats | None = None
    force_unit: str = "N"


def profile_of(subject: Subject) -> Profile:
    """The profile of an episode; raises NotAssessed where nothing moves."""
    motion = motion_of(subject)
    path, names = _path(subject, motion)
    force, unit = _force(subject, motion)
    return Profile(motion.duration_s, path.astype(np.float32), names, force, unit)


def _path(subject: Subject, motion: Motion) -> tuple[Array, tuple[str, ...]]:
    try:
        action = subject.action
        columns = arm_columns(action)
        values = on_grid(action, motion.time_ns)[:, columns]
        return _points(values), tuple(action.names[column] for column in columns)
    except NotAssessed:
        return _points(motion.joints), motion.names


def _force(subject: Subject, motion: Motion) -> tuple[Floats | None, str]:
    wrenches = subject.ending_in(roles.WRENCH)
    hands = [track for label, track in wrenches.items() if not re.search("ankle|foot", label)]
    try:
        if hands:
            total = sum(_strain(_forces(track), motion) for track in hands)
            return _points(np.asarray(total)).astype(np.float32)[:, 0], "N"
        strain = _strain(subject.track(roles.JOINT_TORQUE), motion)
        return _points(strain).astype(np.float32)[:, 0], "N m"
    except NotAssessed:
        return None, "N"


def _forces(track: Track) -> Track:
    """The first three columns: a wrench has its torques after them."""
    return Track(track.label, track.spec, track.time_ns, track.values[:, :3])


def _strain(track: Track, motion: Motion) -> Array:
    """How much the length of a vector differs from that at the start (T, 1)."""
    length = np.linalg.norm(on_grid(track, motion.time_ns), axis=1)
    return np.asarray(np.abs(length - np.median(length[:10]))[:, None])


def _points(values: Array) -> Array:
    """Rows evenly from the first to the last (POINTS, D)."""
    rows = np.linspace(0, len(values) - 1, POINTS)
    numbers = np.arange(len(values))
    return np.stack([np.interp(rows, numbers, column) for column in values.T], axis=1)
