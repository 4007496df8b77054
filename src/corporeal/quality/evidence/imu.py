"""What each IMU ought to feel: its link's vertical, acceleration and turning."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.kinematics import Mount
from corporeal.errors import NotAssessed
from corporeal.quality.check import drawn_whole
from corporeal.quality.evidence.base_and_feet import world_poses
from corporeal.quality.evidence.rigid_motion import (
    FORCE_WINDOW_S,
    GRAVITY,
    RATE_WINDOW_S,
    columns_of,
    has_chain,
    instants,
    mean_accelerations,
    mean_rates,
    mean_values,
    mounted,
    poses_in_base,
    require_finite,
    triangle_values,
)
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array, Track

# No robot accelerates so for half of an episode.
IMPLAUSIBLE_M_S2 = 3.0
# Words of an inertial sensor's stream, and of what its driver works out or says besides.
CALLED = frozenset(("imu", "gyro", "gyroscope", "accel", "accelerometer"))
NOT = frozenset(("orientation", "quat", "quaternion", "rpy", "covariance", "temperature", "mag"))
UPRIGHT = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class ImuReference:
    """One IMU beside its link, averaged around instants `at_s` (N,), in the sensor's stated axes.

    `force` and `rate` (N, 3) are what it measured, `predicted_*` what the link does. `up` (N, 3)
    is the vertical. `assumed` says that the link is only taken to be upright; `beside` is the IMU
    that all of it was taken from.
    """

    track: Track
    place: str
    at_s: Array
    force: Array | None
    rate: Array | None
    up: Array
    predicted_force: Array | None
    predicted_rate: Array | None
    assumed: bool
    beside: Track | None = None

    def curves(self, values: Array, names: tuple[str, ...]) -> dict[str, Array]:
        """Evidence to draw: the values, and where up is."""
        felt = {name: values[:, column] for column, name in enumerate(names)}
        ups = {f"up_{axis}": GRAVITY * self.up[:, k] for k, axis in enumerate("xyz")}
        return drawn_whole(self.at_s, felt | ups)


@once_per_subject
def references(subject: Subject) -> list[ImuReference]:
    """Every IMU that has a place on the robot; raises NotAssessed when there is none."""
    require_finite(subject)
    known = [(track, mount) for track, mount in mounted(subject, roles.IMU) if len(track) >= 20]
    known += [
        (track, base_mount(subject.robot))
        for track in inertial_tracks(subject)
        if track.label not in {one.label for one, _ in known} and is_accelerometer(track)
    ]
    if not known:
        raise NotAssessed("no IMU with a place on the robot")
    made = [_reference(subject, track, mount, known) for track, mount in known]
    if not any(made):
        raise NotAssessed("the IMUs overlap in time with nothing that tells how they are turned")
    return [reference for reference in made if reference is not None]


def _reference(
    subject: Subject, track: Track, mount: Mount, known: list[tuple[Track, Mount]]
) -> ImuReference | None:
    when = instants(track.seconds, FORCE_WINDOW_S)
    values = bridge_gaps(track.values)
    force = triangle_values(track.seconds, values[:, force_columns(track)], when, FORCE_WINDOW_S)
    rate = None
    if values.shape[1] >= 6:
        rate = mean_values(track.seconds, values[:, _rate(track)], when, RATE_WINDOW_S)
    if not len(when):
        return None
    if has_chain(subject, mount.link) and subject.posture.base is not None:
        return _in_world(subject, track, mount, when, force, rate)
    base = next((pair for pair in known if pair[1].link == subject.robot.base), None)
    if base is not None and base[0] is not track and has_chain(subject, mount.link):
        return _beside(subject, track, mount, base, when, force, rate)
    up = np.tile(UPRIGHT @ mount.axes, (len(when), 1))
    return ImuReference(track, mount.link, when, force, rate, up, None, None, True)


def _in_world(
    subject: Subject, track: Track, mount: Mount, when: Array, force: Array, rate: Array | None
) -> ImuReference | None:
    seconds = subject.posture.time_ns / 1e9
    inside = (when > seconds[0] + FORCE_WINDOW_S) & (when < seconds[-1] - FORCE_WINDOW_S)
    if np.count_nonzero(inside) < 2:
        return None
    when, force = when[inside], force[inside]
    rate = None if rate is None else rate[inside]
    poses = world_poses(subject)
    turns = poses.rotation(mount.link) @ mount.axes
    level = turns[np.clip(np.searchsorted(seconds, when), 0, len(seconds) - 1)]
    place = poses.position(mount.link) + poses.rotation(mount.link) @ mount.place
    pushed = mean_accelerations(seconds, place, when, FORCE_WINDOW_S)
    if float(np.nanmedian(np.linalg.norm(pushed, axis=1))) > IMPLAUSIBLE_M_S2:
        # Positions that are not in metres, or jump: the vertical alone must do.
        pushed = np.zeros_like(pushed)
    up = triangle_values(seconds, bridge_gaps(turns[:, 2]), when, FORCE_WINDOW_S)
    predicted = GRAVITY * up + np.einsum("nji,nj->ni", level, pushed)
    turning = mean_rates(seconds, turns, when, RATE_WINDOW_S)
    good = np.isfinite(predicted).all(axis=1) & np.isfinite(turning).all(axis=1)
    if np.count_nonzero(good) < 2:
        return None
    return ImuReference(
        track,
        mount.link,
        when[good],
        force[good],
        None if rate is None else rate[good],
        up[good],
        predicted[good],
        turning[good],
        False,
    )


def _beside(
    subject: Subject,
    track: Track,
    mount: Mount,
    base: tuple[Track, Mount],
    when: Array,
    force: Array,
    rate: Array | None,
) -> ImuReference | None:
    """Against the IMU of the base, through the joints between."""
    seconds = subject.posture.time_ns / 1e9
    other, at = base
    first = max(seconds[0], other.seconds[0]) + FORCE_WINDOW_S
    last = min(seconds[-1], other.seconds[-1]) - FORCE_WINDOW_S
    inside = (when > first) & (when < last)
    if np.count_nonzero(inside) < 2:
        return None
    when, force = when[inside], force[inside]
    turns = poses_in_base(subject).rotation(mount.link) @ mount.axes
    level = turns[np.clip(np.searchsorted(seconds, when), 0, len(seconds) - 1)]
    felt = bridge_gaps(other.values)
    up = (
        triangle_values(other.seconds, felt[:, force_columns(other)], when, FORCE_WINDOW_S)
        @ at.axes.T
    )
    length = np.maximum(np.linalg.norm(up, axis=1, keepdims=True), 1e-9)
    up = np.einsum("nji,nj->ni", level, up / length)
    turning = None
    if rate is not None and felt.shape[1] >= 6:
        rate = rate[inside]
        spin = mean_values(other.seconds, felt[:, _rate(other)], when, RATE_WINDOW_S) @ at.axes.T
        turning = np.einsum("nji,nj->ni", level, spin)
        turning += mean_rates(seconds, turns, when, RATE_WINDOW_S)
    return ImuReference(track, mount.link, when, force, rate, up, None, turning, False, other)


def inertial_tracks(subject: Subject) -> list[Track]:
    """Every track of an inertial sensor: in that role, or called so without saying of what link."""
    return [
        track
        for track in subject.tracks.values()
        if track.spec.name.endswith(roles.IMU)
        or (_words(track) & CALLED and not _words(track) & NOT)
    ]


def is_accelerometer(track: Track) -> bool:
    """Whether the track feels gravity: three columns of it are about as large at most times."""
    gyro_only = _words(track) & {"gyro", "gyroscope", "angular"}
    if gyro_only or track.values.shape[1] < 3 or len(track) < 20:
        return False
    size = float(np.nanmedian(np.linalg.norm(track.values[:, force_columns(track)], axis=1)))
    return any(abs(size / usual - 1.0) < 0.15 for usual in (1.0, GRAVITY, 1000.0))


def _words(track: Track) -> set[str]:
    return set(re.split(r"[^a-z0-9]+|_", track.spec.name.lower()))


def base_mount(robot: Embodiment) -> Mount:
    """On the link that floats, along its axes: where an IMU is that names no link."""
    return Mount(robot.base, np.eye(3), np.zeros(3))


def force_columns(track: Track) -> list[int]:
    """The accelerometer: by name, or of six nameless columns the three that feel gravity."""
    named = columns_of(track, ("ax", "ay", "az"), 0)
    if track.values.shape[1] != 6 or "ax" in track.names:
        return named
    sizes = [
        float(np.nanmedian(np.linalg.norm(track.values[:, n : n + 3], axis=1))) for n in (0, 3)
    ]
    return [3, 4, 5] if abs(sizes[1] - GRAVITY) < min(1.5, abs(sizes[0] - GRAVITY)) else named


def _rate(track: Track) -> list[int]:
    if "wx" not in track.names and force_columns(track)[0] == 3:
        return [0, 1, 2]
    return columns_of(track, ("wx", "wy", "wz"), 3)
