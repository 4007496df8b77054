"""The motion in a recording, made comparable: even rate, without idle ends; and its profile."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from corporeal.array_file import ArrayFileError, read_npz
from corporeal.embodiment.joints import is_hand
from corporeal.errors import CorporealError, NotAssessed
from corporeal.quality.subject import Subject, once_per_subject
from corporeal.schema import roles
from corporeal.signal.filters import low_pass
from corporeal.signal.grid import even_times, finite_and_rising, interpolate, resample
from corporeal.signal.hands import HandOpening, hand_openings
from corporeal.signal.runs import keep_lasting, runs
from corporeal.signal.track import Array, Track, track_of

Flags = NDArray[np.bool_]
Span = tuple[int, int]

# Whatever the source's rate: what was recorded at 20 Hz and what at 200 Hz end on the same grid.
RATE_HZ = 50.0
# A hand shakes at up to 9 Hz; a recording at 20 Hz knows nothing above 10 Hz.
CUTOFF_HZ = 9.0
# Below is where the hand is meant to go, above is how it shakes.
INTENT_HZ = 2.5
# Slower than this share of its brisk speed (the 90th percentile), a point is at rest.
REST_SHARE = 0.1
# At rest for this long, it has stopped; in motion for this long, it has moved.
STOP_S, MOVE_S = 0.2, 0.3
# A point that goes less far than this share of the farthest is not what the task is done with.
USED_SHARE = 0.2
# Hands that go less far than this in all leave the story to the joints.
LEAST_WAY_M = 0.15
MIN_SAMPLES = 16


@dataclass(frozen=True, eq=False)
class Trail:
    """One point on its way: positions (T, n) every 1 / RATE_HZ seconds, in `unit`.

    `intent` is the position without what is faster than INTENT_HZ: stops are judged by it, so that
    a hand that shakes can be at rest.
    A hand has three columns in metres. Where the robot is not known, all joints together are one
    point in a space of many columns, in radians, or in shares of each column's range ("1").
    """

    name: str
    unit: str
    position: Array
    intent: Array

    @cached_property
    def velocity(self) -> Array:
        """Rate of change (T, n) per second."""
        return _slope(self.position)

    @cached_property
    def speed(self) -> Array:
        """Length of the velocity (T,)."""
        return np.asarray(np.linalg.norm(self.velocity, axis=1))

    @cached_property
    def jerk(self) -> Array:
        """Third derivative of the position (T, n)."""
        return _slope(_slope(self.velocity))

    @cached_property
    def pace(self) -> Array:
        """Speed of the intended motion (T,)."""
        return np.asarray(np.linalg.norm(_slope(self.intent), axis=1))

    @cached_property
    def way(self) -> float:
        """Length of the intended path."""
        return float(self.pace.sum() / RATE_HZ)

    @cached_property
    def brisk(self) -> float:
        """The pace that only a tenth of the time is faster."""
        return float(np.quantile(self.pace, 0.9))

    @cached_property
    def resting(self) -> Flags:
        """Where the point has stopped, for STOP_S or longer."""
        return lasting(self.pace < REST_SHARE * self.brisk, STOP_S)

    @cached_property
    def bouts(self) -> tuple[Span, ...]:
        """Half-open ranges from one stop to the next, of MOVE_S or longer."""
        return runs(lasting(~self.resting, MOVE_S))

    def cut(self, span: Span) -> Trail:
        """The trail inside a range."""
        inside = slice(*span)
        return Trail(self.name, self.unit, self.position[inside], self.intent[inside])


@dataclass(frozen=True, eq=False)
class Motion:
    """What moved, from its first motion to its last. `start_ns` is when the first row was."""

    trails: tuple[Trail, ...]
    joints: Array
    """Joints or state columns (T, D) on the same clock, fingers left out."""
    names: tuple[str, ...]
    start_ns: int
    end_ns: int

    @property
    def duration_s(self) -> float:
        """Time from the first motion to the last."""
        return len(self.joints) / RATE_HZ

    @cached_property
    def time_ns(self) -> NDArray[np.int64]:
        """Stamps of the rows."""
        steps = np.arange(len(self.joints)) * (1e9 / RATE_HZ)
        return self.start_ns + steps.astype(np.int64)

    @cached_property
    def resting(self) -> Flags:
        """Where everything that the task is done with has stopped."""
        return np.asarray(np.logical_and.reduce([trail.resting for trail in self.trails]))

    def measure_bouts(self, measure: Callable[[Trail, Span], float]) -> tuple[list[float], float]:
        """What every movement of every trail measures, and the mean weighted by their ways."""
        bouts = [(trail, span) for trail in self.trails for span in trail.bouts]
        ways = [float(trail.pace[slice(*span)].sum()) for trail, span in bouts]
        if not sum(ways):
            raise NotAssessed("no movement lasts long enough")
        values = [measure(trail, span) for trail, span in bouts]
        return values, float(np.average(values, weights=ways))

    @cached_property
    def shares(self) -> Array:
        """How much of the whole way each trail has."""
        ways = np.array([trail.way for trail in self.trails])
        return np.asarray(ways / ways.sum())


def on_grid(track: Track, time_ns: NDArray[np.int64]) -> Array:
    """A stream's values (T, D) on other stamps, low-passed where it is faster than the grid."""
    seconds, values = finite_and_rising(track.seconds, track.values)
    if len(seconds) < MIN_SAMPLES:
        raise NotAssessed(f"{track.label} has {len(seconds)} samples that are numbers")
    return resample(time_ns / 1e9, seconds, values, rate_hz=RATE_HZ)


