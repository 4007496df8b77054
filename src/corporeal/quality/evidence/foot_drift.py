"""How far feet that stand move over the ground: one of them alone, or both with the base."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.quality.evidence.footing import base_jumps, drifts, footing_of, loads_of, stances
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.track import Array

# A jump of the base, as the check of it takes them: no foot is blamed for one.
JUMP_M, JUMP_M_S = 0.04, 2.5


@dataclass(frozen=True, eq=False)
class Drift:
    """Motion (T, F, 2) of each sole since its stance began, and where it stands (T, F).

    `common` (T,) is how far all standing feet have moved together, where two or more stand, and
    `own` (T, F) how far each has moved apart from that.
    """

    names: tuple[str, ...]
    label: str
    time_ns: NDArray[np.int64]
    standing: NDArray[np.bool_]
    common: Array
    own: Array


@once_per_subject
def drift_of(subject: Subject) -> Drift:
    """The drift of the feet; raises NotAssessed without a base pose or legs."""
    footing = footing_of(subject)
    try:
        loads = loads_of(subject)
    except NotAssessed:
        loads = None
    standing = stances(footing, loads, 9.81 * subject.robot.mass)
    track = subject.track(roles.BASE_POSE)
    if len(track) >= 5:
        _, jump = base_jumps(track, max_step_m=JUMP_M, max_speed_m_s=JUMP_M_S)
        for when in track.time_ns[1:][jump]:
            standing[np.abs(footing.time_ns - when) <= 30_000_000] = False
    moved = np.stack([drifts(footing, standing, k) for k in range(len(footing.names))], axis=1)
    together = standing.all(axis=1) & (standing.shape[1] > 1)
    # Both feet may have landed at different times: only motion since both stand is shared.
    shared = np.where(together[:, None], _smaller(moved), 0.0)
    own = np.linalg.norm(moved - shared[:, None], axis=2)
    return Drift(
        footing.names,
        footing.label,
        footing.time_ns,
        standing,
        np.linalg.norm(shared, axis=1),
        own,
    )


def _smaller(moved: Array) -> Array:
    """The part (T, 2) of the motion that all feet have in common, axis by axis."""
    same = (np.sign(moved) == np.sign(moved[:, :1])).all(axis=1)
    least = np.take_along_axis(moved, np.abs(moved).argmin(axis=1)[:, None], axis=1)[:, 0]
    return np.where(same, least, 0.0)
