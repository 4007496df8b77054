"""Pairs of streams that show the same motion, so that the lag between them can be measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy

from corporeal.embodiment.kinematics import Mount, Poses, mount_of
from corporeal.errors import NotAssessed
from corporeal.quality.check import Finding, Findings
from corporeal.quality.evidence.rigid_motion import has_chain, mounted
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.lag import NOTHING, Lag, lag, lag_course
from corporeal.signal.track import Array, Track
from corporeal.units import SECOND_NS

MAX_LAG_S = 0.2
# A robot that shivers repeats itself: below its shivering the lag is clear.
BANDS_HZ = ((0.25, 40.0), (0.25, 6.0))
CLEAR = 0.9
GRAVITY = 9.81
# Positions are smoothed by so much before they become accelerations.
SMOOTH_S = 0.02


@dataclass(frozen=True, eq=False)
class Pair:
    """A stream and what it should look like: both (T, D), each on its own clock.

    `what` says in words what the signal is held against.
    """

    label: str
    what: str
    reference: Array
    reference_s: Array
    signal: Array
    signal_s: Array

    def lag(self) -> Lag:
        """How late the stream is over the whole episode, in the wider band that is clear."""
        wide = self._in_band(BANDS_HZ[0])
        if wide.confidence >= CLEAR:
            return wide
        return max(wide, self._in_band(BANDS_HZ[1]), key=lambda each: each.confidence)

    def _in_band(self, band_hz: tuple[float, float]) -> Lag:
        given = self.reference, self.reference_s, self.signal, self.signal_s
        return lag(*given, max_lag_s=MAX_LAG_S, band_hz=band_hz)

    def course(self, *, window_s: float) -> tuple[Array, list[Lag]]:
        """How late the stream is, along the episode."""
        return lag_course(
            self.reference,
            self.reference_s,
            self.signal,
            self.signal_s,
            max_lag_s=MAX_LAG_S,
            band_hz=BANDS_HZ[0],
            window_s=window_s,
            step_s=window_s / 2,
        )


def _measure(streams: list[list[Pair]]) -> list[tuple[Pair, Lag]]:
    """For each stream the pair whose lag is surest, of all that it may be held against."""
    return [
        max(((pair, pair.lag()) for pair in pairs), key=lambda each: each[1].confidence)
        for pairs in streams
    ]


@once_per_subject
def velocity_pairs(subject: Subject) -> list[tuple[Pair, Lag]]:
    """The stream of joint velocities against the rate of change of the positions."""
    position, velocity = subject.track(roles.JOINT_POSITION), subject.track(roles.JOINT_VELOCITY)
    shared = [name for name in position.names if name in velocity.names]
    if len(position) < 8 or len(velocity) < 8 or not shared:
        raise NotAssessed("joint positions and velocities have nothing in common")
    here = [position.names.index(name) for name in shared]
    there = [velocity.names.index(name) for name in shared]
    moved = np.diff(bridge_gaps(position.values[:, here]), axis=0)
    rate, middle = _per_second(moved, position.seconds)
    what = f"the rate of change of {position.label}"
    values = bridge_gaps(velocity.values[:, there])
    pair = Pair(velocity.label, what, rate, middle, values, velocity.seconds)
    return _measure([[pair]])


@once_per_subject
def imu_pairs(subject: Subject) -> list[tuple[Pair, Lag]]:
    """The turning rate of every IMU against that of the link it sits on, the surest reference.

    The link turns as the base pose says, or as the legs say while the feet stand.
    """
    imus = [track for track in subject.ending_in(roles.IMU).values() if _has_gyro(track)]
    if not imus:
        raise NotAssessed("no *_imu stream with a gyroscope")
    found = [pairs for pairs in (_references(subject, track) for track in imus) if pairs]
    if not found:
        raise NotAssessed("how the links with an IMU turn is not known")
    return _measure(found)


@once_per_subject
def force_pairs(subject: Subject) -> list[tuple[Pair, Lag]]:
    """The force at each wrist against what a weight held there feels: gravity and acceleration."""
    wrists = mounted(subject, "_wrist_wrench")
    found = [_weight(subject, *wrist) for wrist in wrists if wrist[0].values.shape[1] >= 3]
    pairs = [[pair] for pair in found if pair is not None]
    if not pairs:
        raise NotAssessed("no *_wrist_wrench stream on a link whose motion is known")
    return _measure(pairs)


def _weight(subject: Subject, track: Track, mount: Mount) -> Pair | None:
    if not has_chain(subject, mount.link) or len(track) < 8:
        return None
    poses, posture = subject.link_poses, subject.posture
    seconds = posture.time_ns / SECOND_NS
    if len(seconds) < 16 or not (np.diff(seconds) > 0).all():
        return None
    period = float(np.median(np.diff(seconds)))
    smooth = scipy.ndimage.gaussian_filter1d(poses.position(mount.link), SMOOTH_S / period, axis=0)
    speed = np.gradient(smooth, seconds, axis=0)
    felt = np.gradient(speed, seconds, axis=0) + np.array((0.0, 0.0, GRAVITY))
    turned = poses.rotation(mount.link) @ mount.axes
    return Pair(
        track.label,
        f"the motion of {mount.link}",
        np.einsum("tji,tj->ti", turned, felt),
        seconds,
        bridge_gaps(track.values[:, :3]),
        track.seconds,
    )


def _has_gyro(track: Track) -> bool:
    return track.values.shape[1] >= 6 and len(track) >= 8 and track.units[3:6] == ("rad/s",) * 3


def _references(subject: Subject, track: Track) -> list[Pair]:
    mount = mount_of(subject.robot, track.spec)
    if mount is None or not has_chain(subject, mount.link):
        return []
    poses, posture = subject.link_poses, subject.posture
    seconds = posture.time_ns / SECOND_NS
    turned = poses.rotation(mount.link) @ mount.axes
    gyro = bridge_gaps(track.values[:, 3:6])
    found = []
    for what, rotation in _seen_from(subject, poses, turned, mount):
        rate, middle = _turning_rate(rotation, seconds)
        if len(middle) >= 8:
            found.append(Pair(track.label, what, rate, middle, gyro, track.seconds))
    return found


def _seen_from(
    subject: Subject, poses: Poses, turned: Array, mount: Mount
) -> list[tuple[str, Array]]:
    """Rotations of the sensor as seen from the world and from each foot."""
    found = []
    base = subject.recording.named(roles.BASE_POSE)
    if base is not None and subject.posture.base is not None:
        found.append((f"the turning of {mount.link} by {base}", turned))
    frames = {frame.name: frame.link for frame in subject.robot.frames}
    for place in subject.robot.feet.values():
        foot = frames.get(place, place)
        if foot in poses.names and has_chain(subject, foot):
            seen = np.swapaxes(poses.rotation(foot), 1, 2) @ turned
            found.append((f"the turning of {mount.link} over {foot}", seen))
    return found


def _turning_rate(rotations: Array, seconds: Array) -> tuple[Array, Array]:
    """Angular velocity (T - 1, 3) in the turning frame's own axes, and the times in between."""
    step = np.swapaxes(rotations[:-1], 1, 2) @ rotations[1:]
    turn = np.stack(
        (
            step[:, 2, 1] - step[:, 1, 2],
            step[:, 0, 2] - step[:, 2, 0],
            step[:, 1, 0] - step[:, 0, 1],
        ),
        axis=1,
    )
    return _per_second(turn / 2, seconds)


def _per_second(steps: Array, seconds: Array) -> tuple[Array, Array]:
    width = np.diff(seconds)
    good = width > 0
    middle = (seconds[1:] + seconds[:-1]) / 2
    return steps[good] / width[good, None], middle[good]


def sure(lag_: Lag, confidence: float) -> bool:
    """Whether a lag may be relied on."""
    return lag_ is not NOTHING and np.isfinite(lag_.seconds) and lag_.confidence >= confidence


def out_of_step(
    pairs: Iterable[tuple[Pair, Lag]], max_lag_s: float, *, doubt: float = 3.0
) -> Findings:
    """Those that are off by more than the limit and `doubt` deviations of the estimate."""
    for pair, found in pairs:
        if abs(found.seconds) > max_lag_s + doubt * found.deviation_s:
            message = (
                f"{pair.label} is {1e3 * abs(found.seconds):.0f} ms"
                f" {'late' if found.seconds > 0 else 'early'} against {pair.what}"
                f", give or take {1e3 * doubt * found.deviation_s:.0f} ms"
                f" (confidence {found.confidence:.2f})"
            )
            yield Finding(message, stream=pair.label, value=found.seconds, limit=max_lag_s)