@once_per_subject
def motion_of(subject: Subject) -> Motion:
    """The motion in a recording, computed once; raises NotAssessed where nothing moves."""
    state = subject.state
    seconds, values = finite_and_rising(state.seconds, state.values)
    if len(seconds) < MIN_SAMPLES:
        raise NotAssessed(f"{state.label} has {len(seconds)} samples that are numbers")
    grid = even_times(seconds[0], seconds[-1], 1 / RATE_HZ)
    if len(grid) < MIN_SAMPLES:
        raise NotAssessed(f"{state.label} lasts {seconds[-1] - seconds[0]:.2f} s")
    chosen = arm_columns(state)
    joints = _smooth(seconds, values[:, chosen], grid)
    point, unit = _as_point(joints, tuple(state.units[column] for column in chosen), state.label)
    trails = [_trail("joints", unit, point)]
    hands = _hands(subject, grid)
    if sum(trail.way for trail in hands) >= LEAST_WAY_M:
        trails = hands
    first, stop = _active(trails)
    longest = max(trail.way for trail in trails)
    used = [trail.cut((first, stop)) for trail in trails if trail.way >= USED_SHARE * longest]
    begin_ns = round(grid[first] * 1e9)
    end_ns = begin_ns + round((stop - first) / RATE_HZ * 1e9)
    names = tuple(state.names[column] for column in chosen)
    return Motion(tuple(used), joints[first:stop], names, begin_ns, end_ns)


def arm_columns(track: Track) -> NDArray[np.int64]:
    """The columns that are not fingers; all where there are no others."""
    arms = np.array([not is_hand(name) for name in track.names])
    return np.flatnonzero(arms if arms.any() else ~arms)


def _as_point(joints: Array, units: tuple[str, ...], label: str) -> tuple[Array, str]:
    """All joints that move as one point; in shares of their range where they are not radians."""
    spread = np.quantile(joints, 0.98, axis=0) - np.quantile(joints, 0.02, axis=0)
    moving = np.flatnonzero(spread > 1e-6 * max(1.0, float(np.abs(joints).max())))
    if not len(moving):
        raise NotAssessed(f"nothing moves in {label}")
    if all(units[column] == "rad" for column in moving):
        return joints[:, moving], "rad"
    # A column that hardly moves must not become a large one.
    return joints[:, moving] / np.maximum(spread[moving], 0.02 * float(spread.max())), "1"


def hand_tracks(subject: Subject) -> list[Track]:
    """The hands in the world where the base is known, else against the pelvis; none of no robot."""
    try:
        posture, effectors = subject.posture, subject.robot.end_effectors
        hands = {name: place for name, place in effectors.items() if "head" not in name}
        if not hands:
            return []
        poses = subject.kinematics.place_poses(hands, posture.q, posture.base)
    except CorporealError:
        return []
    spec = subject.state.spec
    return [Track(name, spec, posture.time_ns, poses.position(name)) for name in hands]


def pressure_track(subject: Subject, side: str) -> Track | None:
    """The pressure on the whole skin of a hand (T, 1); None where it has none."""
    label = subject.recording.named(f"{side}_tactile")
    if label is None:
        return None
    skin = track_of(label, subject.recording.signals[label])
    return replace(skin, values=skin.values.sum(axis=1, keepdims=True))


@once_per_subject
def openings_of(subject: Subject) -> tuple[HandOpening, ...]:
    """How far each hand is open, gripper or fingers, wherever its numbers stand."""
    names = {track.spec.name for track in subject.tracks.values()}
    hands = hand_openings(partial(_finite_track, subject), names, subject.recording.embodiment)
    return tuple(hands)


