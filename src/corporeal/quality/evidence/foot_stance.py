"""Feet that stand: how far they drift, and which of them carries the weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.errors import NotAssessed
from corporeal.quality.evidence.base_and_feet import (
    Footing,
    base_jumps,
    base_order,
    drifts,
    footing_of,
    loads_of,
    stances,
    upward_of,
)
from corporeal.quality.evidence.forces import expected_torques, sensor_cuts, static_torques
from corporeal.quality.subject import Subject, attempt, once_per_subject
from corporeal.schema import roles
from corporeal.signal.runs import Flags
from corporeal.signal.track import Array

# A jump of the base, as the check of it takes them: no foot is blamed for one.
JUMP_M, JUMP_M_S = 0.04, 2.5
SMOOTH_S = 0.4
# A foot this high carries nothing.
LIFTED_M = 0.02
# Under this much of the weight on both feet the shares mean nothing.
LEAST_SHARE = 0.25
# Agreement that speaks for exchanged sides: of the shares, and of the torques of the legs. With
# noise on both sides the torques' share tends to 0.5, which speaks for neither.
AGAINST, ALONE, OTHER_WAY = -0.25, -0.6, 0.45


@dataclass(frozen=True, eq=False)
class Drift:
    """Motion (T, F, 2) of each sole since its stance began, and where it stands (T, F).

    `common` (T,) is how far all standing feet have moved together, where two or more stand, and
    `own` (T, F) how far each has moved apart from that.
    """

    names: tuple[str, ...]
    label: str
    time_ns: NDArray[np.int64]
    standing: Flags
    common: Array
    own: Array


@once_per_subject
def drift_of(subject: Subject) -> Drift:
    """The drift of the feet; raises NotAssessed without a base pose or legs."""
    footing = footing_of(subject)
    standing = stances(footing, attempt(loads_of, subject), 9.81 * subject.robot.mass)
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


@dataclass(frozen=True, eq=False)
class LoadSides:
    """Share of the first foot in the weight, measured and expected (N,), and what follows.

    `torque_share` is 0 where the torques of the legs fit the ankles as stated and 1 where they
    fit them exchanged; None without torques.
    """

    labels: tuple[str, str]
    time_s: Array
    measured: Array
    expected: Array
    correlation: float
    torque_share: float | None

    @property
    def exchanged(self) -> bool:
        """Whether the sensors are on each other's foot."""
        if self.torque_share is None:
            return self.correlation < ALONE
        return self.correlation < AGAINST and self.torque_share > OTHER_WAY


@once_per_subject
def load_sides(subject: Subject) -> LoadSides:
    """The comparison; raises NotAssessed unless both feet have a sensor."""
    footing, loads = footing_of(subject), loads_of(subject)
    if len(footing.names) != 2 or len(loads.tracks) != 2:
        raise NotAssessed("not both of two feet have a force sensor")
    step = max(1, len(footing.time_ns) // 1000)
    seconds = footing.time_ns[::step] / 1e9
    expected = _share_by_position(subject, footing, step)
    upward = np.maximum(np.nan_to_num(loads.upward[::step]), 0.0)
    total = upward.sum(axis=1)
    weight = 9.81 * subject.robot.mass
    measured = upward[:, 0] / np.maximum(total, LEAST_SHARE * max(weight, 1.0))
    size = max(1, round(SMOOTH_S / max(float(np.median(np.diff(seconds))), 1e-3)))
    seen, said = (scipy.ndimage.uniform_filter1d(share, size) for share in (measured, expected))
    labels = tuple(loads.tracks[name].label for name in footing.names)
    return LoadSides(
        (labels[0], labels[1]), seconds, seen, said, _likeness(seen, said), _by_torques(subject)
    )


def _share_by_position(subject: Subject, footing: Footing, step: int) -> Array:
    base = base_order(subject).base
    centre = subject.kinematics.centre_of_mass(subject.posture.q[::step], base[::step])[:, :2]
    first, second = footing.centres[::step, 0, :2], footing.centres[::step, 1, :2]
    across = first - second
    width = np.maximum(np.einsum("ti,ti->t", across, across), 1e-6)
    share = np.clip(np.einsum("ti,ti->t", centre - second, across) / width, 0.0, 1.0)
    above = footing.above[::step]
    share = np.where(above[:, 0] > LIFTED_M, 0.0, np.where(above[:, 1] > LIFTED_M, 1.0, share))
    return np.nan_to_num(share, nan=0.5)


def _by_torques(subject: Subject) -> float | None:
    """How much of the way from the stated to the exchanged sides the leg torques want to go."""
    torques = attempt(static_torques, subject)
    if torques is None:
        return None
    loads = loads_of(subject)
    kinematics, posture = subject.kinematics, subject.posture
    poses = kinematics.transforms(posture.q[torques.frames])
    up = upward_of(subject)[torques.frames]
    stated = sensor_cuts(subject, torques.frames, poses)
    one, other = loads.tracks.values()
    instead = {one.label: other, other.label: one}
    exchanged = sensor_cuts(subject, torques.frames, poses, instead=instead)
    change = expected_torques(kinematics, poses, up, exchanged) - expected_torques(
        kinematics, poses, up, stated
    )
    miss = torques.measured - torques.expected
    moved = torques.known & (np.abs(change).max(axis=0) > 1e-9)
    seconds = posture.time_ns[torques.frames] / 1e9
    if not moved.any() or len(seconds) < 20:
        return None
    size = max(1, round(SMOOTH_S / max(float(np.median(np.diff(seconds))), 1e-3)))
    miss, change = (_centred(each[:, moved], size) for each in (miss, change))
    noise = np.var(np.minimum(np.abs(miss), np.abs(miss - change)), axis=0) + 0.02**2
    power = float(np.sum(change**2 / noise))
    return float(np.sum(miss * change / noise)) / power if power > 0 else None


def _centred(values: Array, size: int) -> Array:
    smooth = scipy.ndimage.uniform_filter1d(np.nan_to_num(values), size, axis=0)
    return np.asarray(smooth - np.median(smooth, axis=0))


def _likeness(one: Array, other: Array) -> float:
    one, other = one - np.median(one), other - np.median(other)
    power = float(np.sqrt(np.sum(one**2) * np.sum(other**2)))
    return float(np.sum(one * other)) / power if power > 0 else 0.0
