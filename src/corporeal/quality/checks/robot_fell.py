"""The robot does not fall."""

import numpy as np
import scipy

from corporeal.embodiment.collision import body_axes
from corporeal.embodiment.embodiment import model_of
from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.errors import NotAssessed
from corporeal.geometry import matrix_from_quaternion
from corporeal.quality.check import Check, Finding, Findings, drawn_whole
from corporeal.quality.evidence.base_and_feet import base_order, footing_of
from corporeal.quality.evidence.rigid_motion import (
    columns_of,
    foot_links,
    mounted,
    poses_in_base,
)
from corporeal.quality.subject import Subject, attempt
from corporeal.schema import roles
from corporeal.signal.runs import Flags, flags_of, lasting_runs
from corporeal.signal.track import Array, Track

# An IMU feels every jolt: its vertical is that of this many seconds.
SETTLE_S = 0.3
# Soles so near to the ground carry the robot.
SOLE_M = 0.06


def find(
    subject: Subject,
    *,
    min_height_share: float = 0.5,
    max_tilt_deg: float = 60.0,
    tipped_height_share: float = 0.8,
    lying_deg: float = 80.0,
    min_duration_s: float = 0.1,
    max_down_s: float = 3.0,
    crouching_deg: float = 50.0,
) -> Findings:
    """Yield the frames in which the robot has fallen: the base low, or tipped over, and stays so.

    Low is under `min_height_share` of the standing height. Tipped is over `max_tilt_deg` while
    the base has come down as well, below `tipped_height_share`, or over `lying_deg`: who lies on a
    table has the base high. Without a base pose, an IMU gives the vertical and the legs the height.
    A fall ends on the ground: who is up again within `max_down_s` has squatted, rolled or turned a
    cartwheel, and who is low on folded legs, tilted by less than `crouching_deg`, crouches. A
    person whose motion was retargeted may lie down: that asks a human only.

    Why: what follows a fall is no demonstration, and the fall may have bent the robot.
    Fix: cut the episode before the fall, or keep it as a failure.
    """
    standing = subject.robot.standing
    if standing is None or not subject.robot.floating:
        raise NotAssessed(f"{subject.robot.name} does not stand on legs")
    label, seconds, height, tilt = _attitude(subject)
    share = height / standing.height
    low = share < min_height_share
    tipped = (tilt > max_tilt_deg) & ((share < tipped_height_share) | (tilt > lying_deg))
    low &= ~((tilt < crouching_deg) & _on_folded_legs(subject, seconds))
    fallen = np.where(np.isfinite(tilt), low | tipped, False)
    frames = tuple(
        (first, stop)
        for first, stop in lasting_runs(fallen, seconds, min_duration_s, gap=19)
        if stop >= len(seconds) - 1
        or seconds[-1] - seconds[stop] < SETTLE_S
        or seconds[stop - 1] - seconds[first] > max_down_s
    )
    if not frames:
        return
    if subject.posture.base is None and frames[0] == (0, len(fallen)):
        raise NotAssessed(f"{label} lies from first to last: its axes are not those of the robot")
    inside = flags_of(frames, len(fallen))
    lowest = float(np.nan_to_num(np.where(inside, share, 1.0), nan=1.0).min())
    yield Finding(
        f"the robot falls: from {seconds[frames[0][0]]:.2f} s on its base is down to "
        f"{100 * lowest:.0f} % of the standing height and tilts by up to "
        f"{np.nanmax(np.where(inside, tilt, 0.0)):.0f} degrees.",
        stream=label,
        frames=frames,
        value=lowest,
        limit=min_height_share,
        severity="quarantine" if subject.recording.facts.mode == RETARGETED_MOCAP else None,
        evidence=drawn_whole(seconds, {"height_share": share, "tilt_deg": tilt}),
    )


def _on_folded_legs(subject: Subject, seconds: Array) -> Flags:
    """Samples (T,) at which the legs are folded as far as the base is low, soles on the ground."""
    footing = attempt(footing_of, subject)
    if footing is None:
        return np.zeros(len(seconds), bool)
    stands = np.abs(footing.above.min(axis=1)) < SOLE_M
    place = np.searchsorted(footing.time_ns / 1e9, seconds)
    return np.asarray(stands[np.clip(place, 0, len(stands) - 1)])


def _attitude(subject: Subject) -> tuple[str, Array, Array, Array]:
    """Label and clock, height of the base above the ground, and its tilt in degrees."""
    posture = subject.posture
    if posture.base is None:
        return _felt(subject)
    base = base_order(subject).base
    up = model_of(subject.robot, body_axes)[:, 2]
    upright = matrix_from_quaternion(base[:, 3:7])[:, 2] @ up
    tilt = np.degrees(np.arccos(np.clip(upright, -1.0, 1.0)))
    footing = attempt(footing_of, subject)
    if footing is not None:
        height = base[:, 2] - footing.ground
    else:
        # Without legs the floor is z = 0, unless the height is no height in metres at all.
        usual = float(np.nanmedian(base[:, 2])) if np.isfinite(base[:, 2]).any() else -1.0
        sane = subject.robot.standing is not None and 0 < usual < 2 * subject.robot.standing.height
        height = base[:, 2] if sane else np.full(len(base), np.nan)
    track = subject.track(roles.BASE_POSE)
    if len(track) < 2:
        return posture.label, posture.time_ns / 1e9, height, tilt
    # Findings name samples of the base pose, which has a clock of its own.
    own = np.stack([height, tilt], axis=1)
    moved = Track(posture.label, track.spec, posture.time_ns, own).at(track.time_ns)
    return track.label, track.seconds, moved[:, 0], moved[:, 1]


def _felt(subject: Subject) -> tuple[str, Array, Array, Array]:
    """The same from an IMU: up is where it is pushed to, and the lower foot is on the ground."""
    posture = subject.posture
    on_base = [
        (track, mount)
        for track, mount in mounted(subject, roles.IMU)
        if mount.link == subject.robot.base and len(track) >= 3
    ]
    if not on_base:
        raise NotAssessed("neither a base_pose stream nor an IMU on the base")
    track, mount = on_base[0]
    force = track.values[:, columns_of(track, ("ax", "ay", "az"), 0)]
    size = max(1, round(SETTLE_S / max(track.period_s, 1e-6)))
    settled = scipy.ndimage.uniform_filter1d(np.nan_to_num(force), size, axis=0, mode="nearest")
    up = settled @ mount.axes.T
    length = np.linalg.norm(up, axis=1, keepdims=True)
    up = up / np.where(length > 0, length, 1.0)
    tilt = np.degrees(np.arccos(np.clip(up[:, 2], -1.0, 1.0)))
    links = attempt(foot_links, subject)
    if links is None:
        return track.label, track.seconds, np.full(len(track), np.nan), tilt
    poses = poses_in_base(subject)
    here = Track(track.label, track.spec, track.time_ns, up).at(posture.time_ns)
    soles = [
        poses.position(link) + poses.rotation(link) @ placement[:, 3]
        for link, placement in links.values()
    ]
    reach = np.max([-np.einsum("ti,ti->t", sole, here) for sole in soles], axis=0)
    height = Track(posture.label, track.spec, posture.time_ns, reach[:, None]).at(track.time_ns)
    return track.label, track.seconds, height[:, 0], tilt


CHECK = Check(
    find,
    topic="frames",
    severity="fail",
    unit="share",
    rests_on=("robot",),
    explains=(
        "foot_below_ground",
        "foot_slides",
        "foot_load_mismatch",
    ),
    formerly=("stays_upright",),
)