def _finite_track(subject: Subject, *names: str) -> Track | None:
    track = subject.find_track(*names)
    if track is None:
        return None
    finite = np.isfinite(track.values).all(axis=1)
    if finite.sum() < MIN_SAMPLES:
        return None
    return replace(track, time_ns=track.time_ns[finite], values=track.values[finite])


def _hands(subject: Subject, grid: Array) -> list[Trail]:
    trails = []
    for track in hand_tracks(subject):
        seconds, values = finite_and_rising(track.seconds, track.values)
        if len(seconds) >= MIN_SAMPLES:
            trails.append(_trail(track.label, "m", _smooth(seconds, values, grid)))
    return trails


def _trail(name: str, unit: str, position: Array) -> Trail:
    return Trail(name, unit, position, low_pass(position, RATE_HZ, INTENT_HZ))


def _smooth(seconds: Array, values: Array, grid: Array) -> Array:
    """Low-passed at CUTOFF_HZ without delay, on the grid."""
    rate = 1.0 / float(np.median(np.diff(seconds)))
    even = even_times(seconds[0], seconds[-1] + 0.5 / rate, 1 / rate)
    regular = interpolate(even, seconds, values)
    if rate > 2.2 * CUTOFF_HZ:
        regular = low_pass(regular, rate, CUTOFF_HZ)
    fine = scipy.interpolate.CubicSpline(even, regular)(grid)
    return fine if rate > 2.2 * CUTOFF_HZ else low_pass(fine, RATE_HZ, CUTOFF_HZ)


def _active(trails: list[Trail]) -> Span:
    """From the first to the last motion of any trail."""
    moves = np.logical_or.reduce(
        [lasting(trail.pace >= REST_SHARE * trail.brisk, 0.1) for trail in trails if trail.way]
        or [np.zeros(len(trails[0].position), bool)]
    )
    found = np.flatnonzero(moves)
    if len(found) < MIN_SAMPLES:
        raise NotAssessed("nothing moves for longer than a moment")
    return int(found[0]), int(found[-1]) + 1


def lasting(flags: Flags, seconds: float) -> Flags:
    """Only the runs that last."""
    return keep_lasting(flags, round(seconds * RATE_HZ))


def _slope(values: Array) -> Array:
    return np.asarray(np.gradient(values, 1 / RATE_HZ, axis=0), np.float64)


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


def pack_profile(profile: Profile) -> bytes:
    """The profile as some kilobytes that a catalogue can keep: a NumPy archive."""
    head = {"duration_s": profile.duration_s, "names": profile.names, "unit": profile.force_unit}
    arrays: dict[str, Any] = {"path": profile.path}
    if profile.force is not None:
        arrays["force"] = profile.force
    data = io.BytesIO()
    header = np.frombuffer(json.dumps(head).encode(), np.uint8)
    np.savez_compressed(data, allow_pickle=False, **arrays, head=header)
    return data.getvalue()


def unpack_profile(data: bytes) -> Profile:
    """The profile again; raises CorporealError for other bytes."""
    try:
        arrays = read_npz(io.BytesIO(data), where="a profile")
        head = json.loads(arrays["head"].tobytes())
        return Profile(head["duration_s"], arrays["path"], tuple(head["names"]),
                       arrays.get("force"), head["unit"])  # fmt: skip
    except (ArrayFileError, KeyError, TypeError, ValueError) as error:
        raise CorporealError(
            f"a profile in the catalogue cannot be read ({error}). "
            "Make it anew with: corporeal rejudge."
        ) from error


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
            total = sum(
                _strain(replace(track, values=track.values[:, :3]), motion) for track in hands
            )
            return _points(np.asarray(total)).astype(np.float32)[:, 0], "N"
        strain = _strain(subject.track(roles.JOINT_TORQUE), motion)
        return _points(strain).astype(np.float32)[:, 0], "N m"
    except NotAssessed:
        return None, "N"


def _strain(track: Track, motion: Motion) -> Array:
    """How much the length of a vector differs from that at the start (T, 1)."""
    length = np.linalg.norm(on_grid(track, motion.time_ns), axis=1)
    return np.asarray(np.abs(length - np.median(length[:10]))[:, None])


def _points(values: Array) -> Array:
    """Rows evenly from the first to the last (POINTS, D)."""
    rows = np.linspace(0, len(values) - 1, POINTS)
    numbers = np.arange(len(values))
    return np.stack([np.interp(rows, numbers, column) for column in values.T], axis=1)
